#pragma once
// JSON, read. json_writer.h, which comes with it, writes it.
//
//   const Json action = co_await Json::parse(text);
//   if (action.text("tool") == "search") use(action["input"].text());
//
// A Json is a handle: a document, which all values of one text share and count, and the place of a
// value in it. The document owns the text, in which it resolves escapes, and 8 bytes for each value and each
// name of a member. Copies are cheap, and each keeps the whole document. The views that text() and
// digits() return are valid as long as any handle of their document is there.
//
// Thread   one thread for a document: the count is not atomic.
// Errors   parse: invalid-argument with what was expected, and where; nothing but blanks may follow
//          the value. number(): out-of-range for a number that is too large for a double.
//          Writing has none: text that is not UTF-8 becomes U+FFFD, a number that is not
//          finite becomes null; the caller nests begin and end.
//
// Invariants of a document:
//   JS1  The values stand in the order of the text: a value, then all that it contains, then the next one.
//   JS2  The value of a member follows its name, which is a value of the kind Text.
//   JS3  An array or an object knows its count, and the index of the value after all that it contains.
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/json_writer.h"
#include "quire/result.h"
#include "quire/utf8.h"

namespace quire {

namespace detail {

// A value of a document, as its place in the text.
struct JsonValue {
  static constexpr std::uint32_t kCountBits = 29;
  static constexpr std::uint32_t kCountMax = (std::uint32_t{1} << kCountBits) - 1;

  // The first byte of a number or a text; 1 for true; how many items or members it has.
  std::uint32_t place = 0;
  // The bytes of a number or a text; after an array or an object, the index of the next value.
  std::uint32_t count : kCountBits = 0;
  std::uint32_t kind : 3 = 0;
};
static_assert(sizeof(JsonValue) == 8);

struct JsonDocument {
  std::string text;
  std::vector<JsonValue> values;
  std::uint32_t handle_count = 0;
};

}  // namespace detail

// A value. Of what it is not it gives the empty one: a number as text is "", a member that is not
// there is null. Of several members of one name the last counts.
class Json {
 public:
  enum class Kind : std::uint8_t { Null, Boolean, Number, Text, Array, Object };

  struct Member;
  template <typename Element>
  class Range;
  using Items = Range<Json>;
  using Members = Range<Member>;

