#pragma once
// Result<T>: either a T or an Error, never both, never neither.
//
// An Error is what the outside world did to us (a bad file, a full pool, a peer that left). It is
// not how we report our own bugs; those are QUIRE_CHECK failures.
//
// Cost: success is sizeof(T) plus a tag. An Error is one pointer, allocated only on the cold path.
//
// Written in C++20 because the same header is read by g++, by clang (tidy and fuzzers) and by nvcc,
// and no single spelling of std::expected compiles in all three today.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace quire {

// One list for the engine, the interface with guests (interface/*.wit, `error-code`) and the
// command line. A guest sees the negated number; numbers never change.
enum class ErrorCode : std::uint8_t {
  InvalidArgument = 1,  // The caller can fix this by sending something else.
  OutOfRange = 2,       // A position, index or length beyond what exists.
  NotFound = 3,         // No such handle, model, file, page or name.
  AlreadyExists = 4,
  NotSupported = 5,  // The model or this build lacks the ability.
  PermissionDenied = 6,
  QuotaExceeded = 7,  // A limit of this instance or tenant; the message names it.
  NoFreePage = 8,     // All pages are held; the message says how many.
  PageNotFull = 9,
  PageCommitted = 10,
  Cancelled = 12,
  Timeout = 13,
  TooLarge = 14,
  Unavailable = 15,  // Not ready, or a peer, file or device went away.
  Io = 16,
  Internal = 17,
  Corrupted = 18,  // Bytes at rest or on the wire do not match their own description.
};

// The name as interface/ spells it: "invalid-argument".
const char* error_code_name(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message)
      : state_(std::make_unique<State>(State{code, std::move(message)})) {}

  ErrorCode code() const { return state_->code; }
  std::string_view message() const { return state_->message; }

  // A second Error that says the same; spelled out because it allocates.
  Error copy() const { return Error(state_->code, state_->message); }

  // Prepends what the caller was doing, so that the final text reads outermost first.
  Error while_(std::string_view doing) && {
    state_->message.insert(0, std::string(doing) + ": ");
    return std::move(*this);
  }

 private:
  struct State {
    ErrorCode code;
    std::string message;
  };
  std::unique_ptr<State> state_;
};

struct Unit {};

template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>, "Return a pointer or a handle instead of a reference.");
  using Value = std::conditional_t<std::is_void_v<T>, Unit, T>;

 public:
  Result()
    requires std::is_void_v<T>
      : state_(std::in_place_index<0>) {}
  Result(Value value)
    requires(!std::is_void_v<T>)
      : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  Value& value() & { return *checked<0>(); }
  const Value& value() const& { return *const_cast<Result*>(this)->template checked<0>(); }
  Value take() && { return std::move(*checked<0>()); }
  const Error& error() const { return *const_cast<Result*>(this)->template checked<1>(); }
  Error take_error() && { return std::move(*checked<1>()); }

 private:
  template <std::size_t I>
  auto* checked() {
    auto* held = std::get_if<I>(&state_);
    if (held == nullptr) {
      std::fputs(I == 0 ? "Result::value() on an error\n" : "Result::error() on a value\n", stderr);
      std::abort();
    }
    return held;
  }
  std::variant<Value, Error> state_;
};

}  // namespace quire

// Unwraps a Result or returns its Error from the enclosing function.
#define TRY(...)                                  \
  __extension__({                                 \
    auto try_result_ = (__VA_ARGS__);             \
    if (!try_result_.ok()) [[unlikely]]           \
      return std::move(try_result_).take_error(); \
    std::move(try_result_).take();                \
  })
