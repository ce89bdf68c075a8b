#include "application/server/endpoint_failure.h"

#include <optional>
#include <string>

#include "base/utf8.h"

namespace quire::server {
namespace {

constexpr std::uint64_t kRetryAfterMs = 1000;

struct Failure {
  std::uint32_t status = 500;
  ErrorCode code = ErrorCode::Internal;
  std::string why = "internal error";
};

// The exit code of a program of an SDK is the code of the error in which it ended.
Failure failure_of_exit(std::int32_t exit_code) {
  switch (static_cast<ErrorCode>(exit_code)) {
    case ErrorCode::NoFreePage:
    case ErrorCode::QuotaExceeded:
    case ErrorCode::Unavailable:
      return {503, ErrorCode::Unavailable, "the server is full, or a part of it is not available"};
    case ErrorCode::Timeout:
      return {504, ErrorCode::Timeout, "the program of this endpoint waited too long"};
    default:
      return {};
  }
}

Failure failure_of(const service::End& end) {
  switch (end.kind) {
    case service::EndKind::Finished:
      if (end.exit_code > 0 && end.exit_code <= 0xff) return failure_of_exit(end.exit_code);
      if (end.exit_code != 0) return {};
      return {.why = "the program of this endpoint ended without a response"};
    case service::EndKind::Trapped:
      return {.why = "the program of this endpoint trapped"};
    case service::EndKind::LimitExceeded:
      return {.code = ErrorCode::QuotaExceeded,
              .why = "the program of this endpoint exceeded a limit: " + end.limit};
    case service::EndKind::NotStarted:
      return {.why = "the program of this endpoint could not be started"};
    case service::EndKind::Killed:
      return {503, ErrorCode::Unavailable,
              "the program of this endpoint was stopped: " + end.message};
  }
  return {};
}

}  // namespace

HttpAnswer failure_for(const RequestName& request, const service::End& end, bool shows_errors) {
  const Failure failure = failure_of(end);
  std::string message = failure.why;
  if (shows_errors && !end.message.empty() && end.kind != service::EndKind::Killed) {
    message += ": " + printable_lines(end.message);
  }
  message += "; the log of the server has more under the request " + request.request_id;
  const bool may_pass = failure.status == 503 && end.kind == service::EndKind::Finished;
  return failure_form(request, failure.status, failure.code, message,
                      may_pass ? std::optional(kRetryAfterMs) : std::nullopt);
}

}  // namespace quire::server
