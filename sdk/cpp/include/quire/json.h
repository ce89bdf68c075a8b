#pragma once
// Writing JSON: enough for chat requests and results. What is no UTF-8 becomes U+FFFD.
//
//   JsonWriter json;
//   json.begin_object().key("ids").numbers(ids).key("text").text(text).end_object();
//   runtime::set_result(json.str());
//
// Thread   one thread at a time. Errors: none; the caller nests begin and end.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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
  JsonWriter& number(std::int64_t value) { return put(std::to_string(value)); }
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

}  // namespace quire
