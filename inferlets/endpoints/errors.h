#pragma once
// How a request failed, as a row of error_table.h.
#include "error_table.h"
#include "members.h"

namespace endpoints {

inline const ErrorRow& row_of(const Error& error) {
  const std::string_view member = member_of(error.message);
  switch (error.code) {
    case ErrorCode::InvalidArgument:
      return row_of(ErrorKind::InvalidRequest);
    case ErrorCode::NotSupported:
      return row_of(ErrorKind::UnsupportedParameter);
    case ErrorCode::OutOfRange:
      return row_of(ErrorKind::ContextTooLong);
    case ErrorCode::TooLarge:
      return row_of(ErrorKind::TooLarge);
    case ErrorCode::NotFound:
      if (member == "previous_response_id") return row_of(ErrorKind::NoPreviousResponse);
      return row_of(member == "model" ? ErrorKind::ModelNotFound : ErrorKind::NotFound);
    case ErrorCode::QuotaExceeded:  // Only the stored responses; other limits are the server's.
      if (member == "store") return row_of(ErrorKind::StoreFull);
      [[fallthrough]];
    default:
      return row_of_status(serve::status_of(error.code));
  }
}

inline const char* open_ai_code_of(const Error& error) {
  const ErrorRow& row = row_of(error);
  return row.open_ai_code != nullptr ? row.open_ai_code : row.open_ai_type;
}

inline bool is_internal(const Error& error) {
  return row_of(error).status == row_of(ErrorKind::Internal).status;
}

// An error of the program and not of the request is for the operator's log. Before a response has
// begun, the server responds to it. Within a response the client reads this, with the name `under`
// which the log has more.
inline Error shown_error(const Error& error, const std::string& under) {
  if (!is_internal(error)) return error;
  return {error.code, "internal error; the log of the server has more under " + under};
}

}  // namespace endpoints
