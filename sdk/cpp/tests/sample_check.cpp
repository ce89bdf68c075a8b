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

Task<Result<std::vector<std::uint32_t>>> by_hand(const Context& prompt, SamplerOptions options) {
  Context context = CO_TRY(co_await prompt.fork());
  Sampler sampler(options);
  std::vector<std::uint32_t> tokens;
  while (tokens.size() < kTokenCount) {
    const Distribution next = CO_TRY(co_await context.next_distribution(sampler.top_k_wanted()));
    tokens.push_back(sampler.draw(next.tokens, next.probabilities));
    CO_TRY(context.append(tokens.back()));
  }
  co_return tokens;
}

Task<Result<std::vector<std::uint32_t>>> by_device(const Context& prompt, SamplerOptions options) {
  Context context = CO_TRY(co_await prompt.fork());
  Sampler sampler(options);
  std::vector<std::uint32_t> tokens;
  while (tokens.size() < kTokenCount) {
    tokens.push_back(CO_TRY(co_await context.forward_sample(sampler)).token);
    CO_TRY(context.append(tokens.back()));
  }
  co_return tokens;
}

Task<Result<std::vector<std::uint32_t>>> by_host(const Context& prompt, SamplerOptions options) {
  Context context = CO_TRY(co_await prompt.fork());
  HostGeneration generation = CO_TRY(HostGeneration::start(context, options, kTokenCount, {}));
  std::vector<std::uint32_t> tokens;
  while (!generation.has_ended()) {
    for (const DrawnToken& each : CO_TRY(co_await generation.next(5))) {
      tokens.push_back(each.token);
    }
  }
  CO_TRY(say("the context knows its tokens",
             context.token_count() == prompt.token_count() + kTokenCount &&
                 context.tokens().back() == tokens.back()));
  co_return tokens;
}

Task<Result<void>> forms(const Context& prompt) {
  const Queue& queue = prompt.queue();
  Context context = CO_TRY(co_await prompt.fork());
  Embeds embeds = CO_TRY(Embeds::allocate(queue, 1));
  CO_TRY(co_await Future<ContextCounters>(
      abi::context::forward(context.handle(), embeds.handles().data(), 1)));
  const Distribution next = CO_TRY(co_await get_next_dist(queue, embeds[0], 4));
  const Numbers logprobs = CO_TRY(co_await get_logprobs(queue, embeds[0], next.tokens));
  bool agree = logprobs.values.size() == 4;
  for (std::size_t i = 0; agree && i < 4; ++i) {
    agree = std::fabs(std::exp(logprobs.values[i]) - next.probabilities[i]) < 1e-4f;
  }
  CO_TRY(say("logprobs agree", agree));
  const Numbers entropy = CO_TRY(co_await get_entropy(queue, embeds[0]));
  CO_TRY(say("entropy is positive", entropy.values.size() == 1 && entropy.values[0] > 0));
  const Numbers vector = CO_TRY(co_await get_embedding(queue, embeds[0]));
  CO_TRY(say("the embedding is as wide as the model",
             vector.values.size() == prompt.model().info().embedding_width));
  const Result<Numbers> logits = co_await get_logits(queue, embeds[0]);
  CO_TRY(say("logits need a grant",
             !logits.ok() && logits.error().code == ErrorCode::PermissionDenied));
  co_return {};
}

Task<Result<void>> program(std::vector<std::string>) {
  const Model model = CO_TRY(Model::open());
  Context prompt = CO_TRY(Context::create(model));
  CO_TRY(co_await prompt.append_text("The three primary colours are"));
  for (const SamplerOptions& options :
       {SamplerOptions{}, SamplerOptions{.temperature = 0.8, .seed = 3},
        SamplerOptions{.temperature = 1.3, .top_k = 50, .top_p = 0.9, .min_p = 0.01, .seed = 9}}) {
    const std::vector<std::uint32_t> tokens = CO_TRY(co_await by_hand(prompt, options));
    CO_TRY(say("the device draws the same", tokens == CO_TRY(co_await by_device(prompt, options))));
    CO_TRY(say("the host draws the same", tokens == CO_TRY(co_await by_host(prompt, options))));
  }
  co_return co_await forms(prompt);
}

}  // namespace

QUIRE_MAIN(program)
