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

}  // namespace endpoints
