#pragma once
// Answers of the Gemini interface: candidates with their parts, whole or chunk by chunk.
//
// A call is one part: its arguments are there once they are whole. The chunks of a candidate,
// joined, are its parts in a whole response.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gemini_request.h"

namespace endpoints::gemini {

// The members that all parts of one response have beside the candidates.
struct Identity {
  std::string id;
  std::string model;

  static Result<Identity> make(const Model& model) {
    return Identity{.id = random_id(), .model = TRY(model.name())};
  }
  void write(JsonWriter& json) const {
    json.key("modelVersion").text(model).key("responseId").text(id);
  }
};

inline void write_token_details(JsonWriter& json, std::string_view name, std::size_t count) {
  json.key(name).begin_array().begin_object().key("modality").text("TEXT");
  json.key("tokenCount").number(count).end_object().end_array();
}

// `usage.answer_count` counts the thoughts, of which there are `thought_count`; the interface
// counts them apart.
inline void write_usage(JsonWriter& json, const Usage& usage, std::size_t thought_count) {
  json.key("usageMetadata").begin_object();
  json.key("promptTokenCount").number(usage.prompt_count);
  if (usage.cached_count > 0) json.key("cachedContentTokenCount").number(usage.cached_count);
  json.key("candidatesTokenCount").number(usage.answer_count - thought_count);
  if (thought_count > 0) json.key("thoughtsTokenCount").number(thought_count);
  json.key("totalTokenCount").number(usage.prompt_count + usage.answer_count);
  write_token_details(json, "promptTokensDetails", usage.prompt_count);
  if (usage.cached_count > 0) write_token_details(json, "cacheTokensDetails", usage.cached_count);
  write_cache_members(json, usage);
  json.end_object();
}

// ---- probabilities ------------------------------------------------------------------------------

// The probabilities of some tokens, as JSON.
struct Logprobs {
  std::string chosen = {};  // Of the tokens that were drawn,
  std::string top = {};     // and of those that were probable there.
  double sum = 0;
  std::size_t count = 0;

  void add(const Logprobs& other) {
    if (other.count == 0) return;
    chosen += (chosen.empty() ? "" : ",") + other.chosen;
    top += (top.empty() ? "" : ",") + other.top;
    sum += other.sum;
    count += other.count;
  }
  void write(JsonWriter& json) const {
    if (count == 0) return;
    json.key("avgLogprobs").number(sum / static_cast<double>(count));
    json.key("logprobsResult").begin_object();
    json.key("topCandidates").raw("[" + top + "]");
    json.key("chosenCandidates").raw("[" + chosen + "]").end_object();
  }
};

inline Task<std::string> token_json(Model model, std::uint32_t token, double log_probability) {
  constexpr double kLeast = -9999.0;  // JSON has no number for what is less probable.
  const std::vector<std::uint32_t> one(1, token);
  const std::string bytes = co_await model.detokenize(one, true);
  JsonWriter json;
  json.begin_object().key("token").text(bytes).key("tokenId").number(token);
  json.key("logProbability").number(std::max(log_probability, kLeast));
  co_return json.end_object().str();
}

inline Task<Logprobs> logprobs_of(Model model, Piece piece) {
  Logprobs out{.sum = piece.log_probability(), .count = 1};
  out.chosen = co_await token_json(model, piece.token, piece.log_probability());
  JsonWriter top;
  top.begin_object().key("candidates").begin_array();
  for (const TokenProbability& each : piece.top) {
    top.raw(co_await token_json(model, each.token, each.log_probability()));
  }
  out.top = top.end_array().end_object().str();
  co_return out;
}

// ---- one candidate ------------------------------------------------------------------------------

// The share of one candidate in a response or in a chunk of it.
struct CandidatePart {
  std::string parts;  // JSON, without brackets.
  Logprobs logprobs = {};
  const char* finish_reason = nullptr;
  std::string finish_message = {};

  void write(JsonWriter& json, std::uint32_t index) const {
    json.begin_object().key("content").begin_object();
    json.key("parts").raw("[" + parts + "]").key("role").text("model").end_object();
    if (finish_reason != nullptr) json.key("finishReason").text(finish_reason);
    if (!finish_message.empty()) json.key("finishMessage").text(finish_message);
    json.key("index").number(index);
    logprobs.write(json);
    json.end_object();
  }
};

inline std::string text_part(const std::string& text, bool is_thought) {
  return "{\"text\":" + json_string(text) + (is_thought ? ",\"thought\":true}" : "}");
}

class Candidate : public AnswerSink {
 public:
  // `chunks` is null for a whole response.
  Candidate(const GenerateRequest& request, Identity identity, std::uint32_t index, Chunks* chunks)
      : request_(request), identity_(std::move(identity)), index_(index), chunks_(chunks) {}

