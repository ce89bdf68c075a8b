// A program for inferlets_test.cc: tokens drawn by the program, by the device, and by the loop in
// the host are the same; the other forms of a distribution agree with it.
#include <cmath>

#include "quire/quire.h"

namespace {

using namespace quire;

constexpr std::uint32_t kTokenCount = 24;

Result<void> say(const std::string& what, bool holds) {
  return session::send(what + (holds ? ": yes\n" : ": no\n"));
}

Task<std::vector<std::uint32_t>> by_hand(Context& prompt, SamplerOptions options) {
  Context context = co_await prompt.fork();
  Sampler sampler(options);
  std::vector<std::uint32_t> tokens;
  while (tokens.size() < kTokenCount) {
    const Distribution next = co_await context.next_distribution(sampler.top_k_wanted());
    tokens.push_back(sampler.draw(next.tokens, next.probabilities));
    co_await context.append(tokens.back());
  }
  co_return tokens;
}

Task<std::vector<std::uint32_t>> by_device(Context& prompt, SamplerOptions options) {
  Context context = co_await prompt.fork();
  Sampler sampler(options);
  std::vector<std::uint32_t> tokens;
  while (tokens.size() < kTokenCount) {
    tokens.push_back((co_await context.draw(sampler)).token);
    co_await context.append(tokens.back());
  }
  co_return tokens;
}

Task<std::vector<std::uint32_t>> by_host(Context& prompt, SamplerOptions options) {
  Context context = co_await prompt.fork();
  const Generation answer = co_await context.generate({.temperature = options.temperature,
                                                       .top_k = options.top_k,
                                                       .top_p = options.top_p,
                                                       .min_p = options.min_p,
                                                       .seed = options.seed,
                                                       .max_tokens = kTokenCount,
                                                       .ignore_stop_tokens = true});
  const std::vector<std::uint32_t> tokens = answer.tokens;
  co_await say("the context knows its tokens",
               context.token_count() == prompt.token_count() + kTokenCount &&
                   context.tokens().back() == tokens.back());
  co_return tokens;
}

Task<> forms(Context& prompt) {
  const Queue& queue = prompt.queue();
  Context context = co_await prompt.fork();
  Embeds embeds = co_await Embeds::allocate(queue, 1);
  co_await Future<ContextCounters>(
      abi::context::forward(context.handle(), embeds.handles().data(), 1));
  const Distribution next = co_await get_next_dist(queue, embeds[0], 4);
  const Numbers logprobs = co_await get_logprobs(queue, embeds[0], next.tokens);
  bool agree = logprobs.values.size() == 4;
  for (std::size_t i = 0; agree && i < 4; ++i) {
    agree = std::fabs(std::exp(logprobs.values[i]) - next.probabilities[i]) < 1e-4f;
  }
  co_await say("logprobs agree", agree);
  const Numbers entropy = co_await get_entropy(queue, embeds[0]);
  co_await say("entropy is positive", entropy.values.size() == 1 && entropy.values[0] > 0);
  const Numbers vector = co_await get_embedding(queue, embeds[0]);
  co_await say("the embedding is as wide as the model",
               vector.values.size() == prompt.model().info().embedding_width);
  const Result<Numbers> logits = co_await attempt(get_logits(queue, embeds[0]));
  co_await say("logits need a grant",
               !logits.ok() && logits.error().code == ErrorCode::PermissionDenied);
}

// Whole texts, and a stop text that the context does not keep.
Task<> texts(Context& prompt) {
  const std::vector<std::uint32_t> tokens =
      co_await prompt.model().tokenize(" red, yellow and blue");
  Context context = co_await prompt.fork();
  double sum = 0.0;
  for (const std::uint32_t each : tokens) {
    const Distribution next =
        co_await context.next_distribution(prompt.model().info().vocabulary_size);
    sum += log_probability(next.probability_of(each));
    co_await context.append(each);
  }
  const Score score = co_await prompt.score(" red, yellow and blue");
  co_await say("a score is the sum over its tokens",
               score.token_count == tokens.size() && std::fabs(score.log_probability - sum) < 1e-3);
  const Choice choice = co_await prompt.choose({" forks", " red", " Wednesday afternoon"});
  co_await say("the choice is red", choice.text() == " red" && choice.probabilities[1] > 0.5);
  Context cut = co_await prompt.fork();
  const Generation answer = co_await cut.generate({.stop = {","}, .cut_stop_text = true});
  const std::uint32_t length = cut.token_count();
  co_await say("a stop text is cut",
               answer.finish_reason == FinishReason::StopText &&
                   (co_await cut.model().detokenize(answer.tokens)) == answer.text &&
                   length == prompt.token_count() + answer.tokens.size() &&
                   (co_await cut.flush()).seq_len == length);
}

Task<> program(std::vector<std::string>) {
  const Model model = co_await Model::open();
  Context prompt = co_await Context::create(model);
  co_await prompt.append_text("The three primary colours are");
  for (const SamplerOptions& options :
       {SamplerOptions{}, SamplerOptions{.temperature = 0.8, .seed = 3},
        SamplerOptions{.temperature = 1.3, .top_k = 50, .top_p = 0.9, .min_p = 0.01, .seed = 9}}) {
    const std::vector<std::uint32_t> tokens = co_await by_hand(prompt, options);
    co_await say("the device draws the same", tokens == co_await by_device(prompt, options));
    co_await say("the host draws the same", tokens == co_await by_host(prompt, options));
  }
  co_await forms(prompt);
  co_await texts(prompt);
}

}  // namespace

QUIRE_MAIN(program)
