#pragma once
// A request to /v1/messages of the Anthropic interface, read and checked, and the form of its errors.
//
// Blocks of a message become what chat templates know: text is content, tool_use a call of the
// assistant's turn, tool_result a turn of the role "tool".
//
// Errors   {"type": "error", "error": {"type", "message"}, "request_id"}, as the interface has them.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chat_turn.h"
#include "errors.h"
#include "template_variables.h"

namespace endpoints::anthropic {

// ---- errors -----------------------------------------------------------------------------------

inline std::uint32_t status_of(const Error& error) {
  const std::uint32_t status = row_of(error).status;
  return status == row_of(ErrorKind::Overloaded).status ? kAnthropicOverloaded : status;
}
inline std::string error_json(const Error& error, const std::string& request_id) {
  JsonWriter json;
  json.begin_object().key("type").text("error").key("error").begin_object();
  json.key("type").text(row_of(error).anthropic_type).key("message").text(error.message);
  json.end_object().key("request_id").text(request_id);
  return json.end_object().str();
}

// Runs `handling`, and writes the error in which it ends. If the response has begun, the error is
// the last event of the stream, or the body.
inline Task<> answer(serve::Request request, serve::Response response, Task<> handling) {
  const Result<void> outcome = co_await attempt(std::move(handling));
  if (outcome.ok()) co_return;
  const Error error = outcome.error();
  const std::uint32_t status = status_of(error);
  const std::string json =
      error_json(shown_error(error, "the request " + request.id()), request.id());
  if (response.begun()) {
    const std::string event = serve::event_text(json, {.name = "error"});
    co_return co_await end_begun(response, event, json, error);
  }
  if (is_internal(error)) co_await fail(error);
  // Clients of the interface look for the id of a request in a header of their own.
  serve::Headers headers{{"request-id", request.id()}};
  if (status == kAnthropicOverloaded) headers.push_back({"retry-after", "1"});
  co_await response.json(status, json, std::move(headers));
  if (status >= 500) co_await fail(error);
}

// ---- messages -----------------------------------------------------------------------------------

// {"type": "ephemeral", "ttl"}, which cache_time_of() reads.
inline Result<void> check_cache_control(Members& in) {
  if (in.find("cache_control") == nullptr) return {};
  Members members = TRY(in.object("cache_control"));
  members.leave_out({"scope"});
  if (members.find("type") == nullptr) return members.bad("type", "must be \"ephemeral\"");
  TRY(members.accept_only("type", {"ephemeral"}));
  TRY(members.accept_only("ttl", {"5m", "1h"}));
  return members.finish();
}

// The text of one block of type "text".
inline Result<std::string> block_text(const Json& given, const std::string& path,
                                      LeftOut& left_out) {
  Members block = TRY(Members::of(given, path, left_out));
  const std::string type = TRY(block.text("type"));
  if (type != "text") {
    return wrong(
        path,
        "blocks of type " + json_string(type) + " are not supported here; the model reads text",
        ErrorCode::NotSupported);
  }
  const std::string text = TRY(block.text("text"));
  TRY(check_cache_control(block));
  block.accept({"citations"});
  TRY(block.finish());
  return text;
}

// A text, or an array of blocks of text.
inline Result<std::string> text_of(const Json& given, const std::string& path, LeftOut& left_out) {
  if (given.is_null()) return std::string();
  if (given.is_text()) return std::string(given.text());
  if (!given.is_array()) return wrong(path, "must be a string or an array of blocks");
  std::string text;
  std::size_t index = 0;
  for (const Json& each : given.items()) {
    if (index > 0) text += '\n';
    const std::string at = path + "[" + std::to_string(index++) + "]";
    text += TRY(block_text(each, at, left_out));
  }
  return text;
}

inline Result<void> read_tool_use(const Json& given, const std::string& path, JsonWriter& calls,
                                  LeftOut& left_out) {
  Members block(given, left_out, path + ".");
  const std::string id = TRY(block.text("id"));
  const std::string name = TRY(block.text("name"));
  const Json* input = block.find("input");
  TRY(check_cache_control(block));
  block.accept({"type"});
  TRY(block.finish());
  if (name.empty()) return block.bad("name", "give the name of the tool");
  if (input == nullptr || !input->is_object()) return block.bad("input", "must be an object");
  write_earlier_call(calls, id, name, input->str());
  return {};
}

inline Result<ChatMessage> read_tool_result(const Json& given, const std::string& path,
                                            LeftOut& left_out) {
  Members block(given, left_out, path + ".");
  const std::string id = TRY(block.text("tool_use_id"));
  const bool is_error = TRY(block.flag("is_error"));
  const Json* content = block.find("content");
  TRY(check_cache_control(block));
  block.accept({"type"});
  TRY(block.finish());
  std::string text = content == nullptr ? "" : TRY(text_of(*content, path + ".content", left_out));
  if (is_error) text = "error: " + text;
  return ChatMessage{"tool", std::move(text), "\"tool_call_id\":" + json_string(id)};
}

// A call that a server of the interface made, or its result; the model reads it as text. Empty: `block`
// is another one.
inline std::string server_call_text(const Json& block) {
  const std::string_view type = block.text("type");
  if (type == "server_tool_use" || type == "mcp_tool_use") {
    return call_as_text(block.text("name"), block["input"].str());
  }
  if (type.ends_with("_tool_result")) return call_as_text(type, block["content"].str());
  return "";
}

// The blocks of one message, as turns of a template.
inline Result<void> read_blocks(const Json& content, const std::string& role,
                                const std::string& path, std::vector<ChatMessage>& out,
                                LeftOut& left_out) {
  ChatMessage message{role, "", ""};
  JsonWriter calls;
  calls.begin_array();
  bool has_calls = false;
  bool has_text = false;
  std::size_t index = 0;
  for (const Json& block : content.items()) {
    const std::string_view type = block.text("type");
    const std::string at = path + "[" + std::to_string(index++) + "]";
    if (type == "tool_use" && role == "assistant") {
      TRY(read_tool_use(block, at, calls, left_out));
      has_calls = true;
    } else if (type == "tool_result" && role == "user") {
      out.push_back(TRY(read_tool_result(block, at, left_out)));
    } else if ((type == "thinking" || type == "redacted_thinking") && role == "assistant") {
      continue;  // Models do not read the thoughts of earlier turns.
    } else {
      std::string text = server_call_text(block);
      if (text.empty()) text = TRY(block_text(block, at, left_out));
      message.content += (has_text ? "\n" : "") + text;
      has_text = true;
    }
  }
  if (has_calls) message.more = tool_calls_member(calls.end_array());
  if (has_text || has_calls) out.push_back(std::move(message));
  return {};
}

inline Result<void> read_message(const Json& given, const std::string& path,
                                 std::vector<ChatMessage>& out, LeftOut& left_out) {
  Members in = TRY(Members::of(given, path, left_out));
  const std::string role = TRY(in.text("role"));
  if (role != "user" && role != "assistant" && role != "system") {
    return in.bad("role", json_string(role) + " is not one of user, assistant and system");
  }
  const Json* content = in.find("content");
  TRY(in.finish());
  if (content == nullptr) return in.bad("content", "give the text of the message");
  if (content->is_array()) {
    return read_blocks(*content, role, path + ".content", out, left_out);
  }
  if (!content->is_text()) return in.bad("content", "must be a string or an array of blocks");
  out.push_back({role, std::string(content->text()), ""});
  return {};
}

// The interface joins turns of one role that follow each other.
inline std::vector<ChatMessage> joined(std::vector<ChatMessage> messages) {
  std::vector<ChatMessage> all;
  for (ChatMessage& each : messages) {
    const bool joins = !all.empty() && all.back().role == each.role && all.back().more.empty() &&
                       each.more.empty();
    if (joins) {
      all.back().content += "\n" + each.content;
    } else {
      all.push_back(std::move(each));
    }
  }
  return all;
}

inline Result<void> read_messages(Members& in, ChatPrompt& out) {
  std::vector<ChatMessage> all;
  if (const Json* system = in.find("system"); system != nullptr) {
    all.push_back({"system", TRY(text_of(*system, "system", in.left_out())), ""});
  }
  const Json::Items given = TRY(in.list("messages"));
  if (given.empty()) return in.bad("messages", "give at least one message");
  std::size_t index = 0;
  for (const Json& each : given) {
    TRY(read_message(each, "messages[" + std::to_string(index++) + "]", all, in.left_out()));
  }
  out.messages = joined(std::move(all));
  // An answer goes on with a last turn of the assistant.
  const bool goes_on = !out.messages.empty() && out.messages.back().role == "assistant" &&
                       out.messages.back().more.empty();
  if (goes_on) {
    out.answer_begin = std::move(out.messages.back().content);
    out.messages.pop_back();
  }
  if (out.messages.empty()) return in.bad("messages", "give a message of the user");
  return {};
}

// ---- tools --------------------------------------------------------------------------------------

inline Result<OfferedTool> read_tool(const Json& given, const std::string& path,
                                     LeftOut& left_out) {
  constexpr std::size_t kNameBytesMax = 128;
  Members in = TRY(Members::of(given, path, left_out));
  OfferedTool tool{.name = TRY(in.text("name")),
                   .description = TRY(in.text("description")),
                   .schema = "",
                   .is_strict = TRY(in.flag("strict"))};
  const Json* schema = in.find("input_schema");
  if (schema == nullptr || !schema->is_object()) {
    return in.bad("input_schema", "must be a JSON schema, an object");
  }
  tool.schema = arguments_schema(*schema);
  TRY(check_cache_control(in));
  TRY(in.accept_texts({"type"}));
  in.accept({"eager_input_streaming", "defer_loading"});  // All are offered from the beginning.
  TRY(in.finish());
  TRY(check_tool_name(tool.name, path + ".name", kNameBytesMax));
  return tool;
}

inline Result<void> read_tool_choice(Members& in, ChatPrompt& out) {
  out.tool_choice = out.tools.empty() ? ToolChoice::None : ToolChoice::Auto;
  const Json* given = in.find("tool_choice");
  if (given == nullptr) return {};
  Members choice = TRY(Members::of(*given, "tool_choice", in.left_out()));
  const std::string type = TRY(choice.text("type"));
  const std::string name = TRY(choice.text("name"));
  out.parallel_tool_calls = !TRY(choice.flag("disable_parallel_tool_use"));
  TRY(choice.finish());
  if (type == "none") out.tool_choice = ToolChoice::None;
  if (type == "none" || type == "auto") return {};
  const auto is_other = [&](const OfferedTool& each) { return each.name != name; };
  if (type == "tool") std::erase_if(out.tools, is_other);
  if (out.tools.empty() || (type != "any" && type != "tool")) {
    return in.bad("tool_choice",
                  "must be of type auto or none, of type any with a tool that this server offers, "
                  "or of type tool with the name of one");
  }
  out.tool_choice = ToolChoice::Required;
  return {};
}

inline Result<void> read_tools(Members& in, ChatPrompt& out) {
  std::size_t index = 0;
  for (const Json& each : TRY(in.list("tools"))) {
    const std::string path = "tools[" + std::to_string(index++) + "]";
    const std::string type(each.text("type"));
    if (!type.empty() && type != "custom") {  // A tool that the model was not trained to use here.
      in.left_out().add(path + " (" + type + ")");
      continue;
    }
    out.tools.push_back(TRY(read_tool(each, path, in.left_out())));
  }
  out.tool_list = listed(out.tools);
  return read_tool_choice(in, out);
}

// ---- the whole request --------------------------------------------------------------------------

struct MessagesRequest {
  ChatPrompt prompt;
  GenerateOptions generate;
  std::uint64_t token_count_max = 0;
  bool streams = false;
  bool shows_thoughts = false;  // As blocks,
  bool hides_thoughts = false;  // which are empty.
};

// How long the conversation is kept in the cache: the longest time of any "cache_control", which
// the request, a tool, a message or a block may have. All of these are at most a few levels deep.
inline std::chrono::seconds cache_time_of(const Json& value) {
  std::chrono::seconds longest{0};
  for (const Json& each : value.items()) longest = std::max(longest, cache_time_of(each));
  for (const auto& [name, member] : value.members()) {
    if (name == "input" || name == "input_schema") continue;  // The client's own data.
    if (name != "cache_control") {
      longest = std::max(longest, cache_time_of(member));
    } else if (member.text("type") == "ephemeral") {
      const bool is_long = member.text("ttl") == "1h";
      longest = std::max<std::chrono::seconds>(
          longest, is_long ? std::chrono::hours(1) : std::chrono::minutes(5));
    }
  }
  return longest;
}

// The schema that "output_config" gives the answer.
inline Result<void> read_output_config(Members& in, TemplateVariables& variables, ChatPrompt& out) {
  const Json* given = in.find("output_config");
  if (given == nullptr) return {};
  Members config = TRY(Members::of(*given, "output_config", in.left_out()));
  const Json* format = config.find("format");
  variables.set_effort(TRY(config.text("effort")));
  TRY(config.finish());
  if (format == nullptr) return {};
  Members members = TRY(Members::of(*format, "output_config.format", in.left_out()));
  TRY(members.accept_only("type", {"json_schema"}));
  const Json* schema = members.find("schema");
  TRY(members.finish());
  if (schema == nullptr || !schema->is_object()) {
    return members.bad("schema", "must be a JSON schema, an object");
  }
  out.schema = schema->str();
  out.schema_member = "output_config.format.schema";
  return {};
}

// Whether the model is to think, whether thoughts come as blocks, and how many tokens they may have.
inline Result<void> read_thinking(Members& in, TemplateVariables& variables, MessagesRequest& out) {
  if (in.find("thinking") == nullptr) return {};
  Members thinking = TRY(in.object("thinking"));
  const std::string type = TRY(thinking.text("type"));
  if (type.empty()) return thinking.bad("type", "give one, such as \"adaptive\"");
  const std::uint64_t most = TRY(thinking.whole("budget_tokens", 0, {1, kLargestWhole}));
  out.hides_thoughts = TRY(thinking.text("display")) == "omitted";
  TRY(thinking.finish());
  variables.set_thinking(type != "disabled");
  if (type == "disabled") return {};
  out.shows_thoughts = true;
  out.prompt.separates_thoughts = true;
  if (most > 0) out.prompt.thought_count_max = most;
  return {};
}

// How tokens are drawn. "seed" is of this server alone; "top_k" and the others of the interface.
inline Result<void> read_drawing(Members& in, const Model& model, GenerateOptions& out) {
  out.temperature = TRY(in.number("temperature", 1.0, {0, 1}));
  out.top_p = TRY(in.number("top_p", 1.0, {0, 1}));
  out.top_k =
      static_cast<std::uint32_t>(TRY(in.whole("top_k", 0, {0, model.info().vocabulary_size})));
  out.seed = TRY(read_seed(in));
  out.stop = TRY(in.texts("stop_sequences", kStopCountMax));
  return {};
}

// `counts_only`: to /v1/messages/count_tokens, which has no member that says how to draw.
inline Result<MessagesRequest> read_request(const Json& body, bool counts_only, LeftOut& left_out) {
  Members in(body, left_out);
  MessagesRequest out;
  out.prompt.model = TRY(read_model(in));
  TRY(read_messages(in, out.prompt));
  TRY(read_tools(in, out.prompt));
  TemplateVariables variables = TRY(TemplateVariables::read(in));
  TRY(read_output_config(in, variables, out.prompt));
  TRY(read_thinking(in, variables, out));
  out.prompt.template_variables = variables.json();
  TRY(check_cache_control(in));
  TRY(in.accept_texts({"speed"}));
  in.leave_out({"context_management", "mcp_servers", "container", "diagnostics", "betas"});
  // The form, the end or the length of the answer; where it is computed.
  TRY(
      in.refuse("output_format response_format stop max_completion_tokens max_output_tokens "
                "max_tokens_to_sample prompt input inference_geo"));
  if (!counts_only) {
    if (in.find("max_tokens") == nullptr) {
      return in.bad("max_tokens", "give the maximum number of tokens of the answer");
    }
    out.token_count_max = TRY(in.whole("max_tokens", 0, {0, kLargestWhole}));
    TRY(read_drawing(in, out.prompt.model, out.generate));
    out.streams = TRY(in.flag("stream"));
    if (TRY(in.flag("return_progress"))) in.leave_out({"return_progress"});
    TRY(in.accept_objects({"metadata"}));
    TRY(in.accept_texts({"service_tier"}));
  }
  TRY(in.finish());
  return out;
}

}  // namespace endpoints::anthropic
