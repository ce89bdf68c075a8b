#pragma once
// CallForm: how a model writes a call of a tool, and what encloses a thought before an answer.
//
// Three kinds cover what published chat templates write:
//
//   Json           <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>
//   NameThenJson   [TOOL_CALLS]add[ARGS]{"a": 1}
//   NameThenPairs  <function=add><parameter=a>1</parameter></function>
//
// A CallForm begins as the form of Hermes, the first one above, which most models have seen.
// find_call_form (tool_form.h) finds the form of a model. If the model's template does not describe
// tools (offers_tools is false), described_tools gives the text that does, for a system turn.
//
// Thread   any; these are values, and functions that wait for nothing.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "quire/json.h"

namespace quire {

struct CallForm {
  enum class Kind { Json, NameThenJson, NameThenPairs };

  static constexpr char kAnyId = '\1';  // In a mark: letters and digits that name the call.

  Kind kind = Kind::Json;
  std::string before = "<tool_call>";  // Empty: a call is the beginning of the answer.
  std::string between = "</tool_call>\n<tool_call>";
  std::string after = "</tool_call>";
  std::string name_key = "name";  // Json: the members of a call.
  std::string arguments_key = "arguments";
  std::string name_end;   // Name...: between the name and what follows it.
  std::string key_begin;  // Pairs: what encloses a name and a value.
  std::string key_end;
  std::string value_end;

  std::string think_begin = "<think>";
  std::string think_end = "</think>";
  bool begins_in_thought = false;  // The prompt ends with think_begin.
  std::string answer_begin;        // What stands before an answer without a call.

  bool takes_text_arguments = false;  // The template wants arguments as text, not as an object.
  bool offers_tools = false;          // The template describes the tools to the model.
  bool shows_calls = false;           // It writes calls of earlier turns,
  bool shows_results = false;         // and turns of the role "tool".
};

namespace detail {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The object in `json` that is a call: it has both members, at any depth. Null if there is none.
[[gnu::noinline]] inline Json call_in(const Json& json, std::string_view name_key,
                                      std::string_view arguments_key) {
  if (json[name_key].is_text() && json.has(arguments_key)) return json;
  for (const auto& [key, member] : json.members()) {
    if (Json found = call_in(member, name_key, arguments_key); !found.is_null()) return found;
  }
  for (const Json& each : json.items()) {
    if (Json found = call_in(each, name_key, arguments_key); !found.is_null()) return found;
  }
  return {};
}

// A value of the type that a schema names: forms without JSON bring every argument as text, and
// models write "5" for 5. Templates show a model the words of Python, and it writes them, too.
inline Json of_type(const Json& value, std::string_view type) {
  if (!value.is_text() || type.empty() || type == "string") return value;
  std::string_view text = value.text();
  for (const auto& [python, json] : {std::pair<std::string_view, std::string_view>{"True", "true"},
                                     {"False", "false"},
                                     {"None", "null"}}) {
    if (text == python) text = json;
  }
  const Result<Json> parsed = Json::parse(text);
  return parsed.ok() ? parsed.value() : value;
}

// A call in the form, with words in angle brackets for its name and its arguments.
inline std::string sample_call(const CallForm& form) {
  std::string call = form.before;
  if (form.kind == CallForm::Kind::Json) {
    call += "\n{" + json_string(form.name_key) + ": <name>, " + json_string(form.arguments_key) +
            ": <object>}\n";
  } else if (form.kind == CallForm::Kind::NameThenJson) {
    call += "<name>" + form.name_end + "<object>";
  } else {
    call += "<name>" + form.name_end + '\n' + form.key_begin + "<argument>" + form.key_end +
            "<value>" + form.value_end + '\n';
  }
  call += form.after;
  std::ranges::replace(call, CallForm::kAnyId, '1');
  return std::string(trimmed(call));
}

}  // namespace detail

// A call as the model writes it; `arguments` is an object.
inline std::string written_call(const CallForm& form, const std::string& name,
                                const Json& arguments) {
  std::string call = form.before;
  if (form.kind == CallForm::Kind::Json) {
    call += "\n{" + json_string(form.name_key) + ": " + json_string(name) + ", " +
            json_string(form.arguments_key) + ": " + arguments.str() + "}\n";
  } else if (form.kind == CallForm::Kind::NameThenJson) {
    call += name + form.name_end + arguments.str();
  } else {
    call += name + form.name_end + '\n';
    for (const auto& [key, value] : arguments.members()) {
      call += form.key_begin;
      call += key;
      call += form.key_end;
      call += value.is_text() ? std::string(value.text()) : value.str();
      call += form.value_end + '\n';
    }
  }
  call += form.after;
  std::ranges::replace(call, CallForm::kAnyId, '1');
  return std::string(detail::trimmed(call));
}

// The text for a model whose template does not describe the tools: `tools`, a JSON array in the
// form that templates want, and how a call of them is written.
inline std::string described_tools(std::string_view tools, const CallForm& form) {
  std::string out = "You can call tools. These are the tools, as JSON:\n<tools>\n";
  out += tools;
  out += "\n</tools>\nTo call a tool, write its name and its arguments";
  out += form.kind == CallForm::Kind::NameThenPairs ? ":\n" : " as a JSON object:\n";
  out += detail::sample_call(form) + "\nYou are given the result";
  if (!form.shows_calls || !form.shows_results) out += " in <tool_response>";
  return out + "; then go on.";
}

}  // namespace quire
