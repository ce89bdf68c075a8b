#pragma once
// The tools of a request, and how its earlier calls are written for the template of a model.
//
// Errors   those of a request, which name its member.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "members.h"
#include "quire/tool.h"

namespace endpoints {

enum class ToolChoice : std::uint8_t { None, Auto, Required };

// The mark between a namespace and a name, in the name that the model reads.
inline constexpr std::string_view kNamespaceMark = "__";
inline constexpr std::size_t kNamespaceBytesMax = 64;

struct OfferedTool {
  std::string name;
  std::string description;
  std::string schema;  // JSON schema of the arguments.
  bool is_strict = false;
  std::size_t namespace_bytes = 0;  // Of the name: its namespace; 0: it has none.
};

// The schema of the arguments of a tool. A function without parameters takes {} alone, as the interfaces
// say; JSON Schema would allow it any.
[[gnu::noinline]] inline std::string arguments_schema(const Json& given) {
  constexpr std::string_view kNone =
      R"({"type":"object","properties":{},"additionalProperties":false})";
  const Json properties = given["properties"];
  bool has_none = given.is_null() || given.members().empty() ||
                  (properties.is_object() && properties.members().empty());
  for (const auto& [name, value] : given.members()) {
    has_none = has_none && (name == "type" || name == "properties" || name == "required" ||
                            name == "title" || name == "description" || name == "$schema");
  }
  return has_none ? std::string(kNone) : given.str();
}

// As templates want them.
inline std::string listed(const std::vector<OfferedTool>& tools) {
  JsonWriter json;
  json.begin_array();
  for (const OfferedTool& each : tools) {
    json.begin_object().key("type").text("function").key("function").begin_object();
    json.key("name").text(each.name).key("description").text(each.description);
    json.key("parameters").raw(each.schema).end_object().end_object();
  }
  return json.end_array().str();
}

// Interfaces differ in how long a name may be, and in the signs that it may have.
inline Result<void> check_tool_name(std::string_view name, const std::string& path,
                                    std::size_t bytes_max, std::string_view signs = "_-") {
  const auto is_allowed = [signs](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || signs.find(each) != std::string_view::npos;
  };
  if (!name.empty() && name.size() <= bytes_max && std::ranges::all_of(name, is_allowed)) return {};
  std::string shown;
  for (const char each : signs) {
    if (!shown.empty()) shown += each == signs.back() ? " and " : ", ";
    shown += std::string("'") + each + "'";
  }
  return wrong(path, "must have 1 to " + std::to_string(bytes_max) + " letters, digits, " + shown +
                         ", not " + std::to_string(name.size()));
}

// ---- earlier turns ------------------------------------------------------------------------------

inline bool has_tool_calls(const ChatMessage& message) {
  return message.more.starts_with("\"tool_calls\":");
}

// The further members of a turn with calls. `calls` is a JSON array of {"id", "type", "function"},
// in which the arguments are a string.
inline std::string tool_calls_member(const JsonWriter& calls) {
  return "\"tool_calls\":" + calls.str();
}

// A call of an earlier turn; `arguments` is JSON.
inline void write_earlier_call(JsonWriter& json, std::string_view id, std::string_view name,
                               const std::string& arguments) {
  json.begin_object().key("id").text(id).key("type").text("function");
  json.key("function").begin_object().key("name").text(name);
  json.key("arguments").text(arguments).end_object().end_object();
}

// `json` with its open string, arrays and objects closed.
inline std::string closed_json(std::string_view json) {
  std::string open;
  bool is_in_text = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (is_in_text && json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      is_in_text = !is_in_text;
    } else if (!is_in_text && (json[at] == '{' || json[at] == '[')) {
      open += json[at] == '{' ? '}' : ']';
    } else if (!is_in_text && !open.empty() && json[at] == open.back()) {
      open.pop_back();
    }
  }
  return std::string(json) + (is_in_text ? "\"" : "") + std::string(open.rbegin(), open.rend());
}
// The arguments of an earlier call as they were written, so that its tokens are those of the model.
// A client sends a call that was cut back as it came: it is closed. An error if that is not JSON.
inline Result<std::string> earlier_arguments(std::string_view text) {
  const std::string_view written = quire::detail::trimmed(text);
  if (written.empty()) return std::string("{}");
  const Result<Json> json = Json::parse(written);
  if (json.ok()) return std::string(written);
  std::string closed = closed_json(written);
  if (Json::parse(closed).ok()) return closed;
  return json.error();
}
// A call of a tool that is not offered, as text of the turn.
inline std::string call_as_text(std::string_view name, std::string_view input) {
  return "[" + std::string(name) + ": " + std::string(input) + "]";
}
inline void add_text(std::string& text, std::string_view more) {
  if (!text.empty() && !more.empty()) text += "\n";
  text += more;
}

