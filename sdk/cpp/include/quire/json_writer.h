#pragma once
// JSON, written.
//
//   co_await events.send(json({{"tokens", count}, {"text", text}, {"ids", ids}}));
//
//   JsonWriter writer;  // Piece by piece.
//   writer.begin_object().key("ids").number_array(ids).key("text").text(text).end_object();
//   co_await runtime::set_result(writer.str());
//
// Errors   none: text that is not UTF-8 becomes U+FFFD, a number that is not finite becomes null; the
//          caller nests begin and end.
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "quire/annotations.h"
#include "quire/utf8.h"

namespace quire {

namespace detail {

// Appends `text`, which is UTF-8, as a JSON string with its quotes.
[[gnu::noinline]] inline void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kMeanings = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  out += '"';
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F) continue;
    out.append(text, copied, at - copied);
    copied = at + 1;
    out += '\\';
    if (const std::size_t found = kMeanings.find(text[at]); found != std::string_view::npos) {
      out += kNames[found];
    } else {
      out += "u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  out.append(text, copied);
  out += '"';
}
[[gnu::noinline]] inline void append_any_json_string(std::string& out, std::string_view text) {
  if (valid_utf8_bytes(text) == text.size()) return append_json_string(out, text);
  append_json_string(out, valid_utf8(text));
}

}  // namespace detail

// `text` as a JSON string with its quotes.
inline std::string json_string(std::string_view text) {
  std::string out;
  detail::append_any_json_string(out, text);
  return out;
}

// A number as JSON, in the fewest digits that give it back.
template <typename T>
  requires std::is_arithmetic_v<T>
std::string json_number(T value) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    const double number = static_cast<double>(value);
    constexpr double kExact = 9007199254740992.0;  // 2^53: whole numbers below are exact.
    if (!std::isfinite(number)) return "null";
    if (std::fabs(number) < kExact && number == std::trunc(number)) {
      return std::to_string(static_cast<std::int64_t>(number));
    }
    char text[32];
    for (int digits = 6; digits <= 17; ++digits) {
      std::snprintf(text, sizeof text, "%.*g", digits, number);
      if (std::strtod(text, nullptr) == number) break;
    }
    return text;
  }
}

class JsonWriter {
 public:
  JsonWriter& begin_object() QUIRE_LIFETIME_BOUND { return open('{'); }
  JsonWriter& end_object() QUIRE_LIFETIME_BOUND { return close('}'); }
  JsonWriter& begin_array() QUIRE_LIFETIME_BOUND { return open('['); }
  JsonWriter& end_array() QUIRE_LIFETIME_BOUND { return close(']'); }

  JsonWriter& key(std::string_view name) QUIRE_LIFETIME_BOUND {
    separate();
    detail::append_any_json_string(out_, name);
    out_ += ':';
    first_ = true;  // The value follows without a comma.
    return *this;
  }
  JsonWriter& text(std::string_view value) QUIRE_LIFETIME_BOUND {
    separate();
    detail::append_any_json_string(out_, value);
    return *this;
  }
  template <typename T>
  JsonWriter& number(T value) QUIRE_LIFETIME_BOUND {
    return put(json_number(value));
  }
  JsonWriter& boolean(bool value) QUIRE_LIFETIME_BOUND { return put(value ? "true" : "false"); }
  template <typename T>
  JsonWriter& boolean(const T*)
      QUIRE_DELETE("a pointer is not a bool: compare it with nullptr, or write text()");
  JsonWriter& null() QUIRE_LIFETIME_BOUND { return put("null"); }
  JsonWriter& number_array(std::span<const std::uint32_t> values) QUIRE_LIFETIME_BOUND {
    begin_array();
    for (const std::uint32_t each : values) number(each);
    return end_array();
  }
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json) QUIRE_LIFETIME_BOUND { return put(json); }

  const std::string& str() const& QUIRE_LIFETIME_BOUND { return out_; }
  std::string str() && { return std::move(out_); }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  JsonWriter& put(std::string_view value) QUIRE_LIFETIME_BOUND {
    separate();
    out_ += value;
    return *this;
  }
  JsonWriter& open(char bracket) QUIRE_LIFETIME_BOUND {
    separate();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) QUIRE_LIFETIME_BOUND {
    out_ += bracket;
    first_ = false;
    return *this;
  }

  std::string out_;
  bool first_ = true;
};

// A value of an object or a list: nullptr, a bool, a number, a text, a char, or what a JsonWriter
// wrote. A list of such values is one too.
class JsonItem {
 public:
  template <typename T>
  JsonItem(const T& value) {
    if constexpr (std::same_as<T, JsonWriter>) {
      text_ = value.str();
    } else if constexpr (std::same_as<T, std::nullptr_t>) {
      text_ = "null";
    } else if constexpr (std::same_as<T, bool>) {
      text_ = value ? "true" : "false";
    } else if constexpr (std::same_as<T, char>) {
      detail::append_any_json_string(text_, std::string_view(&value, 1));
    } else if constexpr (std::is_arithmetic_v<T>) {
      text_ = json_number(value);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      detail::append_any_json_string(text_, value);
    } else {
      static_assert(
          std::ranges::input_range<const T>,
          "a value of JSON is nullptr, a bool, a number, a text, a JsonWriter, or a list of them");
      JsonWriter list;
      list.begin_array();
      for (const auto& each : value) list.raw(JsonItem(each).str());
      text_ = std::move(list.end_array()).str();
    }
  }
  const std::string& str() const QUIRE_LIFETIME_BOUND { return text_; }

 private:
  std::string text_;
};

struct JsonMember {
  std::string_view name;
  JsonItem value;
};

// An object of these members, in this order: json({{"tokens", 3}, {"by", json({{"name", "ann"}})}}).
inline JsonWriter json(std::initializer_list<JsonMember> members) {
  JsonWriter out;
  out.begin_object();
  for (const JsonMember& each : members) out.key(each.name).raw(each.value.str());
  out.end_object();
  return out;
}

}  // namespace quire
