#pragma once
// JSON, read and written.
//
//   const Json action = co_await Json::parse(text);
//   if (action.text("tool") == "search") use(action["input"].text());
//
//   JsonWriter json;
//   json.begin_object().key("ids").numbers(ids).key("text").text(text).end_object();
//   co_await runtime::set_result(json.str());
//
// Errors   parse: invalid-argument with what was expected, and where; nothing but blanks may follow
//          the value. Writing has none: text that is not UTF-8 becomes U+FFFD, a number that is not
//          finite becomes null; the caller nests begin and end.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "quire/result.h"
#include "quire/utf8.h"

namespace quire {

// `text` as a JSON string with its quotes.
inline std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char each : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') {
      out += '\\';
      out += each;
    } else if (each == '\n') {
      out += "\\n";
    } else if (each == '\r') {
      out += "\\r";
    } else if (each == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += each;
    }
  }
  return out + '"';
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
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name) {
    separate();
    out_ += json_string(name);
    out_ += ':';
    first_ = true;  // The value follows without a comma.
    return *this;
  }
  JsonWriter& text(std::string_view value) { return put(json_string(value)); }
  template <typename T>
  JsonWriter& number(T value) {
    return put(json_number(value));
  }
  JsonWriter& boolean(bool value) { return put(value ? "true" : "false"); }
  JsonWriter& null() { return put("null"); }
  JsonWriter& numbers(std::span<const std::uint32_t> values) {
    begin_array();
    for (const std::uint32_t each : values) number(each);
    return end_array();
  }
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json) { return put(json); }

  const std::string& str() const { return out_; }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  JsonWriter& put(std::string_view value) {
    separate();
    out_ += value;
    return *this;
  }
  JsonWriter& open(char bracket) {
    separate();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }

  std::string out_;
  bool first_ = true;
};

// A value. Of what it is not it gives the empty one: a number as text is "", a member that is not
// there is null. Of several members of one name the last counts.
class Json {
 public:
  enum class Kind : std::uint8_t { Null, Boolean, Number, Text, Array, Object };

  Json() = default;

  // The whole of `text`. At most kDepthMax arrays and objects are nested.
  static Result<Json> parse(std::string_view text);
  // The value that `text` begins with, whatever follows it; `end` becomes the place after it, or the
  // one up to which it was read when that failed.
  static Result<Json> parse_first(std::string_view text, std::size_t& end);
  static constexpr std::size_t kDepthMax = 64;

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_number() const { return kind() == Kind::Number; }
  bool is_text() const { return kind() == Kind::Text; }
  bool is_array() const { return kind() == Kind::Array; }
  bool is_object() const { return kind() == Kind::Object; }

  // A template, so that a name as in boolean("stream") does not become a bool.
  template <std::same_as<bool> Boolean = bool>
  bool boolean(Boolean otherwise = false) const {
    const bool* held = std::get_if<bool>(&value_);
    return held == nullptr ? otherwise : *held;
  }
  double number(double otherwise = 0.0) const {
    const double* held = std::get_if<double>(&value_);
    return held == nullptr ? otherwise : *held;
  }
  const std::string& text() const { return held_or_empty<std::string>(); }
  // Elements of an array.
  const std::vector<Json>& items() const { return held_or_empty<std::vector<Json>>(); }
  // Members of an object, in the order of the text.
  const std::vector<std::pair<std::string, Json>>& members() const {
    return held_or_empty<Members>();
  }

  // Null where there is none.
  const Json* find(std::string_view key) const {
    const Members& all = members();
    const auto found =
        std::find_if(all.rbegin(), all.rend(), [&](const auto& each) { return each.first == key; });
    return found == all.rend() ? nullptr : &found->second;
  }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const Json& operator[](std::string_view key) const {
    const Json* found = find(key);
    return found == nullptr ? null() : *found;
  }
  const Json& operator[](std::size_t index) const {
    return index < items().size() ? items()[index] : null();
  }
  // Of the member of that name.
  const std::string& text(std::string_view key) const { return (*this)[key].text(); }
  double number(std::string_view key, double otherwise = 0.0) const {
    return (*this)[key].number(otherwise);
  }
  bool boolean(std::string_view key, bool otherwise = false) const {
    return (*this)[key].boolean(otherwise);
  }

  // Back to text, without blanks.
  std::string str() const;

 private:
  using Members = std::vector<std::pair<std::string, Json>>;
  friend class JsonReader;

  static const Json& null() {
    static const Json nothing;
    return nothing;
  }
  template <typename T>
  const T& held_or_empty() const {
    static const T empty;
    const T* held = std::get_if<T>(&value_);
    return held == nullptr ? empty : *held;
  }
  void write(JsonWriter& json) const;

  std::variant<std::monostate, bool, double, std::string, std::vector<Json>, Members> value_;
};

