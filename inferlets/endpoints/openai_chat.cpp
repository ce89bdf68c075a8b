// openai_chat: POST /v1/chat/completions of the OpenAI interface.
//
//   quire serve --endpoint "POST /v1/chat/completions=openai_chat.wasm"
//
// A prompt that begins as an earlier one finds the pages of that beginning. All choices of a request
// are forks of one context.
#include "openai_chat_request.h"
#include "openai_logprobs.h"

using namespace endpoints;
using namespace endpoints::openai;

namespace {

const char* reason_of(const ChatAnswer& answer) {
  const bool has_calls = !answer.calls.empty() && !answer.is_cut_in_call;
  return has_calls ? "tool_calls" : finish_reason_name(answer.finish_reason);
}

// ---- a stream -----------------------------------------------------------------------------------

class Stream {
 public:
  Stream(Identity identity, serve::LiveEvents events, bool has_usage)
      : identity_(std::move(identity)), events_(std::move(events)), has_usage_(has_usage) {}

  // `delta` are its members, as JSON without braces.
  Task<> send(std::uint32_t choice, std::string delta, std::string logprobs = "",
              const char* finish_reason = nullptr) {
    JsonWriter json = chunk(choice, delta, logprobs, finish_reason);
    co_await events_.send(json.end_object().str());
  }
  Task<> report(PromptProgress progress) {
    JsonWriter json = chunk(0, R"("role":"assistant","content":null)", "", nullptr);
    json.key("prompt_progress");
    progress.write(json);
    co_await events_.send(json.end_object().str());
  }
  Task<> end(std::string usage) {
    if (has_usage_) {
      JsonWriter json;
      identity_.write(json, "chat.completion.chunk");
      json.key("choices").begin_array().end_array().key("usage").raw(usage);
      co_await events_.send(json.end_object().str());
    }
    co_await events_.send("[DONE]");
    co_await events_.finish();
  }

 private:
  // An object that is still open.
  JsonWriter chunk(std::uint32_t choice, const std::string& delta, const std::string& logprobs,
                   const char* finish_reason) const {
    JsonWriter json;
    identity_.write(json, "chat.completion.chunk");
    json.key("choices").begin_array().begin_object().key("index").number(choice);
    json.key("delta").raw("{" + delta + "}").key("logprobs");
    logprobs.empty() ? json.null() : json.raw("{\"content\":[" + logprobs + "],\"refusal\":null}");
    json.key("finish_reason");
    finish_reason == nullptr ? json.null() : json.text(finish_reason);
    json.end_object().end_array();
    if (has_usage_) json.key("usage").null();
    return json;
  }

  Identity identity_;
  serve::LiveEvents events_;
  bool has_usage_;
};

// One choice of a response, streamed if there is a stream.
class Choice : public AnswerSink {
 public:
  Choice(Model model, std::uint32_t index, Stream* stream)
      : model_(std::move(model)), index_(index), stream_(stream) {}

  const std::string& logprobs() const { return logprobs_; }  // Of all tokens, JSON.

  Task<> begin(const Usage&) override {
    if (stream_ == nullptr) co_return;
    co_await stream_->send(index_, R"("role":"assistant","content":"")");
  }
  Task<> end(const ChatAnswer& answer) {
    if (stream_ != nullptr) co_await stream_->send(index_, "", "", reason_of(answer));
  }

  Task<> text(std::string more, const Piece* token) override {
    std::string logprobs;
    if (token != nullptr) {
      logprobs = co_await logprobs_of(model_, *token);
      logprobs_ += (logprobs_.empty() ? "" : ",") + logprobs;
    }
    if (stream_ == nullptr || (more.empty() && logprobs.empty())) co_return;
    co_await stream_->send(index_, "\"content\":" + json_string(more), std::move(logprobs));
  }
  Task<> reasoning(std::string more) override {
    if (stream_ == nullptr) co_return;
    co_await stream_->send(index_, "\"reasoning_content\":" + json_string(more));
  }
  Task<> begin_call(std::size_t number, AnswerCall call) override {
    JsonWriter json;
    json.begin_object().key("index").number(number).key("id").text(call.id);
    json.key("type").text("function").key("function").begin_object();
    json.key("name").text(call.name).key("arguments").text("").end_object().end_object();
    if (stream_ != nullptr) co_await stream_->send(index_, "\"tool_calls\":[" + json.str() + "]");
  }
  Task<> arguments(std::size_t number, std::string more) override {
    if (stream_ == nullptr || more.empty()) co_return;
    JsonWriter json;
    json.begin_object().key("index").number(number).key("function").begin_object();
    json.key("arguments").text(more).end_object().end_object();
    co_await stream_->send(index_, "\"tool_calls\":[" + json.str() + "]");
  }

