#pragma once
// Texts with values in them, sent and logged:
//
//   co_await session::print("{} of {} tokens\n", done, count);
//   runtime::log("the answer is {}", answer);
//   runtime::log(LogLevel::Warning, "{} of {} did not end", left, all);
//
// {} takes texts (std::string, std::string_view, literals and other char arrays, char*), whole
// numbers, real numbers, char and bool; {{ and }} are braces. The compiler checks how many there are,
// and refuses any other value: a pointer never becomes a bool. A char* that is null is "(null)".
//
// There is no {:.2f}: session::send(std::format(...)) has widths and digits, and costs a module some
// hundred KB.
//
// Errors   those of session::send.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quire/annotations.h"
#include "quire/json_writer.h"
#include "quire/runtime.h"

namespace quire {

namespace detail {

enum class FormatProblem : std::uint8_t { None, NoPair, MoreBraces, MoreValues };

// A text that the compiler has read: what is wrong with it, if it is to have {} for each value.
template <typename... Values>
class FormatText {
 public:
  template <typename Text>
    requires std::convertible_to<const Text&, std::string_view>
  consteval FormatText(const Text& text) : text_(text), problem_(problem_of(text_)) {}
  std::string_view text() const { return text_; }
  constexpr FormatProblem problem() const { return problem_; }

 private:
  static consteval FormatProblem problem_of(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '{' && text[at] != '}') continue;
      const std::string_view pair = text.substr(at++, 2);
      if (pair == "{}") count += 1;
      if (pair != "{}" && pair != "{{" && pair != "}}") return FormatProblem::NoPair;
    }
    if (count == sizeof...(Values)) return FormatProblem::None;
    return count > sizeof...(Values) ? FormatProblem::MoreBraces : FormatProblem::MoreValues;
  }

  std::string_view text_;
  FormatProblem problem_;
};

// nullptr converts to a view, too, but has no text.
template <typename T>
concept PrintsAsText =
    std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::nullptr_t>;
template <typename T>
concept PrintsAsBool = std::same_as<T, bool> || std::same_as<T, std::vector<bool>::reference>;
// A wide character is not a number, although C++ counts it as one.
template <typename T>
concept PrintsAsNumber =
    std::is_arithmetic_v<T> && !PrintsAsBool<T> && !std::same_as<T, wchar_t> &&
    !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;
template <typename T>
concept Printable = PrintsAsText<T> || PrintsAsBool<T> || PrintsAsNumber<T>;

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_bare_pointer =
    !Printable<T> && (std::is_pointer_v<T> || std::same_as<T, std::nullptr_t>);
template <typename T>
inline constexpr bool is_unknown =
    !Printable<T> && !is_bare_pointer<T> && !std::is_enum_v<T> && !is_optional<T>;

template <typename T>
  requires Printable<T>
std::string text_of_value(const T& value) {
  if constexpr (PrintsAsBool<T>) {
    return value ? "true" : "false";
  } else if constexpr (std::same_as<T, char>) {
    return std::string(1, value);
  } else if constexpr (PrintsAsNumber<T>) {
    return json_number(value);
  } else if constexpr (std::is_array_v<T>) {  // It may end without a zero.
    return std::string(value, std::find(value, value + std::extent_v<T>, '\0'));
  } else if constexpr (std::is_pointer_v<T>) {
    return value == nullptr ? "(null)" : value;
  } else {
    return std::string(std::string_view(value));
  }
}

[[gnu::noinline]] inline std::string filled(std::string_view format, const std::string* values) {
  std::string out;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '{' && format[at] != '}') {
      out += format[at];
    } else if (format.substr(at++, 2) == "{}") {
      out += *values++;
    } else {
      out += format[at];
    }
  }
  return out;
}

template <typename... Values>
using Format = FormatText<std::type_identity_t<Values>...>;

template <typename... Values>
std::string formatted(std::string_view format, const Values&... values) {
  if constexpr (sizeof...(Values) == 0) {
    return filled(format, nullptr);
  } else {
    const std::string texts[] = {text_of_value(values)...};
    return filled(format, texts);
  }
}

// The compiler reports a call that cannot be right in one line, at its place.
#define QUIRE_REFUSE_UNPRINTABLE(format)                                                      \
  QUIRE_REFUSE_IF(format.problem() == detail::FormatProblem::NoPair,                          \
                  "print has {} only; use std::format for widths and digits, and {{ for a "   \
                  "brace")                                                                    \
  QUIRE_REFUSE_IF(format.problem() == detail::FormatProblem::MoreBraces,                      \
                  "the format has more {} than there are values")                             \
  QUIRE_REFUSE_IF(format.problem() == detail::FormatProblem::MoreValues,                      \
                  "there are more values than the format has {}")                             \
  QUIRE_REFUSE_IF((detail::is_bare_pointer<Values> || ...),                                   \
                  "a pointer cannot be printed: give {} what it points to")                   \
  QUIRE_REFUSE_IF((std::is_enum_v<Values> || ...),                                            \
                  "an enum cannot be printed: give {} its name, or static_cast<int> of it")   \
  QUIRE_REFUSE_IF((detail::is_optional<Values> || ...),                                       \
                  "an optional cannot be printed: give {} its value(), or value_or(another)") \
  QUIRE_REFUSE_IF((detail::is_unknown<Values> || ...),                                        \
                  "{} takes texts, numbers, char and bool: this value is of another type")

}  // namespace detail

namespace session {

// One message to the client; what was sent before stands before it, without a line end between.
template <typename... Values>
Result<void> print(detail::Format<Values...> format, const Values&... values)
    QUIRE_REFUSE_UNPRINTABLE(format) {
  return send(detail::formatted(format.text(), values...));
}

}  // namespace session

namespace runtime {

// A line of the log, of the level Info.
template <typename... Values>
void log(detail::Format<Values...> format, const Values&... values)
    QUIRE_REFUSE_UNPRINTABLE(format) {
  log(LogLevel::Info, detail::formatted(format.text(), values...));
}

// A line of the log, of that level. Without values the text is logged as it is.
template <typename... Values>
  requires(sizeof...(Values) > 0)
void log(LogLevel level, detail::Format<Values...> format, const Values&... values)
    QUIRE_REFUSE_UNPRINTABLE(format) {
  log(level, detail::formatted(format.text(), values...));
}

}  // namespace runtime

}  // namespace quire

#undef QUIRE_REFUSE_UNPRINTABLE
