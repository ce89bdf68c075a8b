// The response that a client reads when the program of an endpoint ended without one.
#include "application/server/endpoint_failure.h"

#include <gtest/gtest.h>

namespace quire::server::endpoint_failure_test {
namespace {

service::End finished(ErrorCode code, std::string message) {
  service::End end;
  end.exit_code = static_cast<std::int32_t>(code);
  end.message = std::move(message);
  return end;
}

TEST(EndpointFailure, TheTextOfAnErrorIsForTheLogUnlessTheOperatorShowsIt) {
  const service::End end = finished(ErrorCode::NotFound, "not-found: /home/ada/secret");
  const HttpAnswer hidden = failure_for({"/x", "req_1"}, end, false);
  EXPECT_EQ(hidden.status, 500u);
  EXPECT_EQ(hidden.body,
            R"({"error":{"code":"internal","message":"internal error; the log of the server has )"
            R"(more under the request req_1","request_id":"req_1"}})"
            "\n");
  const HttpAnswer shown = failure_for({"/x", "req_1"}, end, true);
  EXPECT_EQ(shown.status, 500u);
  EXPECT_NE(shown.body.find("internal error: not-found: /home/ada/secret; "), std::string::npos)
      << shown.body;
}

TEST(EndpointFailure, AFullServerAndATimeoutHaveTheirStatus) {
  for (const ErrorCode code :
       {ErrorCode::NoFreePage, ErrorCode::QuotaExceeded, ErrorCode::Unavailable}) {
    const HttpAnswer full = failure_for({"/x", "req_1"}, finished(code, "why"), false);
    EXPECT_EQ(full.status, 503u);
    EXPECT_NE(full.body.find(R"("code":"unavailable")"), std::string::npos) << full.body;
    EXPECT_NE(full.body.find(R"("retry_after_ms":1000)"), std::string::npos) << full.body;
  }
  EXPECT_EQ(failure_for({"/x", "r"}, finished(ErrorCode::Timeout, "why"), false).status, 504u);
  EXPECT_EQ(failure_for({"/x", "r"}, finished(ErrorCode::InvalidArgument, ""), false).status, 500u);
  service::End strange;
  strange.exit_code = -1;
  EXPECT_EQ(failure_for({"/x", "r"}, strange, true).status, 500u);
}

TEST(EndpointFailure, KnownInterfacesGetTheirForm) {
  const service::End end = finished(ErrorCode::Internal, "internal: why");
  EXPECT_NE(failure_for({"/v1/chat/completions?x=1", "req_1"}, end, false)
                .body.find(R"("type":"server_error")"),
            std::string::npos);
  EXPECT_NE(failure_for({"/v1/messages", "req_1"}, end, false).body.find(R"("request_id":"req_1")"),
            std::string::npos);
}

}  // namespace
}  // namespace quire::server::endpoint_failure_test
