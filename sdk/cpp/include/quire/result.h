#pragma once
// Result<T>: either a T or an Error, as in the engine, but for programs that run without
// exceptions.
//
// An Error is what a call of the host answered: a code of interface/types.wit and a message that
// says what, which and how much. A misuse of this SDK (the value of a Result that holds an error,
// an awaited future that is gone) is a bug of the program: panic() logs it and traps.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "quire/annotations.h"
#include "quire/bindings.h"

namespace quire {

using ErrorCode = abi::ErrorCode;

// Ends the program with a message in its log and a backtrace in its end record.
[[noreturn]] inline void panic(std::string_view why) {
  abi::runtime::log(3, reinterpret_cast<const std::uint8_t*>(why.data()),
                    static_cast<std::uint32_t>(why.size()));
  __builtin_trap();
}

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;

  // "not-found: no model "x"": for logs and for people.
  std::string text() const {
    std::string out = abi::error_code_name(code);
    if (!message.empty()) out += ": " + message;
    return out;
  }
};

struct Unit {};

template <typename T>
class [[nodiscard("it may hold an error: co_await it, or TRY it in a plain function")]] Result {
  using Value = std::conditional_t<std::is_void_v<T>, Unit, T>;

 public:
  using value_type = T;

  Result()
    requires std::is_void_v<T>
      : state_(std::in_place_index<0>) {}
  Result(Value value)
    requires(!std::is_void_v<T>)
      : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // A value that converts to T, such as std::nullopt or a Piece if T is std::optional<Piece>.
  template <typename U>
    requires(!std::is_void_v<T> && std::is_convertible_v<U, Value> &&
             !std::is_same_v<std::remove_cvref_t<U>, Value> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // A Result is not a T: something may have failed.
  template <typename U>
    requires(std::is_same_v<U, T> && !std::is_same_v<U, bool>)
  operator U() const
      QUIRE_DELETE("co_await the Result, or TRY it in a function that is no coroutine");

  Value& value() & QUIRE_LIFETIME_BOUND { return *checked<0>(); }
  const Value& value() const& QUIRE_LIFETIME_BOUND {
    return *const_cast<Result*>(this)->template checked<0>();
  }
  Value take() && { return std::move(*checked<0>()); }
  const Error& error() const QUIRE_LIFETIME_BOUND {
    return *const_cast<Result*>(this)->template checked<1>();
  }
  Error take_error() && { return std::move(*checked<1>()); }

 private:
  template <std::size_t kIndex>
  auto* checked() {
    auto* held = std::get_if<kIndex>(&state_);
    if (held == nullptr) {
      if constexpr (kIndex == 0) panic("the value was taken of a result that is " + error().text());
      panic("the error was taken of a result that holds a value");
    }
    return held;
  }
  std::variant<Value, Error> state_;
};

// The message of the last error that a call returned.
inline std::string last_error_message() {
  std::string message(256, '\0');
  std::int32_t bytes = abi::runtime::last_error(message.data(), 256);
  if (bytes > 256) {
    message.resize(static_cast<std::size_t>(bytes));
    bytes = abi::runtime::last_error(message.data(), static_cast<std::uint32_t>(bytes));
  }
  message.resize(bytes > 0 ? std::min(static_cast<std::size_t>(bytes), message.size()) : 0);
  return message;
}

namespace detail {

template <typename T>
inline constexpr bool is_result = false;
template <typename T>
inline constexpr bool is_result<Result<T>> = true;

// For TRY, which takes a Result: a Task or a Future has none before it is awaited.
template <typename T>
constexpr void require_result() {
  static_assert(
      !requires(T value) { std::move(value).operator co_await(); } &&
          !requires(T value) { value.await_ready(); },
      "this is a Task or a Future: in a coroutine, co_await gives its value");
}

}  // namespace detail

// Checks the value that a call returned: a result, or minus an error code with a message to fetch.
inline Result<std::int32_t> checked(std::int32_t returned) {
  if (returned >= 0) return returned;
  return Error{static_cast<ErrorCode>(-returned), last_error_message()};
}
inline Result<void> checked_empty(std::int32_t returned) {
  if (returned >= 0) return {};
  return Error{static_cast<ErrorCode>(-returned), last_error_message()};
}

}  // namespace quire

// Unwraps a Result or returns its Error from the enclosing function. In a coroutine co_await does
// the same: Model model = co_await Model::open(). See task.h.
#define TRY(...)                                              \
  __extension__({                                             \
    auto try_result_ = (__VA_ARGS__);                         \
    ::quire::detail::require_result<decltype(try_result_)>(); \
    if (!try_result_.ok()) [[unlikely]]                       \
      return std::move(try_result_).take_error();             \
    std::move(try_result_).take();                            \
  })
