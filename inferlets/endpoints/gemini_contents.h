#pragma once
// The contents of a request of the Gemini interface as turns of a chat template. Text is content,
// a functionCall a call of the assistant's turn, and a functionResponse a turn of the role "tool".
//
// Errors   those of a request, which name the content and the part: "contents[2].parts[0]".
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_prompt.h"
#include "gemini.h"

namespace endpoints::gemini {

class ContentsReader {
 public:
  explicit ContentsReader(LeftOut& left_out) : left_out_(left_out) { model_calls_.begin_array(); }

  // "systemInstruction", of which no turn is the model's.
  Result<void> read_system(const Json& given, const std::string& path) {
    Members in = TRY(members_at(given, path, left_out_));
    TRY(in.accept_texts({"role"}));
    Turn turn;
    TRY(read_parts(in, path, turn));
    out_.push_back({"system", std::move(turn.text), ""});
    return {};
  }

  Result<void> read(const Json& given, const std::string& path) {
    Members in = TRY(members_at(given, path, left_out_));
    const std::string role = TRY(in.text("role", "user"));
    if (role != "user" && role != "model" && role != "function") {
      return in.bad("role", json_string(role) + " is not one of user, model and function");
    }
    Turn turn{.is_model = role == "model", .may_call = true};
    if (!turn.is_model) end_model_turn();
    TRY(read_parts(in, path, turn));
    if (turn.is_model) {
      model_text_ += turn.text;
    } else if (turn.has_text) {
      add_user_text(std::move(turn.text));
    }
    return {};
  }

  // All turns. A last one of the model without calls is the beginning of its answer.
  void take(ChatPrompt& out) {
    if (!has_model_calls_) out.answer_begin = std::exchange(model_text_, "");
    end_model_turn();
    out.messages = std::move(out_);
  }

 private:
  struct Turn {
    bool is_model = false;
    bool may_call = false;  // Calls, and results of calls, may stand in it.
    std::string text = {};
    bool has_text = false;
  };
  struct Call {
    std::string id;  // As the client wrote it; empty: it has none.
    std::string name;
    std::string written_id;  // For the template.
    bool is_answered = false;
  };

  static constexpr std::string_view kKinds[] = {
      "text",           "functionCall",        "functionResponse", "inlineData",  "fileData",
      "executableCode", "codeExecutionResult", "toolCall",         "toolResponse"};

  Result<void> read_parts(Members& in, const std::string& path, Turn& turn) {
    const Json::Items parts = TRY(in.list("parts"));
    TRY(in.finish());
    if (parts.empty()) return in.bad("parts", "give at least one part, such as {\"text\": \"Hi\"}");
    std::size_t index = 0;
    for (const Json& each : parts) {
      TRY(read_part(each, at_index(path + ".parts", index++), turn));
    }
    return {};
  }

  Result<void> read_part(const Json& given, const std::string& path, Turn& turn) {
    Members in = TRY(members_at(given, path, left_out_));
    const bool is_thought = TRY(in.flag("thought"));
    TRY(in.accept_texts({"thoughtSignature"}));
    TRY(in.accept_objects({"partMetadata"}));
    std::string_view kind;
    const Json* value = nullptr;
    for (const std::string_view each : kKinds) {
      const Json* found = in.find(each);
      if (found == nullptr) continue;
      if (value != nullptr) {
        return wrong(path, "has both " + std::string(kind) + " and " + std::string(each) +
                               ": give each a part of its own");
      }
      kind = each;
      value = found;
    }
    TRY(in.finish());
    if (is_thought) return {};  // Models do not read the thoughts of earlier turns.
    if (value == nullptr) {
      if (in.find("thoughtSignature") != nullptr) return {};
      return wrong(path,
                   "give text, functionCall or functionResponse; the model reads no other part");
    }
    return read_kind(in, kind, *value, turn);
  }

  Result<void> read_kind(Members& in, std::string_view kind, const Json& value, Turn& turn) {
    if (kind == "text") {
      if (!value.is_text()) return in.bad("text", "must be a string");
      add_text_of(turn, value.text());
      return {};
    }
    if (kind == "inlineData" || kind == "fileData") {
      return in.bad(kind, "is not supported; the model reads text", ErrorCode::NotSupported);
    }
    if (!value.is_object()) return in.bad(kind, "must be an object");
    if (kind == "functionCall" || kind == "functionResponse") {
      if (!turn.may_call || turn.is_model != (kind == "functionCall")) {
        return in.bad(kind, std::string("belongs to a content of the role ") +
                                (kind == "functionCall" ? "model" : "user"));
      }
      return kind == "functionCall" ? read_call(value, in.path_of(kind))
                                    : read_response(value, in.path_of(kind));
    }
    // A tool of another server ran; the model reads it as text.
    add_text_of(turn, call_as_text(kind, value.str()));
    return {};
  }