  std::uint32_t index() const { return index_; }
  // All of it, once it has ended.
  CandidatePart whole() const {
    CandidatePart all = end_;
    for (const Part& each : parts_) {
      all.parts += (all.parts.empty() ? "" : ",") +
                   (each.call.empty() ? text_part(each.text, each.is_thought) : each.call);
    }
    all.logprobs = logprobs_;
    return all;
  }
  // The end of it, for the last chunk. Clients that join texts take a chunk without one for null.
  CandidatePart last() const {
    CandidatePart last = end_;
    last.parts = text_part("", false);
    return last;
  }

  Task<> begin(const Usage&) override { co_return; }
  Task<> text(std::string more, const Piece* token) override {
    co_await end_call(false);
    Logprobs logprobs;
    if (token != nullptr) logprobs = co_await logprobs_of(request_.prompt.model, *token);
    if (request_.is_enum) {
      enum_text_ += more;
      co_return;
    }
    co_await add_text(std::move(more), false, std::move(logprobs));
  }
  Task<> reasoning(std::string more) override {
    if (request_.shows_thoughts) co_await add_text(std::move(more), true, {});
  }
  Task<> begin_call(std::size_t, AnswerCall call) override {
    co_await end_call(false);
    call_ = std::move(call);
  }
  Task<> arguments(std::size_t, std::string more) override {
    if (call_) call_->arguments += more;
    co_return;
  }

  // The answer has ended. The caller sends the last chunk.
  Task<> end(const ChatAnswer& answer) {
    co_await end_call(answer.is_cut_in_call);
    if (request_.is_enum) {
      const Result<Json> json = Json::parse(enum_text_);
      co_await add_text(
          json.ok() && json.value().is_text() ? std::string(json.value().text()) : enum_text_,
          false, {});
    }
    const bool has_calls = !answer.calls.empty() && !answer.is_cut_in_call;
    if (end_.finish_reason != nullptr) co_return;  // Of a call that cannot be read.
    const bool is_cut = answer.finish_reason == FinishReason::Length && !has_calls;
    end_.finish_reason = is_cut || answer.is_cut_in_call ? "MAX_TOKENS" : "STOP";
  }

 private:
  struct Part {
    std::string text = {};
    bool is_thought = false;
    std::string call = {};  // JSON; empty: it is a text.
  };

  Task<> add_text(std::string more, bool is_thought, Logprobs logprobs) {
    logprobs_.add(logprobs);
    if (more.empty() && logprobs.count == 0) co_return;
    const bool joins =
        !parts_.empty() && parts_.back().call.empty() && parts_.back().is_thought == is_thought;
    if (!joins) parts_.push_back({.is_thought = is_thought});
    parts_.back().text += more;
    co_await send({.parts = text_part(more, is_thought), .logprobs = std::move(logprobs)});
  }

  // The call whose arguments came is whole, or the answer `is_cut` within it and it is left out.
  Task<> end_call(bool is_cut) {
    if (!call_) co_return;
    const AnswerCall call = *std::exchange(call_, std::nullopt);
    if (is_cut) co_return;
    const Result<Json> args = Json::parse(call.arguments);
    if (!args.ok() || !args.value().is_object()) {
      end_.finish_reason = "MALFORMED_FUNCTION_CALL";
      end_.finish_message = "the model called " + call.name +
                            " with arguments that are not a JSON object: " +
                            valid_utf8(call.arguments.substr(0, 200));
      co_return;
    }
    JsonWriter json;
    json.begin_object().key("functionCall").begin_object().key("id").text(call.id);
    json.key("name").text(call.name).key("args").raw(call.arguments).end_object().end_object();
    parts_.push_back({.call = json.str()});
    co_await send({.parts = json.str()});
  }

  Task<> send(CandidatePart part) {
    if (chunks_ == nullptr) co_return;
    JsonWriter json;
    json.begin_object().key("candidates").begin_array();
    part.write(json, index_);
    json.end_array();
    identity_.write(json);
    co_await chunks_->send(json.end_object().str());
  }

  const GenerateRequest& request_;
  Identity identity_;
  std::uint32_t index_;
  Chunks* chunks_;
  std::vector<Part> parts_;
  Logprobs logprobs_;
  std::optional<AnswerCall> call_;  // Whose arguments are coming.
  std::string enum_text_;           // With its quotes.
  CandidatePart end_;
};

}  // namespace endpoints::gemini
