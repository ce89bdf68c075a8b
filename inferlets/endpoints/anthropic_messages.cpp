// anthropic_messages: POST /v1/messages of the Anthropic interface.
//
//   quire serve --endpoint "POST /v1/messages=anthropic_messages.wasm"
#include "anthropic.h"

using namespace endpoints;
using namespace endpoints::anthropic;

namespace {

// The stop sequence that ended the answer: the first in its text.
Task<std::string> found_stop(Model model, std::vector<std::uint32_t> tokens,
                             std::vector<std::string> stops) {
  const std::string text = co_await model.detokenize(tokens, true);
  std::size_t first = std::string::npos;
  std::string found;
  for (const std::string& each : stops) {
    const std::size_t at = text.find(each);
    if (at >= first) continue;
    first = at;
    found = each;
  }
  co_return found;
}

// The members of a response other than its content.
class Head {
 public:
  static Result<Head> make(const Model& model) {
    return Head("msg_" + random_id(), TRY(model.name()));
  }

  void set_prompt(const Usage& prompt) { usage_ = prompt; }

  // Why the answer ended. It `is_cut` by the context if that left less room than was asked for.
  Task<> end(const ChatAnswer& answer, const MessagesRequest& request, bool is_cut) {
    usage_.answer_count = answer.tokens.size();
    if (!answer.calls.empty() && !answer.is_cut_in_call) {
      stop_reason_ = "tool_use";
    } else if (answer.finish_reason == FinishReason::Length) {
      stop_reason_ = is_cut ? "model_context_window_exceeded" : "max_tokens";
    } else if (answer.finish_reason == FinishReason::StopText) {
      stop_reason_ = "stop_sequence";
      stop_sequence_ =
          co_await found_stop(request.prompt.model, answer.tokens, request.generate.stop);
    }
  }

  void write(JsonWriter& json) const {
    json.begin_object().key("id").text(id_).key("type").text("message");
    json.key("role").text("assistant").key("model").text(model_);
  }
  void write_stop(JsonWriter& json) const {
    json.key("stop_reason").text(stop_reason_).key("stop_sequence");
    stop_sequence_.empty() ? json.null() : json.text(stop_sequence_);
  }
  // The interface counts the tokens that were found apart from those that were computed.
  void write_usage(JsonWriter& json) const {
    json.begin_object().key("input_tokens").number(usage_.prompt_count - usage_.cached_count);
    json.key("cache_creation_input_tokens").number(0);
    json.key("cache_read_input_tokens").number(usage_.cached_count);
    json.key("output_tokens").number(usage_.answer_count);
    write_cache_members(json, usage_);
    json.end_object();
  }

 private:
  Head(std::string id, std::string model) : id_(std::move(id)), model_(std::move(model)) {}

  std::string id_, model_;
  Usage usage_;
  const char* stop_reason_ = "end_turn";
  std::string stop_sequence_;
};

// Clients send a block of thoughts back with the signature that it came with.
std::string signature_of(const std::string& thought) {
  constexpr std::size_t kBytes = 32;
  return id_text(repair::hash_of(thought), kBytes);
}

// An answer as events: blocks, one after the other, and what each brings.
class Stream : public AnswerSink {
 public:
  Stream(Head head, serve::LiveEvents events, const MessagesRequest& request)
      : head_(std::move(head)),
        events_(std::move(events)),
        shows_thoughts_(request.shows_thoughts),
        hides_thoughts_(request.hides_thoughts) {}

  // Until the prompt is computed. Claude's client gives up after ten minutes without content,
  // whatever other events come (2.1.332). So a long wait begins the answer with a text, to which
  // it adds nothing from time to time. `ping`: the interval of pings; 0: there are none.
  Task<> hold_open(Usage prompt, std::chrono::nanoseconds ping) {
    if (ping.count() > 0) holding_ = co_await spawn(add_nothing(std::move(prompt), ping));
  }
  Task<> begin(const Usage& prompt) override {
    is_computed_ = true;
    if (is_adding_) {
      co_await std::move(holding_);  // An event that is begun goes out.
    } else {
      holding_.drop();
    }
    if (!is_begun_) co_await start(prompt);
    head_.set_prompt(prompt);
  }
  Task<> end(const ChatAnswer& answer, const MessagesRequest& request, bool is_cut) {
    co_await head_.end(answer, request, is_cut);
    co_await end_block();
    JsonWriter delta;
    delta.begin_object();
    head_.write_stop(delta);
    JsonWriter usage;
    head_.write_usage(usage);
    co_await send("message_delta",
                  "\"delta\":" + delta.end_object().str() + ",\"usage\":" + usage.str());
    co_await send("message_stop", "");
    co_await events_.finish();
  }

