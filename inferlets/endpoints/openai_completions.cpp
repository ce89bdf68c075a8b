// openai_completions: POST /v1/completions of the OpenAI interface.
//
//   quire serve --endpoint "POST /v1/completions=openai_completions.wasm"
#include "answer_drafts.h"
#include "openai.h"
#include "shown_tokens.h"

using namespace endpoints;
using namespace endpoints::openai;

namespace {

struct Prompt {
  std::string text;  // Empty if the request gives tokens.
  std::vector<std::uint32_t> tokens;
  std::uint32_t answer_count_max = 0;  // Tokens; known once the prompt is checked.
};

struct CompletionRequest {
  Model model;
  std::vector<Prompt> prompts;
  GenerateOptions generate;
  std::uint64_t token_count_max = 16;
  std::uint32_t n = 1;
  bool has_logprobs = false;
  bool echoes = false;
  Streaming stream;
  std::chrono::seconds keep{0};  // How long the prompts stay in the cache.
};

// ---- the request ------------------------------------------------------------------------------

// A text, an array of texts, an array of tokens, or an array of such arrays.
Result<std::vector<Prompt>> read_prompts(Members& in, const Model& model) {
  const Json* given = in.find("prompt");
  const Error wanted =
      in.bad("prompt", "give a string, an array of strings, or tokens: none of them empty");
  if (given == nullptr) return wanted;
  const bool is_one = given->is_text() || (*given)[std::size_t{0}].is_number();
  const std::size_t count = is_one ? 1 : given->items().size();
  if (count == 0) return wanted;
  if (count > kChoiceCountMax) {
    return in.bad("prompt", "at most " + std::to_string(kChoiceCountMax) + " prompts, not " +
                                std::to_string(count));
  }
  std::vector<Json> all;
  if (is_one) all.push_back(*given);
  if (!is_one) std::ranges::copy(given->items(), std::back_inserter(all));
  std::vector<Prompt> prompts;
  for (const Json& each : all) {
    if (each.is_text() && !each.text().empty()) {
      prompts.push_back({.text = std::string(each.text()), .tokens = {}});
    } else if (!each.items().empty()) {
      std::vector<std::uint32_t> tokens = TRY(read_tokens(each, "prompt", model));
      prompts.push_back({.text = "", .tokens = std::move(tokens)});
    } else {
      return wanted;
    }
  }
  return prompts;
}

Result<CompletionRequest> read_completion_request(const Json& body, LeftOut& left_out) {
  Members in(body, left_out);
  CompletionRequest out;
  out.model = TRY(read_model(in));
  out.prompts = TRY(read_prompts(in, out.model));
  out.generate = TRY(read_drawing(in, out.model));
  out.token_count_max = TRY(in.whole("max_tokens", 16, {0, kLargestWhole}));
  out.n = static_cast<std::uint32_t>(TRY(in.whole("n", 1, {1, kChoiceCountMax})));
  if (out.n * out.prompts.size() > kChoiceCountMax) {
    return in.bad(
        "n", "at most " + std::to_string(kChoiceCountMax) + " choices for all prompts together");
  }
  if (TRY(in.whole("best_of", out.n, {1, kChoiceCountMax})) != out.n) {
    return wrong("best_of", "only the value of n is supported", ErrorCode::NotSupported);
  }
  out.has_logprobs = body["logprobs"].is_number();
  out.generate.top_logprobs = static_cast<std::uint32_t>(TRY(in.whole("logprobs", 0, {0, 20})));
  out.echoes = TRY(in.flag("echo"));
  if (out.echoes && out.has_logprobs) {
    return wrong("echo", "is not supported with logprobs", ErrorCode::NotSupported);
  }
  out.stream = TRY(read_streaming(in));
  out.keep = TRY(read_keep(in));
  TRY(accept_common(in));
  TRY(in.refuse("suffix response_format max_completion_tokens messages input"));
  TRY(refuse_of_others(in));
  TRY(in.finish());
  return out;
}

// ---- the answer -------------------------------------------------------------------------------

// The arrays of the interface, which have one element for each token.
struct Logprobs {
  JsonWriter tokens, token_logprobs, top_logprobs, text_offset;

