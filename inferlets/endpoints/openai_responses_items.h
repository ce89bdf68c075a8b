#pragma once
// The items of a conversation of /v1/responses: read, checked, and written as the server keeps them.
//
// Several items make one turn of a chat template: what the model thought, said and called in one
// answer comes back as a reasoning item, a message and calls.
//
// Errors   those of a request, which name the item.
#include <string>
#include <utility>
#include <vector>

#include "answer_sink.h"
#include "members.h"
#include "offered_tools.h"

namespace endpoints::openai {

class Conversation {
 public:
  // `id_seed` makes the ids of items that have none.
  Conversation(std::uint64_t id_seed, LeftOut& left_out)
      : id_seed_(id_seed), left_out_(&left_out) {}

  void instruct(std::string text) { messages_.push_back({"system", std::move(text), ""}); }
  // `path` names the item in an error.
  Result<void> add(const Json& item, const std::string& path) {
    Members in = TRY(Members::of(item, path, *left_out_));
    const std::string type = TRY(in.text("type", "message"));
    const std::string id = TRY(in.text("id"));
    in.accept({"status"});
    JsonWriter json;
    json.begin_object().key("id").text(id.empty() ? made_id(type) : id).key("type").text(type);
    if (type == "message") {
      TRY(add_message(in, path, json));
    } else if (type == "function_call") {
      TRY(add_call(in, json));
    } else if (type == "function_call_output") {
      TRY(add_result(in, path, json));
    } else if (type == "reasoning") {
      TRY(add_reasoning(in, path, json));
    } else if (is_call_of_others(type)) {
      add_as_text(item, type, json);
      items_.push_back(json.end_object().str());
      return {};
    } else {
      return in.bad("type", "items of type " + json_string(type) + " are not supported",
                    ErrorCode::NotSupported);
    }
    items_.push_back(json.end_object().str());
    return in.finish();
  }

  std::vector<ChatMessage> messages() {
    end_answer();
    return messages_;
  }
  // As JSON objects, each with an id.
  const std::vector<std::string>& items() const { return items_; }

 private:
  // The text of the model in one turn, until a further item shows that the turn is whole.
  struct AnswerTurn {
    std::string text;
    std::string reasoning;
    JsonWriter calls;
    bool has_text = false;
    bool has_calls = false;
  };

  std::string made_id(const std::string& type) {
    const char* prefix = type == "message"                ? "msg_"
                         : type == "function_call"        ? "fc_"
                         : type == "function_call_output" ? "fco_"
                                                          : "rs_";
    return prefix + id_text(id_seed_ + items_.size(), 24);
  }

  AnswerTurn& answer_turn() {
    if (!answer_) answer_.emplace();
    return *answer_;
  }
  void end_answer() {
    if (!answer_) return;
    std::string more;
    if (answer_->has_calls) more = tool_calls_member(answer_->calls.end_array());
    if (!answer_->reasoning.empty()) {
      more += (more.empty() ? "" : ",");
      more += "\"reasoning_content\":" + json_string(answer_->reasoning);
    }
    messages_.push_back({"assistant", std::move(answer_->text), std::move(more)});
    answer_.reset();
  }

  // The text of parts of one of the `types`, joined by line feeds.
  static Result<std::string> parts_text(const Json& content, const std::string& path,
                                        std::initializer_list<std::string_view> types) {
    if (content.is_text()) return std::string(content.text());
    if (!content.is_array()) return wrong(path, "must be a string or an array of parts");
    std::string text;
    std::size_t index = 0;
    for (const Json& part : content.items()) {
      if (index > 0) text += '\n';
      const std::string at = path + "[" + std::to_string(index++) + "]";
      const std::string_view type = part.text("type");
      if (type.empty()) return wrong(at, "must be an object with a type");
      if (std::ranges::find(types, type) == types.end()) {
        return wrong(
            at,
            "parts of type " + json_string(type) + " are not supported here; the model reads text",
            ErrorCode::NotSupported);
      }
      const char* member = type == "refusal" ? "refusal" : "text";
      if (!part[member].is_text()) return wrong(at + "." + member, "must be a string");
      text += part.text(member);
    }
    return text;
  }