// Reads one value; used by Json::parse.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Result<Json> whole() {
    if (valid_utf8(text_) != text_) return wrong("UTF-8", valid_utf8_bytes(text_));
    Json out = TRY(value(0));
    skip_blanks();
    if (at_ < text_.size()) return wrong("the end");
    return out;
  }
  Result<Json> first(std::size_t& end) {
    Result<Json> out = value(0);
    end = at_;
    if (!out.ok()) return out;
    const std::string_view read = text_.substr(0, end);
    if (valid_utf8(read) != read) return wrong("UTF-8", valid_utf8_bytes(read));
    return out;
  }

 private:
  // How many bytes at the start are whole characters.
  static std::size_t valid_utf8_bytes(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
      const auto lead = static_cast<unsigned char>(text[at]);
      const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      const std::string_view character = text.substr(at, bytes);
      if (character.size() < bytes || valid_utf8(character) != character) break;
      at += bytes;
    }
    return at;
  }

  Error wrong(std::string_view expected) const { return wrong(expected, at_); }
  Error wrong(std::string_view expected, std::size_t at) const {
    const std::string_view before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0.
    return Error{ErrorCode::InvalidArgument, "JSON: " + std::string(expected) +
                                                 " expected at line " + std::to_string(line) +
                                                 ", byte " + std::to_string(at - start + 1)};
  }

  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool accept(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<Json> value(std::size_t depth) {
    skip_blanks();
    if (depth > Json::kDepthMax) {
      return wrong("nesting of at most " + std::to_string(Json::kDepthMax));
    }
    Json out;
    if (accept("{")) {
      out.value_ = TRY(members(depth));
    } else if (accept("[")) {
      out.value_ = TRY(items(depth));
    } else if (accept("\"")) {
      out.value_ = TRY(string());
    } else if (accept("true")) {
      out.value_ = true;
    } else if (accept("false")) {
      out.value_ = false;
    } else if (!accept("null")) {
      out.value_ = TRY(number());
    }
    return out;
  }

  Result<Json::Members> members(std::size_t depth) {
    Json::Members out;
    skip_blanks();
    if (accept("}")) return out;
    for (;;) {
      skip_blanks();
      if (!accept("\"")) return wrong("the name of a member");
      std::string name = TRY(string());
      skip_blanks();
      if (!accept(":")) return wrong("':'");
      Json member = TRY(value(depth + 1));
      out.emplace_back(std::move(name), std::move(member));
      skip_blanks();
      if (accept("}")) return out;
      if (!accept(",")) return wrong("',' or '}'");
    }
  }
  Result<std::vector<Json>> items(std::size_t depth) {
    std::vector<Json> out;
    skip_blanks();
    if (accept("]")) return out;
    for (;;) {
      out.push_back(TRY(value(depth + 1)));
      skip_blanks();
      if (accept("]")) return out;
      if (!accept(",")) return wrong("',' or ']'");
    }
  }

  bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  bool digits() {
    if (!is_digit()) return false;
    while (is_digit()) ++at_;
    return true;
  }
  Result<double> number() {
    const std::size_t start = at_;
    const bool negative = accept("-");
    if (!is_digit()) {
      return wrong(negative ? "a digit" : "a value");
    }
    if (!accept("0")) digits();
    if (accept(".") && !digits()) return wrong("a digit");
    if (accept("e") || accept("E")) {
      if (!accept("+")) accept("-");
      if (!digits()) return wrong("a digit");
    }
    const std::string literal(text_.substr(start, at_ - start));
    const double value = std::strtod(literal.c_str(), nullptr);
    if (!std::isfinite(value)) return wrong("a number below 1.8e308", start);
    return value;
  }

  // Behind the first quote.
  Result<std::string> string() {
    std::string out;
    for (;;) {
      if (at_ == text_.size()) return wrong("'\"'");
      const char each = text_[at_];
      if (each == '"') {
        ++at_;
        return out;
      }
      if (static_cast<unsigned char>(each) < 0x20) return wrong("'\"' or an escaped character");
      ++at_;
      if (each == '\\') {
        TRY(escape(out));
      } else {
        out += each;
      }
    }
  }
  Result<void> escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ < text_.size() && text_[at_] == 'u') {
      ++at_;
      return code_point(out);
    }
    const std::size_t found = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (found == std::string_view::npos) return wrong("an escaped character");
    out += kMeanings[found];
    ++at_;
    return {};
  }
  Result<std::uint32_t> hex() {
    std::uint32_t unit = 0;
    const char* first = text_.data() + at_;
    const std::size_t bytes = std::min<std::size_t>(4, text_.size() - at_);
    const auto [stopped, error] = std::from_chars(first, first + bytes, unit, 16);
    if (error != std::errc() || stopped != first + 4) return wrong("four hexadecimal digits");
    at_ += 4;
    return unit;
  }
  Result<void> code_point(std::string& out) {
    const std::size_t start = at_ - 2;
    std::uint32_t code = TRY(hex());
    if (code >= 0xd800 && code < 0xe000) {  // Half of a surrogate pair.
      const bool has_second = code < 0xdc00 && accept("\\u");
      const std::uint32_t second = has_second ? TRY(hex()) : 0;
      if (second < 0xdc00 || second >= 0xe000) return wrong("a surrogate pair", start);
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    if (code < 0x80) {
      out += static_cast<char>(code);
      return {};
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned char kLead[] = {0, 0xc0, 0xe0, 0xf0};
    out += static_cast<char>(kLead[more] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 63));
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

inline Result<Json> Json::parse(std::string_view text) {
  return JsonReader(text).whole();
}
inline Result<Json> Json::parse_first(std::string_view text, std::size_t& end) {
  return JsonReader(text).first(end);
}

inline void Json::write(JsonWriter& json) const {
  switch (kind()) {
    case Kind::Null:
      json.null();
      break;
    case Kind::Boolean:
      json.boolean(boolean());
      break;
    case Kind::Number:
      json.number(number());
      break;
    case Kind::Text:
      json.text(text());
      break;
    case Kind::Array:
      json.begin_array();
      for (const Json& each : items()) each.write(json);
      json.end_array();
      break;
    case Kind::Object:
      json.begin_object();
      for (const auto& [name, member] : members()) {
        json.key(name);
        member.write(json);
      }
      json.end_object();
      break;
  }
}

inline std::string Json::str() const {
  JsonWriter json;
  write(json);
  return json.str();
}

}  // namespace quire