  Task<> text(std::string more, const Piece*) override {
    if (more.empty()) co_return;
    if (open_ != Block::Text || is_empty_) more = part_begin(std::move(more));
    if (open_ != Block::Text) co_await begin_text();
    is_empty_ = false;
    co_await send_delta(R"({"type":"text_delta","text":)" + json_string(more) + "}");
  }
  Task<> reasoning(std::string more) override {
    if (!shows_thoughts_) co_return;
    if (open_ != Block::Thought) {
      co_await begin_block(Block::Thought, R"({"type":"thinking","thinking":"","signature":""})");
    }
    thought_ += more;
    if (hides_thoughts_) co_return;
    co_await send_delta(R"({"type":"thinking_delta","thinking":)" + json_string(more) + "}");
  }
  Task<> begin_call(std::size_t, AnswerCall call) override {
    co_await begin_block(Block::Call, R"({"type":"tool_use","id":)" + json_string(call.id) +
                                          ",\"name\":" + json_string(call.name) +
                                          R"(,"input":{}})");
  }
  Task<> arguments(std::size_t, std::string more) override {
    if (more.empty()) co_return;
    co_await send_delta(R"({"type":"input_json_delta","partial_json":)" + json_string(more) + "}");
  }

 private:
  enum class Block : std::uint8_t { None, Text, Thought, Call };

  Task<> start(const Usage& prompt) {
    is_begun_ = true;
    head_.set_prompt(prompt);
    JsonWriter json;
    head_.write(json);
    json.key("content").begin_array().end_array();
    json.key("stop_reason").null().key("stop_sequence").null().key("usage");
    head_.write_usage(json);
    co_await send("message_start", "\"message\":" + json.end_object().str());
  }
  Task<> add_nothing(Usage prompt, std::chrono::nanoseconds ping) {
    constexpr int kPingsBefore = 24;
    constexpr int kPingsBetween = 6;
    co_await sleep(ping * kPingsBefore);
    is_adding_ = true;
    co_await start(prompt);
    co_await begin_text();
    while (!is_computed_) {
      is_adding_ = true;
      co_await send_delta(R"({"type":"text_delta","text":""})");
      is_adding_ = false;
      co_await sleep(ping * kPingsBetween);
    }
  }
  Task<> begin_text() {
    is_empty_ = true;
    co_await begin_block(Block::Text, R"({"type":"text","text":""})");
  }
  Task<> send(const char* type, std::string members) {
    const std::string head = "{\"type\":\"" + std::string(type) + "\"";
    const std::string data = head + (members.empty() ? "" : ",") + members + "}";
    co_await events_.send(data, {.name = type});
  }
  Task<> begin_block(Block kind, std::string block) {
    co_await end_block();
    open_ = kind;
    co_await send("content_block_start",
                  "\"index\":" + std::to_string(block_count_) + ",\"content_block\":" + block);
  }
  Task<> send_delta(std::string delta) {
    co_await send("content_block_delta",
                  "\"index\":" + std::to_string(block_count_) + ",\"delta\":" + delta);
  }
  Task<> end_block() {
    const Block ended = std::exchange(open_, Block::None);
    if (ended == Block::None) co_return;
    if (ended == Block::Thought) {
      const std::string signature = signature_of(std::exchange(thought_, ""));
      co_await send_delta(R"({"type":"signature_delta","signature":)" + json_string(signature) +
                          "}");
    }
    co_await send("content_block_stop", "\"index\":" + std::to_string(block_count_));
    block_count_ += 1;
  }

