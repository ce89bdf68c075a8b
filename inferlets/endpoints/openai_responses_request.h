#pragma once
// A request to POST /v1/responses, read and checked.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chat_turn.h"
#include "openai.h"
#include "openai_responses_items.h"
#include "openai_tools.h"

namespace endpoints::openai {

struct ResponsesRequest {
  ChatPrompt prompt;
  GenerateOptions generate;
  std::vector<std::string> items;                // The conversation up to here, as JSON objects.
  std::optional<std::uint64_t> token_count_max;  // None: as many as there is room for.
  bool has_logprobs = false;
  bool is_stream = false;
  bool is_background = false;
  std::optional<bool> store;  // None: if the server can.
  std::string echo;           // What a response repeats of its request: JSON without braces.
};

// The conversation that an earlier response leaves to its successor: two arrays of items.
struct EarlierConversation {
  Json input;
  Json output;
};

// Items of stored responses, by the ids that the items of a request refer to.
using ReferencedItems = std::vector<std::pair<std::string, Json>>;

// {"type": "item_reference", "id"}; the type may be left out.
inline bool is_reference(const Json& item) {
  const std::string_view type = item.text("type");
  if (!type.empty()) return type == "item_reference";
  return item["id"].is_text() && item["role"].is_null() && item["content"].is_null();
}

// ---- the conversation ---------------------------------------------------------------------------

inline Result<Conversation> read_conversation(Members& in, const EarlierConversation& earlier,
                                              const ReferencedItems& referenced,
                                              std::uint64_t id_seed) {
  Conversation conversation(id_seed, in.left_out());
  const std::string instructions = TRY(in.text("instructions"));
  if (!instructions.empty()) conversation.instruct(instructions);
  for (const Json& each : earlier.input.items()) {
    TRY(conversation.add(each, "previous_response_id"));
  }
  for (const Json& each : earlier.output.items()) {
    TRY(conversation.add(each, "previous_response_id"));
  }
  const Json* input = in.find("input");
  if (input == nullptr) return in.bad("input", "give a text, or the items of a conversation");
  if (input->is_text()) {
    const Json item = TRY(Json::parse(R"({"role":"user","content":)" + input->str() + "}"));
    TRY(conversation.add(item, "input"));
    return conversation;
  }
  if (!input->is_array() || input->items().empty()) {
    return in.bad("input", "must be a string, or an array of at least one item");
  }
  std::size_t index = 0;
  for (const Json& item : input->items()) {
    const std::string path = "input[" + std::to_string(index++) + "]";
    if (!is_reference(item)) {
      TRY(conversation.add(item, path));
      continue;
    }
    const auto found =
        std::ranges::find(referenced, item.text("id"), &ReferencedItems::value_type::first);
    if (found == referenced.end()) {
      return wrong(path + ".id",
                   "there is no item " + json_string(item.text("id")) +
                       " in the responses that are stored; it may have expired",
                   ErrorCode::NotFound);
    }
    TRY(conversation.add(found->second, path));
  }
  return conversation;
}

// ---- tools --------------------------------------------------------------------------------------

inline Result<OfferedTool> read_function_tool(const Json& given, const std::string& path,
                                              LeftOut& left_out) {
  constexpr std::size_t kNameBytesMax = 128;
  Members in = TRY(Members::of(given, path, left_out));
  in.accept({"type", "defer_loading"});  // All functions are offered from the beginning.
  OfferedTool tool{.name = TRY(in.text("name")),
                   .description = TRY(in.text("description")),
                   .schema = arguments_schema(Json()),
                   .is_strict = TRY(in.flag("strict"))};
  if (const Json* schema = in.find("parameters"); schema != nullptr) {
    if (!schema->is_object()) return in.bad("parameters", "must be a JSON schema, an object");
    tool.schema = arguments_schema(*schema);
  }
  TRY(in.finish());
  TRY(check_tool_name(tool.name, path + ".name", kNameBytesMax));
  return tool;
}

// The name in {"type": "function", "name"}.
inline Result<std::string> read_chosen_name(Members in) {
  const std::string type = TRY(in.text("type"));
  if (type != "function") return in.bad("type", "must be \"function\"");
  const std::string name = TRY(in.text("name"));
  if (name.empty()) return in.bad("name", "give the name of a tool");
  const std::string name_space = TRY(in.text("namespace"));
  TRY(in.finish());
  return name_space.empty() ? name : name_space + std::string(kNamespaceMark) + name;
}

// The names in {"type": "allowed_tools", "mode", "tools": [{"type": "function", "name"}]}.
inline Result<std::vector<std::string>> read_allowed_names(Members in, ToolChoice& choice) {
  in.accept({"type"});
  const std::string mode = TRY(in.text("mode"));
  if (mode != "auto" && mode != "required") return in.bad("mode", "must be auto or required");
  choice = mode == "auto" ? ToolChoice::Auto : ToolChoice::Required;
  std::vector<std::string> names;
  std::size_t index = 0;
  for (const Json& each : TRY(in.list("tools"))) {
    const std::string path = "tool_choice.tools[" + std::to_string(index++) + "]";
    if (each.text("type") != "function") continue;  // It is not offered anyway.
    Members tool = TRY(Members::of(each, path, in.left_out()));
    names.push_back(TRY(read_chosen_name(std::move(tool))));
  }
  TRY(in.finish());
  return names;
}

// "none", "auto", "required", or an object: a function, or allowed tools.
inline Result<void> read_tool_choice(Members& in, ChatPrompt& out) {
  const Json* choice = TRY(read_tool_choice_word(in, out));
  if (choice == nullptr) return {};
  std::vector<std::string> names;
  const std::string_view type = choice->text("type");
  if (type == "function") {
    Members chosen = TRY(in.object("tool_choice"));
    names = {TRY(read_chosen_name(std::move(chosen)))};
  }
  if (type == "allowed_tools") {
    Members allowed = TRY(in.object("tool_choice"));
    names = TRY(read_allowed_names(std::move(allowed), out.tool_choice));
  }
  std::erase_if(out.tools, [&](const OfferedTool& each) {
    return std::ranges::find(names, each.name) == names.end();
  });
  if (!out.tools.empty()) return {};
  return in.bad("tool_choice",
                "must be \"none\", \"auto\", \"required\", {\"type\": \"function\", \"name\": one "
                "of the tools}, or {\"type\": \"allowed_tools\", \"mode\", \"tools\"}");
}

inline Result<void> read_function_tools(Members& in, ChatPrompt& out) {
  TRY(read_tool_list(in, out, read_function_tool));
  return read_tool_choice(in, out);
}

// ---- the form of the answer ---------------------------------------------------------------------

// The schema of the answer; empty: any text.
inline Result<std::string> read_text(Members& in) {
  const Json* given = in.find("text");
  if (given == nullptr) return std::string();
  Members text = TRY(Members::of(*given, "text", in.left_out()));
  const Json* found = text.find("format");
  TRY(text.accept_texts({"verbosity"}));
  TRY(text.finish());
  if (found == nullptr) return std::string();
  Members format = TRY(Members::of(*found, "text.format", in.left_out()));
  const std::string type = TRY(format.text("type"));
  if (type != "text" && type != "json_object" && type != "json_schema") {
    return format.bad("type", "must be text, json_object or json_schema");
  }
  std::string schema = type == "json_object" ? R"({"type":"object"})" : "";
  if (type == "json_schema") schema = TRY(read_answer_schema(format));
  TRY(format.finish());
  return schema;
}

// The interface lets a request ask for more than the answer has by itself.
inline Result<void> read_include(Members& in, ResponsesRequest& out) {
  for (const Json& each : TRY(in.list("include"))) {
    if (!each.is_text()) return in.bad("include", "must be an array of strings");
    // The other values are about items that no answer of this server has.
    if (each.text() == "message.output_text.logprobs") out.has_logprobs = true;
  }
  out.generate.top_logprobs = static_cast<std::uint32_t>(TRY(in.whole("top_logprobs", 0, {0, 20})));
  if (out.generate.top_logprobs > 0 && !out.has_logprobs) {
    return in.bad("top_logprobs", "needs \"include\": [\"message.output_text.logprobs\"]");
  }
  const bool may_write_twice =
      !out.prompt.schema.empty() && out.prompt.tool_choice == ToolChoice::Auto;
  if (out.has_logprobs && may_write_twice) {
    return in.bad("include", "logprobs are not supported with both tools and text.format",
                  ErrorCode::NotSupported);
  }
  return {};
}

// ---- what a response repeats --------------------------------------------------------------------

inline std::size_t character_count(std::string_view text) {
  const auto begins = [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text, begins));
}

