#pragma once
// A response of /v1/responses as it comes: its output items, and the events that report each step.
//
// The same code writes a response that is streamed and one that is not: without an EventOutput the
// events are left out.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_turn.h"
#include "openai_logprobs.h"

namespace endpoints::openai {

class EventOutput {
 public:
  EventOutput() = default;
  EventOutput(const EventOutput&) = delete;
  EventOutput& operator=(const EventOutput&) = delete;
  virtual ~EventOutput() = default;
  // `json` has the members "type" and "sequence_number", which counts from 0.
  virtual Task<> event(std::string type, std::string json) = 0;
};

// The members that all states of one response have in common.
struct ResponseHead {
  std::string id;
  std::int64_t created = 0;
  std::string model;
  std::string echo;  // Members of the request: JSON without braces.
  bool is_stored = false;
};

// The members of a response other than its head and its output.
struct ResponseState {
  std::string status;
  std::optional<Usage> usage = {};
  std::size_t reasoning_count = 0;  // Tokens.
  bool is_cut = false;              // By the number of tokens that it may have.
  std::optional<Error> error = {};
  std::int64_t completed = 0;  // Seconds since 1970; 0: not completed.
};

inline void write_usage(JsonWriter& json, const Usage& usage, std::size_t reasoning_count) {
  json.begin_object().key("input_tokens").number(usage.prompt_count);
  json.key("input_tokens_details").begin_object();
  json.key("cached_tokens").number(usage.cached_count);
  json.key("cache_write_tokens").number(usage.prompt_count - usage.cached_count).end_object();
  json.key("output_tokens").number(usage.answer_count);
  json.key("output_tokens_details").begin_object();
  json.key("reasoning_tokens").number(reasoning_count).end_object();
  json.key("total_tokens").number(usage.prompt_count + usage.answer_count);
  write_cache_members(json, usage);
  json.end_object();
}

inline std::string response_json(const ResponseHead& head, const ResponseState& state,
                                 const std::vector<std::string>& output) {
  JsonWriter json;
  json.begin_object().key("id").text(head.id).key("object").text("response");
  json.key("created_at").number(head.created).key("status").text(state.status);
  json.key("model").text(head.model).key("output").begin_array();
  for (const std::string& each : output) json.raw(each);
  json.end_array().key("error");
  if (!state.error) json.null();
  if (state.error) {
    json.begin_object().key("code").text(open_ai_code_of(*state.error));
    json.key("message").text(state.error->message).end_object();
  }
  json.key("incomplete_details");
  state.is_cut ? json.raw(R"({"reason":"max_output_tokens"})") : json.null();
  json.key("completed_at");
  state.completed != 0 ? json.number(state.completed) : json.null();
  json.key("usage");
  state.usage ? write_usage(json, *state.usage, state.reasoning_count) : (void)json.null();
  json.key("store").boolean(head.is_stored);
  std::string text = json.end_object().str();
  text.pop_back();
  return text + "," + head.echo + "}";
}

class ResponseOutput : public AnswerSink {
 public:
  ResponseOutput(Model model, ResponseHead head, EventOutput* events)
      : model_(std::move(model)), head_(std::move(head)), events_(events) {}

  const std::vector<std::string>& items() const { return items_; }  // Those that are done, JSON.
  std::string response(const ResponseState& state) const {
    return response_json(head_, state, items_);
  }

  // An event that has the response as it is in `state`.
  Task<> report(std::string type, ResponseState state) {
    JsonWriter json = begun_event(type);
    json.key("response").raw(response(state));
    co_await send(std::move(type), std::move(json));
  }

  // Reports that the response has begun, if no event was reported yet. Several tasks may do so.
  Task<> begin(const Usage&) override {
    const Turn::Hold hold = co_await beginning_.take();
    if (sequence_number_ > 0) co_return;
    co_await report("response.created", {.status = "in_progress"});
    co_await report("response.in_progress", {.status = "in_progress"});
  }
  Task<> text(std::string more, const Piece* token) override {
    std::string logprobs;
    if (token != nullptr) logprobs = co_await logprobs_of(model_, *token);
    if (more.empty() && logprobs.empty()) co_return;
    if (!open_ || open_->kind != Kind::Message) co_await open_text(Kind::Message);
    open_->text += more;
    open_->logprobs += (open_->logprobs.empty() || logprobs.empty() ? "" : ",") + logprobs;
    JsonWriter json = place_of("response.output_text.delta");
    json.key("content_index").number(0).key("delta").text(more);
    json.key("logprobs").raw("[" + logprobs + "]");
    co_await send("response.output_text.delta", std::move(json));
  }
  Task<> reasoning(std::string more) override {
    if (!open_ || open_->kind != Kind::Reasoning) co_await open_text(Kind::Reasoning);
    open_->text += more;
    JsonWriter json = place_of("response.reasoning_text.delta");
    json.key("content_index").number(0).key("delta").text(more);
    co_await send("response.reasoning_text.delta", std::move(json));
  }
  Task<> begin_call(std::size_t, AnswerCall call) override {
    co_await open_item(Item{.kind = Kind::Call, .id = item_id("fc_"), .call = std::move(call)});
  }
  Task<> arguments(std::size_t, std::string more) override {
    if (more.empty()) co_return;
    open_->text += more;
    JsonWriter json = place_of("response.function_call_arguments.delta");
    json.key("delta").text(more);
    co_await send("response.function_call_arguments.delta", std::move(json));
  }
  // Ends the last item. A response without any gets an empty message.
  Task<> end(bool is_whole) {
    if (!open_ && items_.empty()) co_await open_text(Kind::Message);
    co_await close_item(is_whole ? "completed" : "incomplete");
  }