  Head head_;
  serve::LiveEvents events_;
  bool shows_thoughts_, hides_thoughts_;
  Block open_ = Block::None;
  bool is_begun_ = false;
  bool is_computed_ = false;     // The prompt.
  bool is_adding_ = false;       // An event of add_nothing() is being written.
  bool is_empty_ = false;        // The text that is open.
  std::string thought_;          // That is open.
  std::size_t block_count_ = 0;  // Those that are closed.
  Task<> holding_;               // Declared after what it uses.
};

// Keeps the blocks of an answer until it is whole, in the order in which they came.
class Blocks : public AnswerSink {
 public:
  explicit Blocks(const MessagesRequest& request)
      : shows_thoughts_(request.shows_thoughts), hides_thoughts_(request.hides_thoughts) {}

  Task<> begin(const Usage&) override { co_return; }
  Task<> text(std::string more, const Piece*) override {
    const bool is_part = all_.empty() || all_.back().type != "text";
    if (!more.empty()) add("text", is_part ? part_begin(std::move(more)) : more);
    co_return;
  }
  Task<> reasoning(std::string more) override {
    if (shows_thoughts_) add("thinking", more);
    co_return;
  }
  Task<> begin_call(std::size_t, AnswerCall call) override {
    all_.push_back({"tool_use", "", std::move(call)});
    co_return;
  }
  Task<> arguments(std::size_t, std::string more) override {
    add("tool_use", more);
    co_return;
  }

  void write(JsonWriter& json) const {
    for (const Block& each : all_) {
      json.begin_object().key("type").text(each.type);
      if (each.type == "thinking") {
        json.key("thinking").text(hides_thoughts_ ? "" : each.text).key("signature");
        json.text(signature_of(each.text));
      } else if (each.type == "tool_use") {
        const Result<Json> input = Json::parse(each.text);  // Fails if the answer is cut there.
        json.key("id").text(each.call.id).key("name").text(each.call.name).key("input");
        json.raw(input.ok() && input.value().is_object() ? each.text : "{}");
      } else {
        json.key("text").text(each.text);
      }
      json.end_object();
    }
  }

 private:
  struct Block {
    std::string_view type;
    std::string text;  // Or the arguments of a call.
    AnswerCall call = {};
  };
  void add(std::string_view type, const std::string& more) {
    if (all_.empty() || all_.back().type != type) all_.push_back({type, ""});
    all_.back().text += more;
  }
  bool shows_thoughts_, hides_thoughts_;
  std::vector<Block> all_;
};

std::string whole_response(const Head& head, const Blocks& blocks) {
  JsonWriter json;
  head.write(json);
  json.key("content").begin_array();
  blocks.write(json);
  json.end_array();
  head.write_stop(json);
  json.key("usage");
  head.write_usage(json);
  return json.end_object().str();
}

Task<std::string> whole(ChatTurn& turn, Head head, const MessagesRequest& request,
                        std::uint32_t token_count_max, bool is_cut) {
  Blocks blocks(request);
  const ChatAnswer answer = co_await turn.answer(0, token_count_max, false, blocks);
  head.set_prompt(turn.usage());
  co_await head.end(answer, request, is_cut);
  co_return whole_response(head, blocks);
}

Task<> respond(serve::Request http, serve::Response response, ConversationOptions options) {
  const Json body = co_await request_body(http);
  LeftOut left_out;
  MessagesRequest request = co_await read_request(body, false, left_out);
  left_out.tell(response);
  request.prompt.keep = cache_time_of(body);
  request.prompt.is_repaired = options.repairs_prompts;
  options.drafts.add_to(request.generate);
  ChatTurn turn = co_await ChatTurn::begin(request.prompt, request.generate);
  Head head = co_await Head::make(request.prompt.model);
  // The context may end the answer before max_tokens does; the stop reason says so.
  const bool is_cut = request.token_count_max > turn.room();
  const auto count_max = is_cut ? turn.room() : static_cast<std::uint32_t>(request.token_count_max);
  if (!request.streams) {
    co_return co_await respond_whole(response, options.live,
                                     whole(turn, std::move(head), request, count_max, is_cut));
  }
  const std::string ping = serve::event_text(R"({"type": "ping"})", {.name = "ping"});
  Stream stream(std::move(head), co_await options.live.open(response, ping), request);
  co_await stream.hold_open(turn.usage(), options.live.interval());
  const ChatAnswer answer = co_await turn.answer(0, count_max, false, stream);
  co_await stream.end(answer, request, is_cut);
}

Task<> handle(serve::Request request, serve::Response response, ConversationOptions options) {
  co_await answer(request, response, respond(request, response, options));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