  Result<void> add_message(Members& in, const std::string& path, JsonWriter& json) {
    const std::string role = TRY(in.text("role"));
    const bool is_answer = role == "assistant";
    if (role != "user" && role != "system" && role != "developer" && !is_answer) {
      return in.bad("role",
                    json_string(role) + " is not one of user, assistant, system and developer");
    }
    const Json* content = in.find("content");
    if (content == nullptr) return in.bad("content", "give the text of the message");
    in.accept({"phase"});
    std::string text = TRY(
        parts_text(*content, path + ".content", {"input_text", "output_text", "text", "refusal"}));
    json.key("role").text(role).key("status").text("completed").key("content").begin_array();
    json.begin_object().key("type").text(is_answer ? "output_text" : "input_text");
    if (is_answer) json.key("annotations").begin_array().end_array();
    json.key("text").text(text).end_object().end_array();
    if (!is_answer) {
      end_answer();
      messages_.push_back({role == "user" ? "user" : "system", std::move(text), ""});
      return {};
    }
    if (answer_ && answer_->has_calls) {  // Text after a call is of the same turn.
      add_text(answer_->text, part_begin(std::move(text)));
      answer_->has_text = true;
      return {};
    }
    if (answer_ && answer_->has_text) end_answer();
    answer_turn().text = std::move(text);
    answer_turn().has_text = true;
    return {};
  }

  // Calls of tools that this server does not offer, and their results. Those that hold an image are
  // none of these, because the model would not see it.
  static bool is_call_of_others(std::string_view type) {
    if (type.starts_with("image_") || type.starts_with("computer_")) return false;
    return type.ends_with("_call") || type.ends_with("_call_output") || type.starts_with("mcp_") ||
           type.starts_with("tool_search_");
  }
  // The model reads such an item as text: a call in the turn of the assistant, a result in one of the user.
  void add_as_text(const Json& item, const std::string& type, JsonWriter& json) {
    for (const auto& [name, value] : item.members()) {
      if (name != "id" && name != "type") json.key(name).raw(value.str());
    }
    const bool is_plain = item["name"].is_text() && item["input"].is_text();
    const std::string text = item["output"].is_text() ? std::string(item.text("output"))
                             : is_plain               ? std::string(item.text("input"))
                                                      : item.str();
    const std::string line =
        call_as_text(is_plain ? item.text("name") : std::string_view(type), text);
    if (type.ends_with("_output") || type == "mcp_approval_response") {
      end_answer();
      messages_.push_back({"user", line, ""});
      return;
    }
    add_text(answer_turn().text, line);
    answer_turn().has_text = true;
  }

  Result<void> add_call(Members& in, JsonWriter& json) {
    const std::string call_id = TRY(in.text("call_id"));
    const std::string own_name = TRY(in.text("name"));
    const std::string name_space = TRY(in.text("namespace"));
    const std::string name =
        name_space.empty() ? own_name : name_space + std::string(kNamespaceMark) + own_name;
    const std::string arguments = TRY(in.text("arguments"));
    if (call_id.empty()) return in.bad("call_id", "give the id of the call");
    if (name.empty()) return in.bad("name", "give the name of the tool");
    const Result<std::string> written = earlier_arguments(arguments);
    if (!written.ok()) return in.bad("arguments", written.error().message);
    json.key("call_id").text(call_id).key("name").text(own_name);
    if (!name_space.empty()) json.key("namespace").text(name_space);
    json.key("arguments").text(arguments).key("status").text("completed");
    AnswerTurn& turn = answer_turn();
    if (!turn.has_calls) turn.calls.begin_array();
    turn.has_calls = true;
    write_earlier_call(turn.calls, call_id, name, written.value());
    return {};
  }

  Result<void> add_result(Members& in, const std::string& path, JsonWriter& json) {
    const std::string call_id = TRY(in.text("call_id"));
    const Json* output = in.find("output");
    if (call_id.empty()) return in.bad("call_id", "give the id of the call");
    if (output == nullptr) return in.bad("output", "give the result of the call");
    std::string text = TRY(parts_text(*output, path + ".output", {"input_text", "text"}));
    json.key("call_id").text(call_id).key("output").text(text).key("status").text("completed");
    end_answer();
    messages_.push_back({"tool", std::move(text), "\"tool_call_id\":" + json_string(call_id)});
    return {};
  }

  Result<void> add_reasoning(Members& in, const std::string& path, JsonWriter& json) {
    in.accept({"summary", "encrypted_content"});
    const Json* content = in.find("content");
    std::string text;
    if (content != nullptr) {
      text = TRY(parts_text(*content, path + ".content", {"reasoning_text", "text"}));
    }
    json.key("summary").begin_array().end_array().key("content").begin_array();
    if (!text.empty()) {
      json.begin_object().key("type").text("reasoning_text").key("text").text(text).end_object();
    }
    json.end_array();
    if (text.empty()) return {};  // The model has nothing to read of it.
    if (answer_ && !answer_->reasoning.empty()) end_answer();
    answer_turn().reasoning = std::move(text);
    return {};
  }

  std::uint64_t id_seed_;
  LeftOut* left_out_;
  std::vector<ChatMessage> messages_;
  std::vector<std::string> items_;
  std::optional<AnswerTurn> answer_;
};

}  // namespace endpoints::openai