  Logprobs() {
    for (JsonWriter* each : {&tokens, &token_logprobs, &top_logprobs, &text_offset}) {
      each->begin_array();
    }
  }
  // `offset`: of the token in the text, in characters. The alternatives are an object, so each has a name of
  // its own, the drawn token among them.
  Task<> note(Model model, Piece piece, std::size_t offset) {
    const std::string drawn = co_await name_of(model, piece.token);
    tokens.text(drawn);
    token_logprobs.number(shown_log_probability(piece.log_probability()));
    text_offset.number(offset);
    std::vector<std::string> names(1, drawn);
    top_logprobs.begin_object().key(drawn);
    top_logprobs.number(shown_log_probability(piece.log_probability()));
    for (const TokenProbability& each : piece.top) {
      if (each.token == piece.token) continue;
      const std::string name = co_await name_of(model, each.token);
      if (std::ranges::find(names, name) != names.end()) continue;  // The first is more probable.
      names.push_back(name);
      top_logprobs.key(name).number(shown_log_probability(each.log_probability()));
    }
    top_logprobs.end_object();
  }
  std::string str() {
    JsonWriter json;
    json.begin_object().key("tokens").raw(tokens.end_array().str());
    json.key("token_logprobs").raw(token_logprobs.end_array().str());
    json.key("top_logprobs").raw(top_logprobs.end_array().str());
    json.key("text_offset").raw(text_offset.end_array().str());
    return json.end_object().str();
  }

 private:
  // The text of the token. One that is a part of a character is named by its bytes, "bytes:\\xf0\\x9f".
  static Task<std::string> name_of(Model model, std::uint32_t token) {
    const std::vector<std::uint32_t> one(1, token);
    const std::string bytes = co_await model.detokenize(one, true);
    if (valid_utf8(bytes) == bytes) co_return bytes;
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string name = "bytes:";
    for (const char each : bytes) {
      const auto byte = static_cast<unsigned char>(each);
      name += "\\x";
      name += kDigits[byte >> 4];
      name += kDigits[byte & 15];
    }
    co_return name;
  }
};

struct Answer {
  std::string text;
  std::string logprobs;  // Empty if the request asks for none.
  std::size_t token_count = 0;
  const char* finish_reason = "stop";
  std::string shows_first = {};  // Before what the model writes, once the prompt is computed.
  bool is_computed = false;      // The prompt, and the usage has it.
};

struct CompletionOptions {
  LiveOptions live;
  DraftOptions drafts;

  void read(OptionReader& in) {
    live.read(in);
    drafts.read(in);
  }
};

class Completion {
 public:
  Completion(CompletionRequest request, CompletionOptions options, serve::Response response)
      : request_(std::move(request)), options_(options), response_(std::move(response)) {}

  Task<> run() {
    identity_ = co_await Identity::make("cmpl-", request_.model);
    for (Prompt& prompt : request_.prompts) co_await check(prompt);
    if (!request_.stream.is_on) co_return co_await respond_whole(response_, options_.live, whole());
    events_ = co_await options_.live.open(response_);
    co_await all_answers();
    co_await end_stream();
  }

 private:
  Task<std::vector<Answer>> all_answers() {
    std::vector<Task<Answer>> choices;
    for (const Prompt& prompt : request_.prompts) co_await begin(prompt, choices);
    std::vector<Answer> answers = co_await gather(std::move(choices));
    for (const Answer& each : answers) usage_.answer_count += each.token_count;
    co_return answers;
  }

  // Finds all that is wrong with a prompt, and computes nothing yet.
  Task<> check(Prompt& prompt) {
    if (prompt.tokens.empty()) {
      const std::string text = prompt.text;
      Result<std::vector<std::uint32_t>> tokens =
          co_await attempt(request_.model.tokenize(text, {.begin_of_text = true}));
      if (!tokens.ok()) co_await fail(prompt_error("prompt", tokens.error()));
      prompt.tokens = std::move(tokens).take();
    } else if (request_.echoes) {
      prompt.text = valid_utf8(co_await request_.model.detokenize(prompt.tokens, true));
    }
    const std::size_t count = prompt.tokens.size();
    const std::uint32_t room = co_await room_after(request_.model, count, "prompt");
    prompt.answer_count_max =
        co_await answer_room(request_.model, count, room, request_.token_count_max);
    usage_.prompt_count += count;
  }

