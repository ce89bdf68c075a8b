#pragma once
// A request to /v1/chat/completions, read and checked.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chat_turn.h"
#include "openai.h"
#include "openai_tools.h"

namespace endpoints::openai {

struct ChatRequest {
  ChatPrompt prompt;
  GenerateOptions generate;
  std::optional<std::uint64_t> token_count_max;  // None: as many as there is room for.
  const char* token_count_member = "max_tokens";
  std::uint32_t n = 1;
  bool has_logprobs = false;
  Prediction prediction;
  Streaming stream;
};

// ---- messages -----------------------------------------------------------------------------------

// The text of a message's content, which may be in parts.
inline Result<std::string> content_text(const Json& content, const std::string& path) {
  if (content.is_null()) return std::string();
  if (content.is_text()) return std::string(content.text());
  if (!content.is_array()) return wrong(path, "must be a string or an array of parts");
  std::string text;
  std::size_t index = 0;
  for (const Json& part : content.items()) {
    const std::string_view type = part.text("type");
    const bool is_first = index == 0;
    const std::string at = path + "[" + std::to_string(index++) + "]";
    if (!part.is_object() || type.empty()) return wrong(at, "must be an object with a type");
    if (type != "text" && type != "refusal") {
      return wrong(
          at, "parts of type " + json_string(type) + " are not supported; the model reads text",
          ErrorCode::NotSupported);
    }
    if (!part[type].is_text()) return wrong(at + "." + std::string(type), "must be a string");
    text += (is_first ? "" : "\n") + std::string(part.text(type));
  }
  return text;
}

// The calls of an earlier turn: of functions as a member of the turn, all other ones as text.
struct EarlierCalls {
  std::string member;
  std::string text;
};
inline Result<EarlierCalls> read_calls(const Json::Items& given, const std::string& path,
                                       LeftOut& left_out) {
  EarlierCalls out;
  JsonWriter calls;
  calls.begin_array();
  bool has_any = false;
  std::size_t index = 0;
  for (const Json& each : given) {
    const std::string at = path + "[" + std::to_string(index++) + "]";
    Members call = TRY(Members::of(each, at, left_out));
    const std::string id = TRY(call.text("id"));
    if (const std::string type = TRY(call.text("type", "function")); type != "function") {
      const Json other = each[type];
      add_text(out.text,
               call_as_text(other.has("name") ? other.text("name") : std::string_view(type),
                            other.has("input") ? std::string(other.text("input")) : other.str()));
      continue;
    }
    has_any = true;
    const Json function = each["function"];
    if (function.text("name").empty() || !function["arguments"].is_text()) {
      return wrong(at,
                   "must be {\"id\", \"type\": \"function\", \"function\": {\"name\", "
                   "\"arguments\": a string}}");
    }
    Result<std::string> arguments = earlier_arguments(function.text("arguments"));
    if (!arguments.ok()) return blamed(at + ".function.arguments", arguments.error());
    write_earlier_call(calls, id, function.text("name"), arguments.value());
  }
  if (has_any) out.member = tool_calls_member(calls.end_array());
  return out;
}

// The members of a message other than role and content. Calls that become text go to `text`.
inline Result<std::string> further_members(Members& in, const std::string& path,
                                           std::string& text) {
  const Json::Items given = TRY(in.list("tool_calls"));
  EarlierCalls calls = TRY(read_calls(given, path + ".tool_calls", in.left_out()));
  add_text(text, calls.text);
  std::string more = std::move(calls.member);
  for (const char* name : {"tool_call_id", "name", "reasoning_content"}) {
    const std::string value = TRY(in.text(name));
    if (value.empty()) continue;
    more += (more.empty() ? "" : ",") + json_string(name) + ":" + json_string(value);
  }
  return more;
}

inline Result<ChatMessage> read_message(const Json& given, const std::string& path,
                                        LeftOut& left_out) {
  Members in = TRY(Members::of(given, path, left_out));
  ChatMessage message;
  message.role = TRY(in.text("role"));
  if (message.role == "developer") message.role = "system";
  if (message.role != "system" && message.role != "user" && message.role != "assistant" &&
      message.role != "tool") {
    return in.bad("role", json_string(message.role) +
                              " is not one of system, developer, user, assistant and tool");
  }
  const Json* content = in.find("content");
  if (content != nullptr) message.content = TRY(content_text(*content, path + ".content"));
  message.more = TRY(further_members(in, path, message.content));
  if (content == nullptr && !has_tool_calls(message) && message.content.empty()) {
    return in.bad("content", "give the text of the message");
  }
  TRY(in.refuse("function_call audio"));  // The model would not read them.
  in.accept({"refusal", "annotations"});  // Of an answer that comes back as it was sent.
  TRY(in.finish());
  return message;
}

inline Result<std::vector<ChatMessage>> read_messages(Members& in) {
  const Json::Items given = TRY(in.list("messages"));
  if (given.empty()) return in.bad("messages", "give at least one message");
  std::vector<ChatMessage> all;
  for (const Json& each : given) {
    const std::string path = "messages[" + std::to_string(all.size()) + "]";
    all.push_back(TRY(read_message(each, path, in.left_out())));
  }
  return all;
}

// ---- tools --------------------------------------------------------------------------------------

inline Result<OfferedTool> read_tool(const Json& given, const std::string& path,
                                     LeftOut& left_out) {
  constexpr std::size_t kNameBytesMax = 64;
  Members in = TRY(Members::of(given, path, left_out));
  in.accept({"type"});
  const Json* function = in.find("function");
  TRY(in.finish());
  if (function == nullptr) return in.bad("function", "give the name and the parameters");
  Members members = TRY(Members::of(*function, path + ".function", left_out));
  OfferedTool tool{.name = TRY(members.text("name")),
                   .description = TRY(members.text("description")),
                   .schema = arguments_schema(Json()),
                   .is_strict = TRY(members.flag("strict"))};
  if (const Json* schema = members.find("parameters"); schema != nullptr) {
    if (!schema->is_object()) return members.bad("parameters", "must be a JSON schema, an object");
    tool.schema = arguments_schema(*schema);
  }
  TRY(members.finish());
  TRY(check_tool_name(tool.name, path + ".function.name", kNameBytesMax));
  return tool;
}

// {"type": "allowed_tools", "allowed_tools": {"mode", "tools": [{"type": "function", "function"}]}}
inline Result<void> read_allowed_tools(const Json& choice, Members& in, ChatPrompt& out) {
  const Json& allowed = choice["allowed_tools"];
  const std::string_view mode = allowed.text("mode");
  if (mode != "auto" && mode != "required") {
    return in.bad("tool_choice", "the mode of allowed_tools must be auto or required");
  }
  out.tool_choice = mode == "auto" ? ToolChoice::Auto : ToolChoice::Required;
  std::erase_if(out.tools, [&](const OfferedTool& each) {
    return std::ranges::none_of(allowed["tools"].items(), [&](const Json& one) {
      return one["function"].text("name") == each.name;
    });
  });
  if (!out.tools.empty()) return {};
  return in.bad("tool_choice", "allowed_tools names none of the tools that this server offers");
}

inline Result<void> read_tool_choice(Members& in, ChatPrompt& out) {
  const Json* choice = TRY(read_tool_choice_word(in, out));
  if (choice == nullptr) return {};
  if (choice->text("type") == "allowed_tools") return read_allowed_tools(*choice, in, out);
  const Json function = (*choice)["function"];
  const std::string_view name = function.text("name");
  const auto is_other = [&](const OfferedTool& each) { return each.name != name; };
  if (choice->text("type") != "function" || std::ranges::all_of(out.tools, is_other)) {
    return in.bad("tool_choice",
                  "must be \"none\", \"auto\", \"required\", {\"type\": \"function\", "
                  "\"function\": {\"name\": one of the tools}} or {\"type\": "
                  "\"allowed_tools\", \"allowed_tools\": {\"mode\", \"tools\"}}");
  }
  std::erase_if(out.tools, is_other);
  return {};
}

inline Result<void> read_tools(Members& in, ChatPrompt& out) {
  TRY(read_tool_list(in, out, read_tool));
  return read_tool_choice(in, out);
}

// ---- the whole request --------------------------------------------------------------------------

// The schema of the answer; empty: any text.
inline Result<std::string> read_response_format(Members& in) {
  const Json* given = in.find("response_format");
  if (given == nullptr) return std::string();
  Members outer = TRY(in.object("response_format"));
  const std::string_view type = given->text("type");
  outer.accept({"type"});
  if (type == "text" || type == "json_object") {
    TRY(outer.finish());
    return std::string(type == "text" ? "" : R"({"type":"object"})");
  }
  if (type != "json_schema") {
    return in.bad("response_format", "its type must be text, json_object or json_schema");
  }
  Members format = TRY(outer.object("json_schema"));
  TRY(outer.finish());
  std::string schema = TRY(read_answer_schema(format));
  TRY(format.finish());
  return schema;
}

inline Result<void> read_logprobs(Members& in, ChatRequest& out) {
  out.has_logprobs = TRY(in.flag("logprobs"));
  out.generate.top_logprobs = static_cast<std::uint32_t>(TRY(in.whole("top_logprobs", 0, {0, 20})));
  if (out.generate.top_logprobs > 0 && !out.has_logprobs) {
    return in.bad("top_logprobs", "needs \"logprobs\": true");
  }
  const bool may_write_twice =
      !out.prompt.schema.empty() && out.prompt.tool_choice == ToolChoice::Auto;
  if (out.has_logprobs && may_write_twice) {
    return wrong("logprobs", "is not supported with both tools and response_format",
                 ErrorCode::NotSupported);
  }
  return {};
}

// The kind of an answer: "modalities": ["text"] asks for nothing else than text.
inline Result<void> accept_manner(Members& in) {
  for (const Json& each : TRY(in.list("modalities"))) {
    if (each.text() == "text") continue;
    return wrong("modalities", "only [\"text\"] is supported", ErrorCode::NotSupported);
  }
  return in.accept_texts({"verbosity"});  // A hint, which the model cannot take.
}

inline Result<ChatRequest> read_chat_request(const Json& body, LeftOut& left_out) {
  Members in(body, left_out);
  ChatRequest out;
  out.prompt.model = TRY(read_model(in));
  out.prompt.messages = TRY(read_messages(in));
  out.generate = TRY(read_drawing(in, out.prompt.model));
  TRY(read_tools(in, out.prompt));
  out.prompt.schema = TRY(read_response_format(in));
  out.prompt.schema_member = "response_format";
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {  // The second one counts.
    const std::uint64_t most = TRY(in.whole(name, 0, {1, kLargestWhole}));
    if (most == 0) continue;
    out.token_count_max = most;
    out.token_count_member = name;
  }
  out.n = static_cast<std::uint32_t>(TRY(in.whole("n", 1, {1, kChoiceCountMax})));
  TRY(read_logprobs(in, out));
  out.stream = TRY(read_streaming(in));
  out.prompt.keep = TRY(read_keep(in));
  TRY(accept_common(in, &out.prediction));
  TRY(accept_manner(in));
  out.prompt.template_variables = TRY(read_variables(in, in.text("reasoning_effort")));
  in.leave_out({"audio", "moderation", "web_search_options"});
  TRY(in.refuse("functions function_call prompt input instructions"));
  TRY(refuse_of_others(in));
  TRY(in.finish());
  return out;
}

}  // namespace endpoints::openai