// Up to 16 pairs of texts, which come back with the response.
inline Result<void> read_metadata(Members& in, JsonWriter& json) {
  constexpr std::size_t kCountMax = 16;
  constexpr std::size_t kKeyCharactersMax = 64;
  constexpr std::size_t kTextCharactersMax = 512;
  const Json* given = in.find("metadata");
  json.key("metadata");
  if (given == nullptr) {
    json.begin_object().end_object();
    return {};
  }
  if (!given->is_object() || given->members().size() > kCountMax) {
    return in.bad("metadata", "must be an object of at most 16 strings");
  }
  for (const auto& [key, value] : given->members()) {
    const bool fits = character_count(key) <= kKeyCharactersMax && value.is_text() &&
                      character_count(value.text()) <= kTextCharactersMax;
    if (!fits) {
      return in.bad("metadata",
                    "keys have at most 64 characters, and values are strings of at "
                    "most 512");
    }
  }
  json.raw(given->str());
  return {};
}

inline Result<std::string> read_echo(const Json& body, Members& in, const ResponsesRequest& out) {
  const auto as_given = [&](JsonWriter& json, const char* name, std::string_view otherwise) {
    const Json found = body[name];
    json.key(name).raw(found.is_null() ? std::string(otherwise) : found.str());
  };
  JsonWriter json;
  json.begin_object();
  TRY(read_metadata(in, json));
  for (const char* name :
       {"instructions", "max_output_tokens", "max_tool_calls", "previous_response_id",
        "prompt_cache_key", "safety_identifier", "user"}) {
    as_given(json, name, "null");
  }
  as_given(json, "temperature", "1");
  as_given(json, "top_p", "1");
  as_given(json, "top_logprobs", "0");
  as_given(json, "tools", "[]");
  as_given(json, "tool_choice", "\"auto\"");
  json.key("text").begin_object().key("format");
  json.raw(body["text"]["format"].is_null() ? R"({"type":"text"})" : body["text"]["format"].str());
  json.end_object().key("reasoning").begin_object().key("effort");
  json.raw(body["reasoning"]["effort"].str()).key("summary").null().end_object();
  json.key("parallel_tool_calls").boolean(out.prompt.parallel_tool_calls);
  json.key("background").boolean(out.is_background).key("truncation").text("disabled");
  json.key("service_tier").text("default");
  const std::string text = json.end_object().str();
  return text.substr(1, text.size() - 2);
}