  // Each choice is a fork of its prompt. The pass that draws the first token of an only choice
  // computes the prompt; several find it computed.
  Task<> begin(const Prompt& prompt, std::vector<Task<Answer>>& choices) {
    GenerateOptions options = request_.generate;
    options.penalty_first = static_cast<std::uint32_t>(prompt.tokens.size());
    options.max_tokens = prompt.answer_count_max;
    Context context = co_await Context::create(request_.model);
    if (request_.keep.count() > 0) co_await context.hint(ContextHint::Keep, request_.keep);
    const bool is_only = request_.prompts.size() * request_.n == 1;
    const bool has_progress = request_.stream.has_progress;
    const bool is_computed = !is_only || has_progress || options.max_tokens == 0;
    if (has_progress) {
      const auto index = static_cast<std::uint32_t>(choices.size());
      co_await compute_in_slices(
          context, prompt.tokens, {}, 0,
          [this, index](PromptProgress progress) { return report(index, progress); });
    } else {
      co_await context.append(prompt.tokens);
      if (is_computed) co_await context.prefill();
    }
    if (is_computed) co_await note_use(context);
    for (std::uint32_t i = 0; i < request_.n; ++i, ++options.seed) {
      const auto index = static_cast<std::uint32_t>(choices.size());
      Answer begun;
      if (request_.echoes) begun.shows_first = prompt.text;
      begun.is_computed = is_computed;
      choices.push_back(answer(co_await context.fork(), options, begun, index));
    }
  }
  Task<> note_use(const Context& context) {
    usage_.cached_count += context.found_token_count();
    usage_.misses = co_await explained_misses(request_.model);
  }

  Task<Answer> answer(Context context, GenerateOptions options, Answer out, std::uint32_t index) {
    options_.drafts.add_to(options);
    if (out.is_computed) co_await begin_answer(out, context, index);
    if (options.max_tokens == 0) {
      out.finish_reason = "length";
    } else {
      const Generation generation =
          request_.has_logprobs ? co_await with_logprobs(out, context, std::move(options), index)
                                : co_await context.generate(std::move(options))
                                      .stream([&](std::string_view more) -> Task<> {
                                        co_await begin_answer(out, context, index);
                                        co_await show(out, index, std::string(more));
                                      });
      co_await begin_answer(out, context, index);  // It may have no text at all.
      out.token_count = generation.tokens.size();
      out.finish_reason = finish_reason_name(generation.finish_reason);
    }
    if (request_.stream.is_on) co_await send(index, "", "", out.finish_reason);
    co_return out;
  }

  // The prompt is computed; nothing of the answer was shown.
  Task<> begin_answer(Answer& out, const Context& context, std::uint32_t index) {
    if (!std::exchange(out.is_computed, true)) co_await note_use(context);
    co_await show(out, index, std::exchange(out.shows_first, ""));
  }

  Task<Generation> with_logprobs(Answer& out, Context& context, GenerateOptions options,
                                 std::uint32_t index) {
    Logprobs all;
    ShownTokens tokens(options.stop);
    Generator generator = context.generate(std::move(options));
    std::size_t count = 0;
    while (const std::optional<Piece> piece = co_await generator.next()) {
      co_await begin_answer(out, context, index);
      // The last piece may bring only text that was held back, and no token of the answer.
      if (generator.answer().tokens.size() > count) {
        const std::vector<std::uint32_t> one(1, piece->token);
        tokens.draw(*piece, co_await request_.model.detokenize(one));
      }
      count = generator.answer().tokens.size();
      out.text += piece->text;
      const std::string one = co_await noted(all, tokens, tokens.show(piece->text));
      const bool has_any = !piece->text.empty() || !one.empty();
      if (request_.stream.is_on && has_any) co_await send(index, piece->text, one, nullptr);
    }
    const auto last = tokens.finish(generator.answer().finish_reason);
    const std::string one = co_await noted(all, tokens, last);
    if (request_.stream.is_on && !one.empty()) co_await send(index, "", one, nullptr);
    out.logprobs = all.str();
    co_return generator.answer();
  }

