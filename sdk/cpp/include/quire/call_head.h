#pragma once
// find_call_head finds where the arguments of a call in JSON begin, before the call is whole.
//
//   {"name": "add", "arguments": {
//
// A call has a head if it is certain to be one: the name of a tool that exists, and right after it
// the arguments, which are an object. Only "type" and "id" may stand before the name.
//
// Thread   any; it waits for nothing.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/call_form.h"

namespace quire {

struct CallHead {
  std::string name;
  std::size_t arguments = 0;  // The place of their brace.
};

namespace detail {

// Reads the beginning of an object, whose strings have no escapes. Nothing where it is cut.
class HeadReader {
 public:
  explicit HeadReader(std::string_view text) : text_(text) {}

  bool accept(char each) {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    if (at_ == text_.size() || text_[at_] != each) return false;
    ++at_;
    return true;
  }
  std::optional<std::string_view> text() {
    if (!accept('"')) return std::nullopt;
    const std::size_t end = text_.find_first_of("\"\\", at_);
    if (end == std::string_view::npos || text_[end] == '\\') return std::nullopt;
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  // The name of a member, with its colon.
  std::optional<std::string_view> name() {
    const auto out = text();
    return out && accept(':') ? out : std::nullopt;
  }
  std::size_t at() const { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// The beginning of an object is of arguments, and not of the schema of a tool that is described.
inline bool begins_arguments(HeadReader after_brace) {
  constexpr std::string_view kOfSchemas[] = {"type",  "properties",  "required",
                                             "title", "description", "$schema"};
  const auto name = after_brace.name();
  return name && std::ranges::find(kOfSchemas, *name) == std::end(kOfSchemas);
}

}  // namespace detail

// `text` begins with the brace of the call. A call that is not `in_form`, between the marks of the
// form, may name its arguments as other models do.
inline std::optional<CallHead> find_call_head(std::string_view text, const CallForm& form,
                                              const std::vector<std::string>& tool_names,
                                              bool in_form) {
  detail::HeadReader reader(text);
  if (!reader.accept('{')) return std::nullopt;
  auto member = reader.name();
  while (member && (*member == "type" || *member == "id") && *member != form.name_key) {
    if (!reader.text() || !reader.accept(',')) return std::nullopt;
    member = reader.name();
  }
  if (!member || *member != form.name_key) return std::nullopt;
  const auto name = reader.text();
  if (!name || std::ranges::find(tool_names, *name) == tool_names.end()) return std::nullopt;
  if (!reader.accept(',')) return std::nullopt;
  member = reader.name();
  if (!member) return std::nullopt;
  const bool is_other = !in_form && (*member == "arguments" || *member == "parameters");
  if (*member != form.arguments_key && !is_other) return std::nullopt;
  if (!reader.accept('{')) return std::nullopt;
  const bool may_describe = !in_form && *member == "parameters";
  if (may_describe && !detail::begins_arguments(reader)) return std::nullopt;
  return CallHead{std::string(*name), reader.at() - 1};
}

}  // namespace quire
