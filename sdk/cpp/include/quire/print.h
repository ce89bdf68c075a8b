#pragma once
// Texts with values in them, sent and logged:
//
//   co_await session::print("{} of {} tokens\n", done, count);
//   runtime::log("the answer is {}", answer);
//
// {} takes texts, whole numbers, real ones and true or false; {{ and }} are braces. How many there are and what
// stands in them is checked when the program is compiled. std::format knows widths and digits, and costs a module some
// hundred KB.
//
// Errors   those of session::send.
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "quire/json.h"
#include "quire/runtime.h"

namespace quire {

namespace detail {

// Not constexpr: a call of one, which no constant may have, is an error that shows its name.
inline void format_has_more_values_than_braces() {}
inline void format_has_more_braces_than_values() {}
inline void format_has_a_brace_that_is_none_of_a_pair() {}

// A text of which the compiler has checked that it has {} for each value.
template <typename... Values>
class FormatText {
 public:
  template <typename Text>
    requires std::convertible_to<const Text&, std::string_view>
  consteval FormatText(const Text& text) : text_(text) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] != '{' && text_[at] != '}') continue;
      const std::string_view pair = text_.substr(at++, 2);
      if (pair == "{}") count += 1;
      if (pair != "{}" && pair != "{{" && pair != "}}") format_has_a_brace_that_is_none_of_a_pair();
    }
    if (count > sizeof...(Values)) format_has_more_braces_than_values();
    if (count < sizeof...(Values)) format_has_more_values_than_braces();
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

inline std::string text_of_value(std::string_view value) {
  return std::string(value);
}
inline std::string text_of_value(bool value) {
  return value ? "true" : "false";
}
template <typename T>
  requires((std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>)
std::string text_of_value(T value) {
  if constexpr (std::same_as<T, char>) {
    return std::string(1, value);
  } else {
    return json_number(value);
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

}  // namespace detail

namespace session {

// One message to the client; what was sent before stands before it, without a line end between.
template <typename... Values>
Result<void> print(detail::Format<Values...> format, const Values&... values) {
  return send(detail::formatted(format.text(), values...));
}

}  // namespace session

namespace runtime {

// A line of the log, of the level Info.
template <typename... Values>
void log(detail::Format<Values...> format, const Values&... values) {
  log(LogLevel::Info, detail::formatted(format.text(), values...));
}

}  // namespace runtime

}  // namespace quire