  Json() = default;
  [[gnu::noinline]] Json(const Json& other) : Json(other.document_, other.index_) {}
  Json(Json&& other) noexcept
      : document_(std::exchange(other.document_, nullptr)),
        index_(std::exchange(other.index_, 0)) {}
  Json& operator=(Json other) noexcept {
    std::swap(document_, other.document_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Json() {
    if (document_ != nullptr) release(document_);
  }

  // The whole of `text`, which may begin with a byte order mark. At most kDepthMax arrays and objects are nested.
  static Result<Json> parse(std::string_view text);
  // The same for a text that is not needed any more: the document takes it without a copy.
  static Result<Json> parse_in_place(std::string text);
  // The value that `text` begins with, whatever follows it; `end` becomes the place after it, or the
  // one up to which it was read when that failed.
  static Result<Json> parse_first(std::string_view text, std::size_t& end);
  static constexpr std::size_t kDepthMax = 64;

  Kind kind() const { return static_cast<Kind>(value().kind); }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_number() const { return kind() == Kind::Number; }
  bool is_text() const { return kind() == Kind::Text; }
  bool is_array() const { return kind() == Kind::Array; }
  bool is_object() const { return kind() == Kind::Object; }

  // A template, so that a name as in boolean("stream") does not become a bool.
  template <std::same_as<bool> Boolean = bool>
  bool boolean(Boolean otherwise = false) const {
    return kind() == Kind::Boolean ? value().place != 0 : otherwise;
  }
  // The nearest double; an error if there is none, as for 1e400.
  Result<double> number(double otherwise = 0.0) const;
  // A number as it was written.
  std::string_view digits() const QUIRE_LIFETIME_BOUND { return bytes_of(Kind::Number); }
  std::string_view text() const QUIRE_LIFETIME_BOUND { return bytes_of(Kind::Text); }
  // Elements of an array: a range that keeps the document, so that a loop over the items of a
  // temporary is right.
  Items items() const;
  // Members of an object, in the order of the text: {name, value}.
  Members members() const;

  std::optional<Json> find(std::string_view key) const;
  bool has(std::string_view key) const { return index_of(key) != 0; }
  // Null if there is none.
  Json operator[](std::string_view key) const {
    const std::uint32_t found = index_of(key);
    return found == 0 ? Json() : Json(document_, found);
  }
  // Goes through the items before it: to visit all, loop over items().
  Json operator[](std::size_t index) const;
  // The text of the member of that name.
  std::string_view text(std::string_view key) const QUIRE_LIFETIME_BOUND;
  Result<double> number(std::string_view key, double otherwise = 0.0) const {
    return (*this)[key].number(otherwise);
  }
  bool boolean(std::string_view key, bool otherwise = false) const {
    return (*this)[key].boolean(otherwise);
  }

  // Back to text, without blanks. Numbers keep their digits.
  std::string str() const;

 private:
  using Document = detail::JsonDocument;
  using Value = detail::JsonValue;
  friend class JsonReader;

  Json(Document* document, std::uint32_t index) : document_(document), index_(index) {
    if (document_ != nullptr) ++document_->handle_count;
  }
  [[gnu::noinline]] static void release(Document* document) {
    if (--document->handle_count == 0) delete document;
  }
  const Value& value() const { return document_ == nullptr ? kNull : document_->values[index_]; }
  [[gnu::noinline]] std::string_view bytes_of(Kind kind) const QUIRE_LIFETIME_BOUND {
    const Value& held = value();
    if (static_cast<Kind>(held.kind) != kind) return {};
    return std::string_view(document_->text).substr(held.place, held.count);
  }
  // The index of the value after the one at `index` and all that it contains.
  std::uint32_t next_of(std::uint32_t index) const {
    const Value& held = document_->values[index];
    return held.kind < static_cast<std::uint32_t>(Kind::Array) ? index + 1 : held.count;
  }
  // The index of the value of a member; 0 if there is none.
  std::uint32_t index_of(std::string_view key) const;
  std::uint32_t write(std::uint32_t index, std::string& out) const;

  static constexpr Value kNull = {};

  Document* document_ = nullptr;  // None: null.
  std::uint32_t index_ = 0;
};

struct Json::Member {
  std::string_view name;
  Json value;
};

// The items of an array or the members of an object. It keeps the document.
template <typename Element>
class Json::Range {
 public:
  class Iterator {
   public:
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;  // An element is made when it is asked for.
    using reference = Element;
    using pointer = void;

    Iterator() = default;
    Element operator*() const {
      if constexpr (std::is_same_v<Element, Json>) {
        return Json(of_->document_, index_);
      } else {
        const Json name(of_->document_, index_);
        const Value& held = name.value();
        return {std::string_view(of_->document_->text).substr(held.place, held.count),
                Json(of_->document_, index_ + 1)};  // JS2
      }
    }
    Iterator& operator++() {
      index_ = of_->next_of(std::is_same_v<Element, Json> ? index_ : index_ + 1);
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    friend class Range;
    Iterator(const Json* of, std::uint32_t index) : of_(of), index_(index) {}
    const Json* of_ = nullptr;  // Of the range.
    std::uint32_t index_ = 0;
  };

  Iterator begin() const QUIRE_LIFETIME_BOUND { return {&of_, of_.index_ + 1}; }
  Iterator end() const QUIRE_LIFETIME_BOUND {
    return {&of_, is_any() ? of_.next_of(of_.index_) : of_.index_ + 1};
  }
  std::size_t size() const { return is_any() ? of_.value().place : 0; }
  bool empty() const { return size() == 0; }

 private:
  friend class Json;
  explicit Range(const Json& of) : of_(of) {}
  bool is_any() const {
    return of_.kind() == (std::is_same_v<Element, Json> ? Kind::Array : Kind::Object);
  }
  Json of_;
};

inline Json::Items Json::items() const {
  return Items(*this);
}
inline Json::Members Json::members() const {
  return Members(*this);
}

[[gnu::noinline]] inline std::uint32_t Json::index_of(std::string_view key) const {
  if (!is_object()) return 0;
  std::uint32_t found = 0;
  const std::uint32_t end = next_of(index_);
  for (std::uint32_t name = index_ + 1; name < end; name = next_of(name + 1)) {
    const Value& held = document_->values[name];
    if (std::string_view(document_->text).substr(held.place, held.count) == key) found = name + 1;
  }
  return found;
}
inline std::optional<Json> Json::find(std::string_view key) const {
  const std::uint32_t found = index_of(key);
  if (found == 0) return std::nullopt;
  return Json(document_, found);
}
[[gnu::noinline]] inline Json Json::operator[](std::size_t index) const {
  if (!is_array() || index >= value().place) return {};
  std::uint32_t at = index_ + 1;
  for (; index > 0; --index) at = next_of(at);
  return {document_, at};
}
[[gnu::noinline]] inline std::string_view Json::text(std::string_view key) const {
  const std::uint32_t found = index_of(key);
  if (found == 0) return {};
  const Value& held = document_->values[found];
  if (static_cast<Kind>(held.kind) != Kind::Text) return {};
  return std::string_view(document_->text).substr(held.place, held.count);
}
[[gnu::noinline]] inline Result<double> Json::number(double otherwise) const {
  if (!is_number()) return otherwise;
  const std::string literal(digits());
  const double nearest = std::strtod(literal.c_str(), nullptr);
  if (std::isfinite(nearest)) return nearest;
  constexpr std::size_t kShownMax = 40;
  return Error{ErrorCode::OutOfRange, "JSON: the number " + literal.substr(0, kShownMax) +
                                          " is too large; a double has at most 1.8e308"};
}

// Writes the value at `index`; gives the index of the next one.
[[gnu::noinline]] inline std::uint32_t Json::write(std::uint32_t index, std::string& out) const {
  const Value& held = document_->values[index];
  const Kind kind = static_cast<Kind>(held.kind);
  const std::string_view text = document_->text;
  if (kind == Kind::Null) out += "null";
  if (kind == Kind::Boolean) out += held.place != 0 ? "true" : "false";
  if (kind == Kind::Number) out += text.substr(held.place, held.count);
  if (kind == Kind::Text) detail::append_json_string(out, text.substr(held.place, held.count));
  if (kind < Kind::Array) return index + 1;
  out += kind == Kind::Array ? '[' : '{';
  const std::uint32_t end = held.count;
  for (std::uint32_t at = index + 1; at < end;) {
    if (at > index + 1) out += ',';
    if (kind == Kind::Object) {
      at = write(at, out);
      out += ':';
    }
    at = write(at, out);
  }
  out += kind == Kind::Array ? ']' : '}';
  return end;
}
inline std::string Json::str() const {
  if (document_ == nullptr) return "null";
  std::string out;
  write(index_, out);
  return out;
}

// Reads one value; used by Json::parse. It reads the text twice: first it checks the grammar and counts values,
// so that the document gets all of its memory at once; then it fills in the document, which cannot fail.
class JsonReader {
 public:
  // `at`: where the value begins. The length of `text` is checked first.
  JsonReader(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  // Checks a value; false: error() says what is wrong.
  bool check() {
    if (text_.size() > detail::JsonValue::kCountMax) {
      return wrong("a text of at most 512 MiB", detail::JsonValue::kCountMax);
    }
    return value(0);
  }
  bool check_end() {
    skip_blanks();
    return at_ == text_.size() || wrong("the end", at_);
  }
  bool check_utf8(std::string_view text) {
    const std::size_t valid = valid_utf8_bytes(text);
    return valid == text.size() || wrong("UTF-8", valid);
  }
  std::size_t at() const { return at_; }
  std::uint32_t value_count() const { return value_count_; }

  Error error() const {
    const std::string_view before = text_.substr(0, wrong_at_);
    std::size_t line = 1;
    std::size_t start = 0;
    for (std::size_t at = 0; at < before.size(); ++at) {
      if (before[at] != '\n') continue;
      ++line;
      start = at + 1;
    }
    return Error{ErrorCode::InvalidArgument,
                 "JSON: " + std::string(expected_) + " expected at line " + std::to_string(line) +
                     ", byte " + std::to_string(before.size() - start + 1)};
  }

  // The document of `text`, whose bytes from `at` to `end` are a value that was checked.
  static Json filled(std::string text, std::size_t at, std::size_t end, std::uint32_t value_count);

 private:
  bool wrong(const char* expected, std::size_t at) {
    expected_ = expected;
    wrong_at_ = at;
    return false;
  }
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  static bool is_blank(char each) {
    return each == ' ' || each == '\t' || each == '\n' || each == '\r';
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool accept(char each) {
    if (at_ == text_.size() || text_[at_] != each) return false;
    ++at_;
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  [[gnu::noinline]] bool value(std::size_t depth) {
    skip_blanks();
    if (depth > Json::kDepthMax) {
      static_assert(Json::kDepthMax == 64);
      return wrong("nesting of at most 64", at_);
    }
    ++value_count_;
    if (accept('{')) return elements(depth, '}');
    if (accept('[')) return elements(depth, ']');
    if (accept('"')) return string();
    return accept_word("true") || accept_word("false") || accept_word("null") || number();
  }
  // Parses the rest of an array or an object, after its bracket.
  bool elements(std::size_t depth, char closing) {
    const bool is_object = closing == '}';
    skip_blanks();
    if (accept(closing)) return true;
    for (;;) {
      if (is_object && !name()) return false;
      if (!value(depth + 1)) return false;
      skip_blanks();
      if (accept(closing)) return true;
      if (!accept(',')) return wrong(is_object ? "',' or '}'" : "',' or ']'", at_);
    }
  }
  bool name() {
    skip_blanks();
    if (!accept('"')) return wrong("the name of a member", at_);
    ++value_count_;
    if (!string()) return false;
    skip_blanks();
    return accept(':') || wrong("':'", at_);
  }
  bool digits() {
    const std::size_t first = at_;
    while (here() >= '0' && here() <= '9') ++at_;
    return at_ > first;
  }
  bool number() {
    const bool is_negative = accept('-');
    if (!accept('0') && !digits()) return wrong(is_negative ? "a digit" : "a value", at_);
    if (accept('.') && !digits()) return wrong("a digit", at_);
    if (accept('e') || accept('E')) {
      if (!accept('+')) accept('-');
      if (!digits()) return wrong("a digit", at_);
    }
    return true;
  }
  // After the first quote.
  bool string() {
    for (;;) {
      if (at_ == text_.size()) return wrong("'\"'", at_);
      const char each = text_[at_];
      if (static_cast<unsigned char>(each) < 0x20) {
        return wrong("'\"' or an escaped character", at_);
      }
      ++at_;
      if (each == '"') return true;
      if (each == '\\' && !escape()) return false;
    }
  }
  bool escape() {
    if (at_ == text_.size() || std::string_view("\"\\/bfnrtu").find(text_[at_]) == kNowhere) {
      return wrong("an escaped character", at_);
    }
    if (text_[at_++] != 'u') return true;
    const std::size_t start = at_ - 2;
    std::uint32_t code = 0;
    if (!hex(code)) return false;
    if (code < 0xd800 || code >= 0xe000) return true;
    // Half of a surrogate pair.
    std::uint32_t second = 0;
    if (code < 0xdc00 && accept_word("\\u") && !hex(second)) return false;
    return (second >= 0xdc00 && second < 0xe000) || wrong("a surrogate pair", start);
  }
  bool hex(std::uint32_t& unit) {
    const std::size_t first = at_;
    for (std::size_t i = 0; i < 4; ++i, ++at_) {
      const int digit = hex_digit(here());
      if (digit < 0) {
        at_ = first;
        return wrong("four hexadecimal digits", at_);
      }
      unit = unit * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }
  static int hex_digit(char each) {
    if (each >= '0' && each <= '9') return each - '0';
    const char lower = static_cast<char>(each | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  }

  static std::uint32_t unit_at(const char* text) {
    std::uint32_t unit = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      unit = unit * 16 + static_cast<std::uint32_t>(hex_digit(text[i]));
    }
    return unit;
  }
  static char* put_character(char* out, std::uint32_t code) {
    if (code < 0x80) {
      *out++ = static_cast<char>(code);
      return out;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned char kLead[] = {0, 0xc0, 0xe0, 0xf0};
    *out++ = static_cast<char>(kLead[more] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) *out++ = static_cast<char>(0x80 | ((code >> (6 * i)) & 63));
    return out;
  }
  // Resolves the escapes of a string that was checked, in its place: no escape is shorter than its
  // meaning. `from` is after the first quote; becomes the place after the last one. Gives the bytes.
  [[gnu::noinline]] static std::size_t resolve(char* text, std::size_t& from) {
    char* const begin = text + from;
    char* out = begin;
    const char* in = begin;
    while (*in != '"') {
      if (*in != '\\') {
        *out++ = *in++;
        continue;
      }
      constexpr std::string_view kNames = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      const std::size_t found = kNames.find(in[1]);
      in += 2;
      if (found != kNowhere) {
        *out++ = kMeanings[found];
        continue;
      }
      std::uint32_t code = unit_at(in);
      in += 4;
      if (code >= 0xd800 && code < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (unit_at(in + 2) - 0xdc00);
        in += 6;
      }
      out = put_character(out, code);
    }
    from += static_cast<std::size_t>(in - begin) + 1;
    return static_cast<std::size_t>(out - begin);
  }

  static constexpr std::size_t kNowhere = std::string_view::npos;

  std::string_view text_;
  std::size_t at_;
  std::uint32_t value_count_ = 0;
  const char* expected_ = "";
  std::size_t wrong_at_ = 0;
};

[[gnu::noinline]] inline Json JsonReader::filled(std::string text, std::size_t at, std::size_t end,
                                                 std::uint32_t value_count) {
  using Kind = Json::Kind;
  auto* document = new detail::JsonDocument;
  document->text = std::move(text);
  document->values.reserve(value_count);
  char* const bytes = document->text.data();
  std::array<std::uint32_t, Json::kDepthMax + 2> open = {};  // The arrays and objects around `at`.
  std::size_t depth = 0;
  const auto add = [&](Kind kind, std::size_t place, std::size_t count) {
    // An item counts for its array. A member counts for its object by its name, and again by its
    // value, so that the end of the object halves the count.
    if (depth > 0) document->values[open[depth - 1]].place += 1;
    detail::JsonValue& added = document->values.emplace_back();
    added.place = static_cast<std::uint32_t>(place);
    added.count = static_cast<std::uint32_t>(count) & detail::JsonValue::kCountMax;
    added.kind = static_cast<std::uint32_t>(kind) & 7;
  };
  while (at < end) {
    const std::size_t first = at++;
    switch (bytes[first]) {
      case ' ':
      case '\t':
      case '\n':
      case '\r':
      case ',':
      case ':':
        break;
      case '[':
      case '{':
        add(bytes[first] == '[' ? Kind::Array : Kind::Object, 0, 0);
        open[depth++] = static_cast<std::uint32_t>(document->values.size() - 1);
        break;
      case ']':
      case '}': {
        detail::JsonValue& closed = document->values[open[--depth]];
        closed.count =
            static_cast<std::uint32_t>(document->values.size()) & detail::JsonValue::kCountMax;
        if (bytes[first] == '}') closed.place /= 2;
        break;
      }
      case '"': {
        const std::size_t count = resolve(bytes, at);
        add(Kind::Text, first + 1, count);
        break;
      }
      default: {
        while (at < end && !is_blank(bytes[at]) && bytes[at] != ',' && bytes[at] != ']' &&
               bytes[at] != '}') {
          ++at;
        }
        const char letter = bytes[first];
        if (letter == 'n') {
          add(Kind::Null, 0, 0);
        } else if (letter == 't' || letter == 'f') {
          add(Kind::Boolean, letter == 't' ? 1 : 0, 0);
        } else {
          add(Kind::Number, first, at - first);
        }
      }
    }
  }
  return {document, 0};
}

inline Result<Json> Json::parse(std::string_view text) {
  return parse_in_place(std::string(text));
}
[[gnu::noinline]] inline Result<Json> Json::parse_in_place(std::string text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  JsonReader reader(text, begin);
  if (!reader.check_utf8(text) || !reader.check() || !reader.check_end()) return reader.error();
  const std::size_t end = reader.at();
  return JsonReader::filled(std::move(text), begin, end, reader.value_count());
}
[[gnu::noinline]] inline Result<Json> Json::parse_first(std::string_view text, std::size_t& end) {
  JsonReader reader(text, 0);
  const bool is_value = reader.check();
  end = reader.at();
  const std::string_view read = text.substr(0, end);
  if (!is_value || !reader.check_utf8(read)) return reader.error();
  return JsonReader::filled(std::string(read), 0, end, reader.value_count());
}

}  // namespace quire