 private:
  enum class Kind : std::uint8_t { Message, Reasoning, Call };
  struct Item {
    Kind kind = Kind::Message;
    std::string id;
    std::string text = {};  // Or the arguments of a call.
    std::string logprobs = {};
    AnswerCall call = {};
  };

  std::string item_id(const char* prefix) const {
    const std::size_t number = items_.size() + (open_ ? 1 : 0);
    return prefix + std::to_string(number) + head_.id.substr(head_.id.find('_') + 1);
  }

  // ---- items as JSON ----------------------------------------------------------------------------

  static void write_part(JsonWriter& json, const Item& item) {
    json.begin_object();
    if (item.kind == Kind::Message) {
      json.key("type").text("output_text").key("annotations").begin_array().end_array();
      json.key("logprobs").raw("[" + item.logprobs + "]");
    } else {
      json.key("type").text("reasoning_text");
    }
    json.key("text").text(item.text).end_object();
  }
  static std::string item_json(const Item& item, const char* status) {
    JsonWriter json;
    json.begin_object().key("id").text(item.id);
    const bool has_content = std::string_view(status) != "in_progress";
    if (item.kind == Kind::Call) {
      json.key("type").text("function_call").key("call_id").text(item.call.id);
      const std::size_t bytes = item.call.namespace_bytes;
      const std::string_view name = item.call.name;
      json.key("name").text(bytes == 0 ? name : name.substr(bytes + kNamespaceMark.size()));
      if (bytes > 0) json.key("namespace").text(name.substr(0, bytes));
      json.key("arguments").text(item.text);
    } else {
      const bool is_message = item.kind == Kind::Message;
      json.key("type").text(is_message ? "message" : "reasoning");
      is_message ? json.key("role").text("assistant") : json.key("summary").raw("[]");
      json.key("content").begin_array();
      if (has_content) write_part(json, item);
      json.end_array();
    }
    return json.key("status").text(status).end_object().str();
  }

  // ---- events -----------------------------------------------------------------------------------

  JsonWriter begun_event(const std::string& type) {
    JsonWriter json;
    json.begin_object().key("type").text(type).key("sequence_number").number(sequence_number_++);
    return json;
  }
  // An event of the open item.
  JsonWriter place_of(const std::string& type) {
    JsonWriter json = begun_event(type);
    json.key("item_id").text(open_->id).key("output_index").number(items_.size());
    return json;
  }
  Task<> send(std::string type, JsonWriter json) {
    if (events_ != nullptr) co_await events_->event(std::move(type), json.end_object().str());
  }
  Task<> report_item(const char* type, const char* status) {
    JsonWriter json = begun_event(type);
    json.key("output_index").number(items_.size()).key("item").raw(item_json(*open_, status));
    co_await send(type, std::move(json));
  }
  Task<> report_part(const char* type) {
    JsonWriter json = place_of(type);
    json.key("content_index").number(0).key("part");
    write_part(json, *open_);
    co_await send(type, std::move(json));
  }

  Task<> open_item(Item item) {
    co_await close_item("completed");
    open_ = std::move(item);
    co_await report_item("response.output_item.added", "in_progress");
  }
  Task<> open_text(Kind kind) {
    co_await open_item(Item{.kind = kind, .id = item_id(kind == Kind::Message ? "msg_" : "rs_")});
    co_await report_part("response.content_part.added");
  }
  Task<> close_item(const char* status) {
    if (!open_) co_return;
    if (open_->kind == Kind::Call) {
      JsonWriter json = place_of("response.function_call_arguments.done");
      json.key("name").text(open_->call.name).key("arguments").text(open_->text);
      co_await send("response.function_call_arguments.done", std::move(json));
    } else {
      const char* type = open_->kind == Kind::Message ? "response.output_text.done"
                                                      : "response.reasoning_text.done";
      JsonWriter json = place_of(type);
      json.key("content_index").number(0).key("text").text(open_->text);
      if (open_->kind == Kind::Message) json.key("logprobs").raw("[" + open_->logprobs + "]");
      co_await send(type, std::move(json));
      co_await report_part("response.content_part.done");
    }
    co_await report_item("response.output_item.done", status);
    items_.push_back(item_json(*open_, status));
    open_.reset();
  }

  Model model_;
  ResponseHead head_;
  EventOutput* events_;
  std::vector<std::string> items_;
  std::optional<Item> open_;
  std::uint64_t sequence_number_ = 0;
  Turn beginning_;
};

}  // namespace endpoints::openai
