#pragma once
// The statuses of HTTP and the codes of errors, as endpoints have them.
//
// Thread   any; these are values, and functions that wait for nothing.
#include <cstdint>

#include "quire/result.h"

namespace quire::serve {

// The code that goes with the status of an error, as request.refuse() and response.error() write
// it.
inline ErrorCode code_of_status(std::uint32_t status) {
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::PermissionDenied;
    case 404:
    case 410:
      return ErrorCode::NotFound;
    case 405:
    case 415:
    case 501:
      return ErrorCode::NotSupported;
    case 408:
    case 504:
      return ErrorCode::Timeout;
    case 409:
      return ErrorCode::AlreadyExists;
    case 413:
      return ErrorCode::TooLarge;
    case 416:
      return ErrorCode::OutOfRange;
    case 429:
      return ErrorCode::QuotaExceeded;
    case 502:
    case 503:
      return ErrorCode::Unavailable;
    default:
      return status < 500 ? ErrorCode::InvalidArgument : ErrorCode::Internal;
  }
}

// The status for an Error that the program did not expect. The server has the same table
// (endpoint_failure.cc).
inline std::uint32_t status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::NoFreePage:
    case ErrorCode::QuotaExceeded:
    case ErrorCode::Unavailable:
      return 503;
    case ErrorCode::Timeout:
      return 504;
    default:
      return 500;
  }
}

}  // namespace quire::serve