  // Notes the tokens in `all`. Returns them alone; empty if there are none.
  Task<std::string> noted(Logprobs& all, const ShownTokens& tokens,
                          std::vector<ShownTokens::Token> shown) {
    if (shown.empty()) co_return std::string();
    Logprobs these;
    for (const ShownTokens::Token& each : shown) {
      const std::size_t offset = tokens.characters_before(each.begin);
      co_await all.note(request_.model, each.piece, offset);
      co_await these.note(request_.model, each.piece, offset);
    }
    co_return these.str();
  }

  Task<> show(Answer& out, std::uint32_t index, std::string text) {
    out.text += text;
    if (request_.stream.is_on && !text.empty()) co_await send(index, text, "", nullptr);
  }

  static void write_choice(JsonWriter& json, std::uint32_t index, std::string_view text,
                           const std::string& logprobs, const char* finish_reason) {
    json.begin_object().key("index").number(index).key("text").text(text).key("logprobs");
    logprobs.empty() ? json.null() : json.raw(logprobs);
    json.key("finish_reason");
    finish_reason == nullptr ? json.null() : json.text(finish_reason);
    json.end_object();
  }
  // An object that is still open.
  JsonWriter chunk(std::uint32_t index, std::string_view text, const std::string& logprobs,
                   const char* finish_reason) const {
    JsonWriter json;
    identity_.write(json, "text_completion");
    json.key("choices").begin_array();
    write_choice(json, index, text, logprobs, finish_reason);
    json.end_array();
    if (request_.stream.has_usage) json.key("usage").null();
    return json;
  }
  Task<> send(std::uint32_t index, std::string text, std::string logprobs,
              const char* finish_reason) {
    JsonWriter json = chunk(index, text, logprobs, finish_reason);
    co_await events_->send(json.end_object().str());
  }
  Task<> report(std::uint32_t index, PromptProgress progress) {
    JsonWriter json = chunk(index, "", "", nullptr);
    json.key("prompt_progress");
    progress.write(json);
    co_await events_->send(json.end_object().str());
  }
  Task<> end_stream() {
    if (request_.stream.has_usage) {
      JsonWriter json;
      identity_.write(json, "text_completion");
      json.key("choices").begin_array().end_array().key("usage");
      write_usage(json, usage_);
      co_await events_->send(json.end_object().str());
    }
    co_await events_->send("[DONE]");
    co_await events_->finish();
  }
  Task<std::string> whole() {
    const std::vector<Answer> answers = co_await all_answers();
    JsonWriter json;
    identity_.write(json, "text_completion");
    json.key("choices").begin_array();
    for (std::uint32_t i = 0; i < answers.size(); ++i) {
      write_choice(json, i, answers[i].text, answers[i].logprobs, answers[i].finish_reason);
    }
    json.end_array().key("usage");
    write_usage(json, usage_);
    co_return json.end_object().str();
  }

  CompletionRequest request_;
  CompletionOptions options_;
  serve::Response response_;
  Identity identity_;
  std::optional<serve::LiveEvents> events_;  // If the request wants a stream.
  Usage usage_;
};

Task<> respond(serve::Request http, serve::Response response, CompletionOptions options) {
  const Json body = co_await request_body(http);
  LeftOut left_out;
  CompletionRequest request = co_await read_completion_request(body, left_out);
  left_out.tell(response);
  Completion completion(std::move(request), options, response);
  co_await completion.run();
}

Task<> handle(serve::Request request, serve::Response response, CompletionOptions options) {
  co_await answer(request, response, respond(request, response, options));
}

}  // namespace

QUIRE_HTTP_MAIN(handle)
