#include "base/result.h"

namespace quire {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "invalid-argument";
    case ErrorCode::OutOfRange:
      return "out-of-range";
    case ErrorCode::NotFound:
      return "not-found";
    case ErrorCode::AlreadyExists:
      return "already-exists";
    case ErrorCode::NotSupported:
      return "not-supported";
    case ErrorCode::PermissionDenied:
      return "permission-denied";
    case ErrorCode::QuotaExceeded:
      return "quota-exceeded";
    case ErrorCode::NoFreePage:
      return "no-free-page";
    case ErrorCode::PageNotFull:
      return "page-not-full";
    case ErrorCode::PageCommitted:
      return "page-committed";
    case ErrorCode::Cancelled:
      return "cancelled";
    case ErrorCode::Timeout:
      return "timeout";
    case ErrorCode::TooLarge:
      return "too-large";
    case ErrorCode::Unavailable:
      return "unavailable";
    case ErrorCode::Io:
      return "io";
    case ErrorCode::Internal:
      return "internal";
    case ErrorCode::Corrupted:
      return "corrupted";
  }
  return "unknown";
}

}  // namespace quire
