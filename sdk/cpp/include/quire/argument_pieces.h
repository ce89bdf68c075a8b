#pragma once
// ArgumentPieces makes JSON of arguments that a model writes one by one, while they come.
//
//   <parameter=path>a.py</parameter><parameter=lines>[1, 2]</parameter>
//   {"path":"a.py","lines":[1,2]}
//
// A value of the type string comes as it is written, any other one when it is whole.
//
// Thread   any; it waits for nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "quire/call_form.h"
#include "quire/tool_calls.h"
#include "quire/utf8.h"

namespace quire {

// The type that the schema of a tool gives an argument; empty: any.
using ArgumentType = std::function<std::string(std::string_view tool, std::string_view argument)>;

// The arguments of a whole call, as JSON.
inline std::string arguments_json(const ToolCall& call, const CallForm& form,
                                  const ArgumentType& type_of) {
  if (call.arguments.is_null()) return "{}";
  if (call.arguments.is_text()) return std::string(call.arguments.text());  // It is not JSON.
  if (form.kind != CallForm::Kind::NameThenPairs) return call.arguments.str();
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : call.arguments.members()) {
    json.key(name).raw(detail::of_type(value, type_of(call.name, name)).str());
  }
  return json.end_object().str();
}

class ArgumentPieces {
 public:
  enum class State : std::uint8_t { Open, Done };

  ArgumentPieces(CallForm form, ArgumentType type_of)
      : form_(std::move(form)), type_of_(std::move(type_of)) {}

  // Gives the beginning of the arguments.
  std::string begin(std::string tool) {
    tool_ = std::move(tool);
    is_in_value_ = false;
    has_any_ = false;
    return "{";
  }
  // Takes what it can from the beginning of `rest`, and appends to `out`. Open: more must come.
  State push(std::string& rest, std::string& out) {
    for (;;) {
      if (is_in_value_) {
        if (!read_value(rest, out)) return State::Open;
      } else if (const State state = read_name(rest, out); !is_in_value_) {
        if (state == State::Done) out += '}';
        return state;
      }
    }
  }
  // Whether arguments that end before `rest` are whole.
  bool is_whole(std::string_view rest) const {
    return !is_in_value_ && !AnswerReader::ends_mark(AnswerReader::skip(rest, 0, form_.key_begin));
  }

 private:
  using Reader = AnswerReader;
  static constexpr std::size_t kNowhere = std::string_view::npos;

  State read_name(std::string& rest, std::string& out) {
    const std::string_view text = rest;
    const std::size_t after = form_.after.empty() ? kNowhere : Reader::skip(text, 0, form_.after);
    if (Reader::ends_mark(after)) return State::Done;
    const std::size_t name = Reader::skip(text, 0, form_.key_begin);
    if (!Reader::ends_mark(name)) {
      const bool may_go_on = after == Reader::kCut || name == Reader::kCut;
      return may_go_on ? State::Open : State::Done;
    }
    const std::size_t end = text.find(form_.key_end, name);
    if (end == kNowhere) return State::Open;
    const std::string argument(detail::trimmed(text.substr(name, end - name)));
    type_ = type_of_(tool_, argument);
    is_text_ = type_.empty() || type_ == "string";
    pending_ = (has_any_ ? "," : "") + json_string(argument) + ":";
    has_any_ = true;
    is_first_ = true;
    is_in_value_ = true;
    if (is_text_) out += std::exchange(pending_, "") + '"';
    rest.erase(0, end + form_.key_end.size());
    return State::Open;
  }

  // A line feed at each end of a value is not of it. False: more must come.
  bool read_value(std::string& rest, std::string& out) {
    const std::size_t end = rest.find(form_.value_end);
    const bool is_end = end != kNowhere;
    std::string_view text = std::string_view(rest).substr(0, end);
    if (!is_end) text = is_text_ ? whole_characters(text) : std::string_view();
    if (!is_end && text.empty()) return false;
    const std::size_t bytes = is_end ? end + form_.value_end.size() : text.size();
    if (std::exchange(is_first_, false) && text.starts_with('\n')) text.remove_prefix(1);
    if (is_end && text.ends_with('\n')) text.remove_suffix(1);
    const std::string quoted = json_string(text);
    if (!is_text_) {
      const Result<Json> value = Json::parse(quoted);
      out += std::exchange(pending_, "");
      out += value.ok() ? detail::of_type(value.value(), type_).str() : quoted;
    } else {
      out += std::string_view(quoted).substr(1, quoted.size() - (is_end ? 1 : 2));
    }
    is_in_value_ = !is_end;
    rest.erase(0, bytes);
    return is_end;
  }
  // The part of a value that is certain: whole characters, and not what may be its end.
  std::string_view whole_characters(std::string_view text) const {
    constexpr std::size_t kCharacterBytesMax = 4;
    text.remove_suffix(Reader::begun_bytes(text, form_.value_end));
    if (text.ends_with('\n')) text.remove_suffix(1);
    const std::size_t valid = valid_utf8_bytes(text);
    return text.size() - valid < kCharacterBytesMax ? text.substr(0, valid) : text;
  }

  CallForm form_;
  ArgumentType type_of_;
  std::string tool_;
  bool has_any_ = false;
  // The argument that is open:
  bool is_in_value_ = false;
  bool is_text_ = false;
  bool is_first_ = false;  // Nothing of its value was read.
  std::string type_;
  std::string pending_;  // Its name, if the value comes when it is whole.
};

}  // namespace quire