// The text of a call for a template that does not write calls.
inline std::string call_text(const CallForm& form, const Json& call) {
  const Json function = call["function"];
  std::string text = "\n" + form.before + "\n{" + json_string(form.name_key) + ": ";
  text += json_string(function.text("name")) + ", " + json_string(form.arguments_key) + ": ";
  text += function.text("arguments");
  return text + "}\n" + form.after;
}

// The turn as the template of the model takes it: arguments as an object or as a string, calls and
// results as text if it does not write them.
inline Result<ChatMessage> written_for(const CallForm& form, ChatMessage message) {
  const bool shows = form.shows_calls && form.shows_results;
  if (message.role == "tool" && !shows) {
    return ChatMessage{"user", "<tool_response>\n" + message.content + "\n</tool_response>"};
  }
  if (!has_tool_calls(message)) return message;
  const Json members = TRY(Json::parse_in_place("{" + message.more + "}"));
  if (!form.shows_calls) {
    for (const Json& call : members["tool_calls"].items()) message.content += call_text(form, call);
    return ChatMessage{message.role, message.content};
  }
  if (form.takes_text_arguments) return message;
  JsonWriter json;
  json.begin_object().key("tool_calls").begin_array();
  for (const Json& call : members["tool_calls"].items()) {
    const Json function = call["function"];
    json.begin_object().key("id").text(call.text("id")).key("type").text("function");
    json.key("function").begin_object().key("name").text(function.text("name"));
    json.key("arguments").raw(function.text("arguments")).end_object().end_object();
  }
  json.end_array();
  for (const auto& [name, value] : members.members()) {
    if (name != "tool_calls") json.key(name).raw(value.str());
  }
  const std::string text = json.end_object().str();
  message.more = text.substr(1, text.size() - 2);
  return message;
}

inline Result<std::vector<ChatMessage>> written_for(const CallForm& form,
                                                    std::vector<ChatMessage> messages) {
  std::vector<ChatMessage> all;
  bool was_result = false;
  for (ChatMessage& each : messages) {
    const bool is_result = each.role == "tool";
    ChatMessage message = TRY(written_for(form, std::move(each)));
    const bool joins = was_result && is_result && message.role == "user";  // One turn, not several.
    was_result = is_result;
    if (joins) {
      all.back().content += "\n" + message.content;
    } else {
      all.push_back(std::move(message));
    }
  }
  return all;
}

// Adds to the system turn, which comes first, or begins with one.
inline void tell_in_system_turn(std::vector<ChatMessage>& messages, std::string text) {
  if (!messages.empty() && messages.front().role == "system") {
    messages.front().content += "\n\n" + text;
  } else {
    messages.insert(messages.begin(), {"system", std::move(text)});
  }
}

// ---- calls of an answer ---------------------------------------------------------------------------

// The text between the beginning of an answer and the name of a tool.
inline std::string call_begin(const CallForm& form) {
  if (form.kind != CallForm::Kind::Json) return form.before;
  return form.before + "\n{" + json_string(form.name_key) + ": \"";
}
// The text between the name of a tool and its arguments.
inline std::string after_name(const CallForm& form) {
  if (form.kind != CallForm::Kind::Json) return form.name_end;
  return "\", " + json_string(form.arguments_key) + ": ";
}

// The type that the schema of a tool gives an argument, for a form that has only texts. Empty: any.
inline std::string argument_type(const std::vector<OfferedTool>& tools, std::string_view name,
                                 std::string_view argument) {
  const auto tool = std::ranges::find(tools, name, &OfferedTool::name);
  if (tool == tools.end()) return {};
  const Result<Json> schema = Json::parse(tool->schema);
  return schema.ok() ? std::string(schema.value()["properties"][argument].text("type")) : "";
}

}  // namespace endpoints