// ---- the whole request --------------------------------------------------------------------------

inline Result<void> accept_members(Members& in) {
  in.accept({"previous_response_id"});  // Which was read before the others.
  TRY(in.accept_texts({"user", "safety_identifier", "service_tier"}));
  TRY(in.accept_objects({"background_options", "stream_options"}));
  TRY(in.whole("max_tool_calls", 0, {0, kLargestWhole}));
  TRY(in.accept_only("truncation", {"disabled", "auto"}));
  in.leave_out({"context_management", "moderation", "image", "access_programs"});
  if (TRY(in.flag("return_progress"))) in.leave_out({"return_progress"});
  TRY(
      in.refuse("conversation prompt messages max_tokens max_completion_tokens "
                "response_format"));
  return refuse_of_others(in);
}

inline Result<void> read_members(Members& in, const Json& body, const EarlierConversation& earlier,
                                 const ReferencedItems& referenced, std::uint64_t id_seed,
                                 ResponsesRequest& out) {
  out.prompt.model = TRY(read_model(in));
  Conversation conversation = TRY(read_conversation(in, earlier, referenced, id_seed));
  out.prompt.messages = conversation.messages();
  out.prompt.messages_member = "input";
  out.items = conversation.items();
  out.generate = TRY(read_drawing(in, out.prompt.model));
  TRY(read_function_tools(in, out.prompt));
  out.prompt.schema = TRY(read_text(in));
  out.prompt.schema_member = "text.format";
  const std::uint64_t most = TRY(in.whole("max_output_tokens", 0, {1, kLargestWhole}));
  if (most != 0) out.token_count_max = most;
  TRY(read_include(in, out));
  out.is_stream = TRY(in.flag("stream"));
  out.is_background = TRY(in.flag("background"));
  if (in.find("store") != nullptr) out.store = TRY(in.flag("store"));
  if (out.is_background && out.store == false) {
    return in.bad("background", "needs the response to be stored: leave out \"store\": false");
  }
  out.prompt.keep = TRY(read_keep(in));
  out.prompt.template_variables = TRY(read_variables(in, read_effort(in)));
  TRY(accept_members(in));
  out.echo = TRY(read_echo(body, in, out));
  return in.finish();
}

inline Result<ResponsesRequest> read_responses_request(const Json& body,
                                                       const EarlierConversation& earlier,
                                                       const ReferencedItems& referenced,
                                                       std::uint64_t id_seed, LeftOut& left_out) {
  Members in(body, left_out);
  ResponsesRequest out;
  TRY(read_members(in, body, earlier, referenced, id_seed, out));
  return out;
}

}  // namespace endpoints::openai
