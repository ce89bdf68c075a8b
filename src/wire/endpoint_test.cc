#include "wire/endpoint.h"

#include <gtest/gtest.h>

namespace quire::wire {
namespace {

TEST(Endpoint, TakesHostAndPortAndNamesWhatIsWrong) {
  EXPECT_EQ(server_url(parse_endpoint("127.0.0.1:80").value()), "ws://127.0.0.1:80");
  EXPECT_EQ(server_url(parse_endpoint("[::1]:0").value()), "ws://[::1]:0");
  for (const char* wrong : {"127.0.0.1", "localhost:", "localhost:65536", "localhost:-1",
                            "localhost:8x", ":80", "::1:80", "[::1]", ""}) {
    EXPECT_EQ(parse_endpoint(wrong).error().code(), ErrorCode::InvalidArgument) << wrong;
  }
  EXPECT_EQ(parse_server_url("ws://localhost:80/").value().host, "localhost");
  EXPECT_EQ(server_url(parse_server_url("wss://[::1]:80/").value()), "wss://[::1]:80");
  EXPECT_FALSE(parse_server_url("ws://localhost:80").value().has_tls);
  for (const char* wrong : {"localhost:80", "https://localhost:80", "wss://localhost:0",
                            "ws://localhost", "ws://localhost:0", "ws://localhost:80/path"}) {
    EXPECT_EQ(parse_server_url(wrong).error().code(), ErrorCode::InvalidArgument) << wrong;
  }
  EXPECT_EQ(parse_server_url("ws://localhost:0").error().message(),
            "\"ws://localhost:0\": port 0 cannot be connected to");
}

}  // namespace
}  // namespace quire::wire
