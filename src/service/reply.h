#pragma once
// Reply is the answer of a service: a value, or why there is none.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"

namespace quire::service {

struct Failure {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  std::optional<std::uint64_t> retry_after_ms;  // The same may succeed after that time.
  bool operator==(const Failure&) const = default;
};

inline Failure failure_of(const Error& error,
                          std::optional<std::uint64_t> retry_after_ms = std::nullopt) {
  return {error.code(), std::string(error.message()), retry_after_ms};
}
inline Error error_of(const Failure& failure) {
  return Error(failure.code, failure.message);
}

// The reply to a request that has no value to return.
struct Done {
  bool operator==(const Done&) const = default;
};

template <typename T>
using Reply = std::variant<T, Failure>;
// Called once, with the reply.
template <typename T>
using Then = std::function<void(Reply<T>)>;

}  // namespace quire::service
