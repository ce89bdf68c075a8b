#pragma once
// The errors of the OpenAI, the Anthropic and the Gemini interface, a row for each kind. The
// endpoints write by it how a request failed, and the server what it refuses before a program
// runs. This header knows neither the SDK nor the server.
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace endpoints {

enum class ErrorKind : std::uint8_t {
  InvalidRequest,
  UnsupportedParameter,
  ContextTooLong,
  NoPreviousResponse,
  UnknownKey,
  NotAllowed,
  NotFound,
  ModelNotFound,
  WrongMethod,
  TooSlow,
  Conflict,
  TooLarge,
  UnsupportedCoding,
  TooManyRequests,
  StoreFull,
  Internal,
  Overloaded,
  Timeout,
};

struct ErrorRow {
  ErrorKind kind;
  std::uint32_t status;
  const char* open_ai_type;
  const char* open_ai_code;  // Null stands for null.
  const char* anthropic_type;
  const char* google_status;
};

// The first row of a status is the general one.
inline constexpr ErrorRow kErrorRows[] = {
    {ErrorKind::InvalidRequest, 400, "invalid_request_error", nullptr, "invalid_request_error",
     "INVALID_ARGUMENT"},
    {ErrorKind::UnsupportedParameter, 400, "invalid_request_error", "unsupported_parameter",
     "invalid_request_error", "INVALID_ARGUMENT"},
    {ErrorKind::ContextTooLong, 400, "invalid_request_error", "context_length_exceeded",
     "invalid_request_error", "INVALID_ARGUMENT"},
    {ErrorKind::NoPreviousResponse, 400, "invalid_request_error", "previous_response_not_found",
     "invalid_request_error", "INVALID_ARGUMENT"},
    {ErrorKind::UnknownKey, 401, "invalid_request_error", "invalid_api_key", "authentication_error",
     "UNAUTHENTICATED"},
    {ErrorKind::NotAllowed, 403, "invalid_request_error", "permission_denied", "permission_error",
     "PERMISSION_DENIED"},
    {ErrorKind::NotFound, 404, "invalid_request_error", nullptr, "not_found_error", "NOT_FOUND"},
    {ErrorKind::ModelNotFound, 404, "invalid_request_error", "model_not_found", "not_found_error",
     "NOT_FOUND"},
    {ErrorKind::WrongMethod, 405, "invalid_request_error", nullptr, "invalid_request_error",
     "UNIMPLEMENTED"},
    {ErrorKind::TooSlow, 408, "invalid_request_error", nullptr, "invalid_request_error",
     "DEADLINE_EXCEEDED"},
    {ErrorKind::Conflict, 409, "invalid_request_error", nullptr, "invalid_request_error",
     "ABORTED"},
    {ErrorKind::TooLarge, 413, "invalid_request_error", "request_too_large", "request_too_large",
     "INVALID_ARGUMENT"},
    {ErrorKind::UnsupportedCoding, 415, "invalid_request_error", "unsupported_content_encoding",
     "invalid_request_error", "INVALID_ARGUMENT"},
    {ErrorKind::TooManyRequests, 429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error",
     "RESOURCE_EXHAUSTED"},
    {ErrorKind::StoreFull, 429, "insufficient_quota", "response_quota_exceeded", "rate_limit_error",
     "RESOURCE_EXHAUSTED"},
    {ErrorKind::Internal, 500, "server_error", nullptr, "api_error", "INTERNAL"},
    {ErrorKind::Overloaded, 503, "overloaded_error", nullptr, "overloaded_error", "UNAVAILABLE"},
    {ErrorKind::Timeout, 504, "server_error", nullptr, "timeout_error", "DEADLINE_EXCEEDED"},
};

// Anthropic has a status of its own for Overloaded, which its endpoints answer. A refusal of the
// server keeps 503.
inline constexpr std::uint32_t kAnthropicOverloaded = 529;

constexpr const ErrorRow& row_of(ErrorKind kind) {
  return kErrorRows[static_cast<std::size_t>(kind)];
}

// A status without a row has the form of InvalidRequest or Internal, as its class says.
constexpr const ErrorRow& row_of_status(std::uint32_t status) {
  for (const ErrorRow& each : kErrorRows) {
    if (each.status == status) return each;
  }
  return row_of(status < 500 ? ErrorKind::InvalidRequest : ErrorKind::Internal);
}

constexpr bool are_in_order() {
  for (std::size_t at = 0; at < std::size(kErrorRows); ++at) {
    if (kErrorRows[at].kind != static_cast<ErrorKind>(at)) return false;
  }
  return std::size(kErrorRows) == static_cast<std::size_t>(ErrorKind::Timeout) + 1;
}
static_assert(are_in_order(), "a row stands at the number of its kind");

}  // namespace endpoints
