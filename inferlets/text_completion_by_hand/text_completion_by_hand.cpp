// text_completion_by_hand: text_completion with every call made by hand.
//
// The program allocates pages and embeds, embeds the prompt, and passes it through the model chunk
// by chunk (prefill). Then, token by token, it reads the distribution, draws a token, shows it,
// embeds it and passes it through the model. The program text_completion does the same with the
// high level of the SDK.
#include <algorithm>
#include <numeric>

#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt;
  std::string system;
  bool chat = false;
  GenerateOptions generate;

  void read(OptionReader& in) {
    prompt.read(in);
    in.text("system", system, "Instructions to the model, with --chat");
    in.flag("chat", chat, "Answer the prompt instead of continuing it");
    in.generation(generate);
  }
};

// Tokens of one prefill pass: enough for a full batch, and within every quota of embeds.
constexpr std::uint32_t kChunkTokenCount = 512;

// The KV pages of one text and the embeds that its passes read and write.
struct Sequence {
  Queue queue;
  std::uint32_t page_size = 0;
  KvPages pages;
  Embeds inputs;                  // One for each token of a pass.
  Embeds output;                  // Of the last token of a pass.
  std::uint32_t token_count = 0;  // Written to the pages, or on the way there.
};

Result<Sequence> open_sequence(const Model& model, std::uint32_t prompt_token_count) {
  Sequence out;
  out.queue = TRY(Queue::create(model));
  out.page_size = model.info().page_size;
  out.pages = TRY(KvPages::allocate(out.queue, 0));
  out.inputs = TRY(Embeds::allocate(out.queue, std::min(prompt_token_count, kChunkTokenCount)));
  out.output = TRY(Embeds::allocate(out.queue, 1));
  return out;
}

// Passes `tokens` (at most one chunk) through the model after what the sequence holds. Nothing
// waits: the future is ready when the pass is done.
Result<Future<void>> pass(Sequence& sequence, std::span<const std::uint32_t> tokens,
                          bool want_output) {
  const auto count = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t length = sequence.token_count + count;
  const std::uint32_t pages_wanted = (length + sequence.page_size - 1) / sequence.page_size;
  if (pages_wanted > sequence.pages.count()) {
    TRY(sequence.pages.grow(pages_wanted - sequence.pages.count()));
  }
  std::vector<std::uint32_t> positions(count);
  std::iota(positions.begin(), positions.end(), sequence.token_count);
  const std::span<const std::int32_t> embeds = std::span(sequence.inputs.handles()).first(count);
  TRY(embed_txt(sequence.queue, embeds, tokens, positions));

  // Read every page that holds something; write to those that have a free slot.
  const std::span<const std::int32_t> pages = sequence.pages.handles();
  const std::uint32_t pages_read =
      (sequence.token_count + sequence.page_size - 1) / sequence.page_size;
  const std::uint32_t pages_full = sequence.token_count / sequence.page_size;
  Future<void> done = forward(
      sequence.queue,
      {.input_pages = pages.first(pages_read),
       .input_embeds = embeds,
       .output_pages = pages.subspan(pages_full),
       .output_embeds = want_output ? std::span<const std::int32_t>(sequence.output.handles())
                                    : std::span<const std::int32_t>()});
  sequence.token_count = length;
  return done;
}

// A pass and the distribution after its last token: one step of the device, under way.
struct Step {
  Future<void> passed;
  Future<Distribution> next;
};

Result<Step> begin_step(Sequence& sequence, std::span<const std::uint32_t> tokens,
                        const Sampler& sampler) {
  Future<void> passed = TRY(pass(sequence, tokens, true));
  return Step{std::move(passed),
              get_next_dist(sequence.queue, sequence.output[0], sampler.top_k_wanted())};
}

// All of the prompt; its last chunk is the first step.
Task<Step> prefill(Sequence& sequence, std::vector<std::uint32_t> prompt, const Sampler& sampler) {
  std::span<const std::uint32_t> rest = prompt;
  for (; rest.size() > kChunkTokenCount; rest = rest.subspan(kChunkTokenCount)) {
    Future<void> passed = co_await pass(sequence, rest.first(kChunkTokenCount), false);
    co_await std::move(passed);
  }
  co_return co_await begin_step(sequence, rest, sampler);
}

Task<std::vector<std::uint32_t>> tokens_of_prompt(const Model& model, const Options& options) {
  const std::string prompt = co_await options.prompt.text();
  if (!options.chat) co_return co_await model.tokenize(prompt, {.begin_of_text = true});
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  messages.push_back({"user", prompt});
  co_return co_await model.tokenize_chat(messages, true);
}

// The token drawn last is never computed, so a prompt that fills the context still gets one.
Result<StopOptions> stop_options(const GenerateOptions& generate, const ModelInfo& info,
                                 std::size_t prompt_count) {
  if (prompt_count == 0) return Error{ErrorCode::InvalidArgument, "the prompt has no token"};
  if (prompt_count > info.context_length) {
    return Error{ErrorCode::OutOfRange, "the prompt has " + std::to_string(prompt_count) +
                                            " tokens; the model's context holds " +
                                            std::to_string(info.context_length)};
  }
  StopOptions stop = generate.stop_options(info);
  const auto room = static_cast<std::uint32_t>(info.context_length - prompt_count + 1);
  stop.token_count_max = std::min(stop.token_count_max, room);
  return stop;
}

Result<void> show(const std::string& text) {
  return text.empty() ? Result<void>() : session::send(text);
}

Task<> program(Options options) {
  const Model model = co_await Model::open();
  const std::vector<std::uint32_t> prompt = co_await tokens_of_prompt(model, options);
  StopRules rules(co_await stop_options(options.generate, model.info(), prompt.size()));
  Sequence sequence = co_await open_sequence(model, static_cast<std::uint32_t>(prompt.size()));
  const GenerateOptions& how = options.generate;
  Sampler sampler({.temperature = how.temperature,
                   .top_k = how.top_k,
                   .top_p = how.top_p,
                   .min_p = how.min_p,
                   .seed = how.seed});

  Step step = co_await prefill(sequence, prompt, sampler);
  while (!rules.ended()) {
    co_await std::move(step.passed);
    const Distribution next = co_await std::move(step.next);
    const std::uint32_t token = sampler.draw(next.tokens, next.probabilities);
    if (!rules.accept_token(token)) break;
    Future<std::string> bytes = model.detokenize({token});
    // The device goes on while the text is made and shown. (After a stop text, this last step is
    // not used.)
    if (!rules.full()) step = co_await begin_step(sequence, {&token, 1}, sampler);
    co_await show(rules.accept_bytes(co_await std::move(bytes)));
  }
  co_await show(rules.finish());
}

QUIRE_MAIN(program)
