#pragma once
// The endpoints of the OpenAI interface share this: form of errors, how tokens are drawn, usage.
//
// Errors   {"error": {"message", "type", "param", "code"}}, as the interface has them.
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "cache_use.h"
#include "errors.h"
#include "live_options.h"
#include "members.h"
#include "prompt_progress.h"

namespace endpoints::openai {

// ---- errors -----------------------------------------------------------------------------------

inline std::string error_json(const Error& error) {
  const ErrorRow& row = row_of(error);
  const std::string_view member = member_of(error.message);
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.key("message").text(error.message).key("type").text(row.open_ai_type).key("param");
  member.empty() ? json.null() : json.text(member);
  json.key("code");
  row.open_ai_code == nullptr ? json.null() : json.text(row.open_ai_code);
  return json.end_object().end_object().str();
}

// Runs `handling`, and writes the error in which it ends. If the response has begun, the error is
// the last event of the stream, or the body.
inline Task<> answer(serve::Request request, serve::Response response, Task<> handling) {
  const Result<void> outcome = co_await attempt(std::move(handling));
  if (outcome.ok()) co_return;
  const Error error = outcome.error();
  const std::uint32_t status = row_of(error).status;
  if (response.begun()) {
    const std::string json = error_json(shown_error(error, "the request " + request.id()));
    co_return co_await end_begun(response, serve::event_text(json), json, error);
  }
  if (is_internal(error)) co_await fail(error);
  serve::Headers headers;
  if (status == 503) headers.push_back({"retry-after", "1"});
  if (status == 429) headers.push_back({"x-should-retry", "false"});  // A day is too long to wait.
  co_await response.json(status, error_json(error), std::move(headers));
  if (status >= 500) co_await fail(error);
}

// ---- how tokens are drawn ---------------------------------------------------------------------

inline Result<std::vector<LogitBias>> read_logit_bias(Members& in, std::uint32_t vocabulary_size) {
  std::vector<LogitBias> all;
  const Json* given = in.find("logit_bias");
  if (given == nullptr) return all;
  if (!given->is_object())
    return in.bad("logit_bias", "must be an object whose keys are token ids");
  if (given->members().size() > kLogitBiasCountMax) {
    return in.bad("logit_bias", "at most " + std::to_string(kLogitBiasCountMax) + " tokens, not " +
                                    std::to_string(given->members().size()));
  }
  for (const auto& [name, value] : given->members()) {
    const std::string key(name);
    const bool is_id =
        !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
    const std::uint32_t token = is_id ? static_cast<std::uint32_t>(std::stoul(key)) : 0;
    if (!is_id || token >= vocabulary_size) {
      return in.bad("logit_bias", json_string(key) + " is not a token id below " +
                                      std::to_string(vocabulary_size));
    }
    const Result<double> bias = value.number();
    if (!value.is_number() || !bias.ok() || !(std::fabs(bias.value()) <= 100)) {
      return in.bad("logit_bias", "the bias of " + key + " must be a number from -100 to 100");
    }
    const auto is_same = [&](const LogitBias& each) { return each.token == token; };
    if (std::ranges::any_of(all, is_same)) {
      return in.bad("logit_bias", "token " + key + " occurs more than once");
    }
    all.push_back({.token = token, .bias = static_cast<float>(bias.value())});
  }
  return all;
}

// The members that both endpoints have, and those of other servers whose meaning is the same.
inline Result<GenerateOptions> read_drawing(Members& in, const Model& model) {
  GenerateOptions out;
  out.temperature = TRY(in.number("temperature", 1.0, {0, 2}));
  out.top_p = TRY(in.number("top_p", 1.0, {0, 1}));
  out.top_k =
      static_cast<std::uint32_t>(TRY(in.whole("top_k", 0, {0, model.info().vocabulary_size})));
  out.min_p = TRY(in.number("min_p", 0.0, {0, 1}));
  out.repetition_penalty = TRY(in.number("repetition_penalty", 1.0, {0.01, 100}));
  out.presence_penalty = TRY(in.number("presence_penalty", 0.0, {-2, 2}));
  out.frequency_penalty = TRY(in.number("frequency_penalty", 0.0, {-2, 2}));
  out.logit_bias = TRY(read_logit_bias(in, model.info().vocabulary_size));
  out.seed = TRY(read_seed(in));
  out.stop = TRY(in.texts("stop", kStopCountMax));
  out.ignore_stop_tokens = TRY(in.flag("ignore_eos"));
  return out;
}

struct Streaming {
  bool is_on = false;
  bool has_usage = false;
  bool has_progress = false;  // Of the prompt.
};
inline Result<Streaming> read_streaming(Members& in) {
  Streaming out{.is_on = TRY(in.flag("stream"))};
  out.has_progress = TRY(in.flag("return_progress")) && out.is_on;
  const Json* options = in.find("stream_options");
  if (options == nullptr) return out;
  if (!out.is_on) return in.bad("stream_options", "needs \"stream\": true");
  Members more = TRY(in.object("stream_options"));
  out.has_usage = TRY(more.flag("include_usage"));
  TRY(more.flag("include_obfuscation"));
  TRY(more.finish());
  return out;
}

// How long the pages of a conversation stay in the cache. If the request has a key, they stay as
// long as the interface says. If it asks for more, they stay as long as the page store can keep
// them.
inline Result<std::chrono::seconds> read_keep(Members& in) {
  constexpr std::chrono::seconds kByKey = std::chrono::minutes(30);
  const std::string key = TRY(in.text("prompt_cache_key"));
  std::string time = TRY(in.text("prompt_cache_retention"));
  if (in.find("prompt_cache_options") != nullptr) {
    Members options = TRY(in.object("prompt_cache_options"));
    if (const std::string ttl = TRY(options.text("ttl")); !ttl.empty()) time = ttl;
    options.accept({"mode"});
  }
  if (time == "24h" || time == "12h") return kKeptMax;
  return key.empty() && time != "30m" ? std::chrono::seconds(0) : kByKey;
}

// The JSON schema that an answer is to fit, of the object that names and describes it.
inline Result<std::string> read_answer_schema(Members& format) {
  const Json* schema = format.find("schema");
  if (schema == nullptr || !schema->is_object()) {
    return format.bad("schema", "must be a JSON schema, an object");
  }
  TRY(format.accept_texts({"name", "description"}));
  TRY(format.flag("strict"));  // An answer fits the schema in any case.
  return schema->str();
}

// Accepts members that ask nothing of the output.
inline Result<void> accept_common(Members& in, Prediction* prediction = nullptr) {
  TRY(in.accept_texts({"user", "safety_identifier"}));
  TRY(in.accept_objects({"metadata"}));
  if (prediction == nullptr) {
    TRY(in.accept_objects({"prediction"}));
  } else {
    *prediction = TRY(read_prediction(in));
  }
  TRY(in.flag("store"));
  return in.accept_texts({"service_tier"});
}

// Refuses members that other servers take and this one does not, and without which an answer would
// be wrong. They set the form of the answer, its length and its end, and texts that the model is to
// read.
inline Result<void> refuse_of_others(Members& in) {
  TRY(
      in.refuse("guided_json guided_regex guided_choice guided_grammar structured_outputs "
                "grammar json_schema regex ebnf format"));
  TRY(
      in.refuse("max_new_tokens n_predict num_predict min_tokens stop_sequences "
                "stop_token_ids include_stop_str_in_output truncate_prompt_tokens "
                "prompt_logprobs"));
  return in.refuse("system documents images chat_template continue_final_message");
}

// The tokens that an answer may have: `wanted`, or all the room that the prompt leaves.
inline Result<std::uint32_t> answer_room(const Model& model, std::size_t prompt_count,
                                         std::uint32_t room, std::optional<std::uint64_t> wanted,
                                         const char* member = "max_tokens") {
  if (!wanted) return room;
  if (*wanted <= room) return static_cast<std::uint32_t>(*wanted);
  // Clients know the error by the first words.
  return wrong(member,
               "this model's maximum context length is " +
                   std::to_string(model.info().context_length) + " tokens, and the prompt has " +
                   std::to_string(prompt_count) + " and the answer may have " +
                   std::to_string(*wanted),
               ErrorCode::OutOfRange);
}

// ---- responses --------------------------------------------------------------------------------

inline void write_usage(JsonWriter& json, const Usage& usage,
                        const std::optional<PredictionCounts>& prediction = {}) {
  json.begin_object().key("prompt_tokens").number(usage.prompt_count);
  json.key("completion_tokens").number(usage.answer_count);
  json.key("total_tokens").number(usage.prompt_count + usage.answer_count);
  json.key("prompt_tokens_details").begin_object();
  json.key("cached_tokens").number(usage.cached_count).end_object();
  if (prediction) {
    json.key("completion_tokens_details").begin_object();
    json.key("accepted_prediction_tokens").number(prediction->accepted);
    json.key("rejected_prediction_tokens").number(prediction->rejected).end_object();
  }
  write_cache_members(json, usage);
  json.end_object();
}

// The interface has no number for what is less probable.
inline double shown_log_probability(double log_probability) {
  constexpr double kLeast = -9999.0;
  return std::max(log_probability, kLeast);
}

// The members with which all parts of one response begin.
struct Identity {
  std::string id;
  std::int64_t created = 0;
  std::string model;

  static Result<Identity> make(const char* prefix, const Model& model) {
    return Identity{.id = prefix + random_id(),
                    .created = static_cast<std::int64_t>(std::time(nullptr)),
                    .model = TRY(model.name())};
  }
  void write(JsonWriter& json, const char* object) const {
    json.begin_object().key("id").text(id).key("object").text(object);
    json.key("created").number(created).key("model").text(model);
    json.key("system_fingerprint").text("quire");
  }
};

}  // namespace endpoints::openai
