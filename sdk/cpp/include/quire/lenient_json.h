#pragma once
// The JSON that models write in calls: control characters may stand in strings as they are, and the
// braces of an object may be doubled. AnswerReader (tool_calls.h) reads it.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/json.h"

namespace quire {

namespace detail {

// JSON that cannot be read up to this far from the end may be cut in a word or an escape.
inline constexpr std::size_t kJsonCutBytesMax = 13;

inline bool is_control(char each) {
  return static_cast<unsigned char>(each) < ' ';
}

// `text` with escapes for the control characters that stand in its strings; `added` gets the
// place after each escape, and how many bytes it is longer than its character.
inline std::string with_escapes(std::string_view text,
                                std::vector<std::pair<std::size_t, std::size_t>>& added) {
  std::string out;
  bool is_in_string = false;
  bool is_escaped = false;
  for (const char each : text) {
    if (is_in_string && !is_escaped && is_control(each)) {
      const std::string quoted = json_string(std::string_view(&each, 1));
      out += std::string_view(quoted).substr(1, quoted.size() - 2);
      added.emplace_back(out.size(), quoted.size() - 3);
    } else {
      out += each;
      if (each == '"' && !is_escaped) is_in_string = !is_in_string;
    }
    is_escaped = is_in_string && each == '\\' && !is_escaped;
  }
  return out;
}

// Json::parse_first, which also takes control characters in strings as they are.
inline Result<Json> first_json(std::string_view text, std::size_t& bytes) {
  Result<Json> json = Json::parse_first(text, bytes);
  if (json.ok() || bytes >= text.size() || !is_control(text[bytes])) return json;
  std::vector<std::pair<std::size_t, std::size_t>> added;
  const std::string escaped = with_escapes(text, added);
  std::size_t end = 0;
  json = Json::parse_first(escaped, end);
  bytes = end;
  for (const auto& [place, more] : added) {
    if (place <= end) bytes -= more;
  }
  return json;
}

// The JSON value that `text` begins with; an object may have doubled braces.
inline Result<Json> json_at(std::string_view text, std::size_t& bytes) {
  const std::size_t more = text.starts_with("{{") ? 1 : 0;
  Result<Json> json = first_json(text.substr(more), bytes);
  bytes += more;
  if (more == 1 && text.substr(bytes).starts_with('}')) ++bytes;
  return json;
}

}  // namespace detail

}  // namespace quire