  // A client that kept a stream sends each chunk of the model's text as a part: they are one text.
  static void add_text_of(Turn& turn, std::string_view more) {
    if (turn.has_text && !turn.is_model) turn.text += '\n';
    turn.text += more;
    turn.has_text = true;
  }

  Result<void> read_call(const Json& given, const std::string& path) {
    Members in = TRY(members_at(given, path, left_out_));
    Call call{.id = TRY(in.text("id")), .name = TRY(in.text("name")), .written_id = {}};
    const Json* args = in.find("args");
    in.accept({"willContinue"});
    TRY(in.finish());
    if (call.name.empty()) return in.bad("name", "give the name of the function");
    if (args != nullptr && !args->is_object()) return in.bad("args", "must be an object");
    constexpr std::size_t kIdBytes = 9;  // As some templates want it.
    call.written_id = call.id.empty() ? id_text(calls_.size(), kIdBytes) : call.id;
    write_earlier_call(model_calls_, call.written_id, call.name,
                       args == nullptr ? "{}" : args->str());
    has_model_calls_ = true;
    calls_.push_back(std::move(call));
    return {};
  }

  Result<void> read_response(const Json& given, const std::string& path) {
    Members in = TRY(members_at(given, path, left_out_));
    const std::string id = TRY(in.text("id"));
    const std::string name = TRY(in.text("name"));
    const Json* response = in.find("response");
    in.accept({"willContinue", "scheduling"});
    if (!TRY(in.list("parts")).empty()) {
      return in.bad("parts", "are not supported; the model reads text", ErrorCode::NotSupported);
    }
    TRY(in.finish());
    if (name.empty()) return in.bad("name", "give the name of the function");
    if (response == nullptr || !response->is_object()) {
      return in.bad("response", "must be an object, such as {\"output\": \"a text\"}");
    }
    Call* call = answered_by(id, name);
    if (call == nullptr) {
      return wrong(path, "answers no functionCall of an earlier content: none with the " +
                             (id.empty() ? "name " + json_string(name) : "id " + json_string(id)) +
                             " waits for a response");
    }
    call->is_answered = true;
    out_.push_back(
        {"tool", result_text(*response),
         "\"tool_call_id\":" + json_string(call->written_id) + ",\"name\":" + json_string(name)});
    return {};
  }

  // The first call that waits for this response: by its id if both have one, else by its name.
  Call* answered_by(const std::string& id, const std::string& name) {
    for (Call& each : calls_) {
      const bool is_same = id.empty() || each.id.empty() ? each.name == name : each.id == id;
      if (is_same && !each.is_answered) return &each;
    }
    return nullptr;
  }

  // The interface's members of a result: "output" or "error". Another result is read as it is.
  static std::string result_text(const Json& response) {
    const auto plain = [](const Json& value) {
      return value.is_text() ? std::string(value.text()) : value.str();
    };
    if (response.members().size() != 1) return response.str();
    if (response.has("output")) return plain(response["output"]);
    if (response.has("error")) return "error: " + plain(response["error"]);
    return response.str();
  }

  // Contents of the user that follow each other are one turn.
  void add_user_text(std::string text) {
    const bool joins = !out_.empty() && out_.back().role == "user";
    if (joins) {
      out_.back().content += "\n" + text;
    } else {
      out_.push_back({"user", std::move(text), ""});
    }
  }

  // Contents of the model that follow each other are one turn: a client may keep each chunk of a
  // stream.
  void end_model_turn() {
    if (!has_model_calls_ && model_text_.empty()) return;
    ChatMessage message{"assistant", std::exchange(model_text_, ""), ""};
    if (std::exchange(has_model_calls_, false)) {
      message.more = tool_calls_member(model_calls_.end_array());
      model_calls_ = JsonWriter();
      model_calls_.begin_array();
    }
    out_.push_back(std::move(message));
  }

  LeftOut& left_out_;
  std::vector<ChatMessage> out_;
  std::vector<Call> calls_;
  std::string model_text_;  // Of the turn of the model that is not in out_ yet,
  JsonWriter model_calls_;  // and its calls.
  bool has_model_calls_ = false;
};

}  // namespace endpoints::gemini