 private:
  Model model_;
  std::uint32_t index_;
  Stream* stream_;
  std::string logprobs_;
};

// ---- a whole response ---------------------------------------------------------------------------

void write_message(JsonWriter& json, const ChatAnswer& answer) {
  json.begin_object().key("role").text("assistant").key("content");
  answer.text.empty() && !answer.calls.empty() ? json.null() : json.text(answer.text);
  json.key("refusal").null();
  if (!answer.reasoning.empty()) json.key("reasoning_content").text(answer.reasoning);
  if (!answer.calls.empty()) {
    json.key("tool_calls").begin_array();
    for (const AnswerCall& each : answer.calls) {
      json.begin_object().key("id").text(each.id).key("type").text("function");
      json.key("function").begin_object().key("name").text(each.name);
      json.key("arguments").text(each.arguments).end_object().end_object();
    }
    json.end_array();
  }
  json.end_object();
}

std::string whole_response(const Identity& identity, const std::vector<ChatAnswer>& answers,
                           const std::vector<std::string>& logprobs, bool has_logprobs,
                           const std::string& usage) {
  JsonWriter json;
  identity.write(json, "chat.completion");
  json.key("choices").begin_array();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    json.begin_object().key("index").number(i).key("message");
    write_message(json, answers[i]);
    json.key("logprobs");
    has_logprobs ? json.raw("{\"content\":[" + logprobs[i] + "],\"refusal\":null}") : json.null();
    json.key("finish_reason").text(reason_of(answers[i])).end_object();
  }
  json.end_array().key("usage").raw(usage);
  return json.end_object().str();
}

struct ChoiceAnswer {
  ChatAnswer answer;
  std::string logprobs;
};

Task<ChoiceAnswer> answer_of(ChatTurn& turn, Model model, Stream* stream, std::uint32_t index,
                             std::uint32_t token_count_max, bool has_logprobs) {
  Choice choice(std::move(model), index, stream);
  ChatAnswer answer = co_await turn.answer(index, token_count_max, has_logprobs, choice);
  co_await choice.end(answer);
  co_return ChoiceAnswer{std::move(answer), choice.logprobs()};
}

struct ChatAnswers {
  std::vector<ChatAnswer> answers;
  std::vector<std::string> logprobs;
  std::string usage;  // JSON.
};

// The choices of the request, streamed if there is a stream.
Task<ChatAnswers> all_answers(ChatTurn& turn, const ChatRequest& request,
                              const PredictedTokens& predicted, Stream* stream,
                              std::uint32_t token_count_max) {
  if (stream != nullptr && request.stream.has_progress) {
    co_await turn.compute([stream](PromptProgress progress) { return stream->report(progress); });
  } else if (request.n > 1) {
    co_await turn.compute();
  }
  std::vector<Task<ChoiceAnswer>> tasks;
  for (std::uint32_t i = 0; i < request.n; ++i) {
    tasks.push_back(
        answer_of(turn, request.prompt.model, stream, i, token_count_max, request.has_logprobs));
  }
  ChatAnswers out;
  std::size_t answer_count = 0;
  PredictionCounts counts;
  for (ChoiceAnswer& each : co_await gather(std::move(tasks))) {
    answer_count += each.answer.tokens.size();
    if (request.prediction.is_given) counts += predicted.counts_of(each.answer.tokens);
    out.answers.push_back(std::move(each.answer));
    out.logprobs.push_back(std::move(each.logprobs));
  }
  Usage usage = turn.usage();
  usage.answer_count = answer_count;
  JsonWriter json;
  write_usage(json, usage, request.prediction.is_given ? std::optional(counts) : std::nullopt);
  out.usage = json.str();
  co_return out;
}

Task<std::string> whole(ChatTurn& turn, const ChatRequest& request,
                        const PredictedTokens& predicted, Identity identity,
                        std::uint32_t token_count_max) {
  const ChatAnswers all = co_await all_answers(turn, request, predicted, nullptr, token_count_max);
  co_return whole_response(identity, all.answers, all.logprobs, request.has_logprobs, all.usage);
}

Task<> respond(serve::Request http, serve::Response response, ConversationOptions options) {
  const Json body = co_await request_body(http);
  LeftOut left_out;
  ChatRequest request = co_await read_chat_request(body, left_out);
  left_out.tell(response);
  request.prompt.is_repaired = options.repairs_prompts;
  const Model model = request.prompt.model;
  const PredictedTokens predicted = co_await PredictedTokens::of(model, request.prediction);
  options.drafts.add_to(request.generate, predicted.drafts());
  ChatTurn turn = co_await ChatTurn::begin(request.prompt, request.generate);
  const std::uint32_t token_count_max =
      co_await answer_room(model, turn.usage().prompt_count, turn.room(), request.token_count_max,
                           request.token_count_member);
  const Identity identity = co_await Identity::make("chatcmpl-", model);
  if (!request.stream.is_on) {
    co_return co_await respond_whole(response, options.live,
                                     whole(turn, request, predicted, identity, token_count_max));
  }
  Stream stream(identity, co_await options.live.open(response), request.stream.has_usage);
  const ChatAnswers all = co_await all_answers(turn, request, predicted, &stream, token_count_max);
  co_await stream.end(all.usage);
}

Task<> handle(serve::Request request, serve::Response response, ConversationOptions options) {
  co_await answer(request, response, respond(request, response, options));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
