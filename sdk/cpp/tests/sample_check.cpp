// A program for inferlets_test.cc: tokens drawn by the program, by the device, and by the loop in
// the host are the same; the other forms of a distribution agree with it.
#include <algorithm>
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

Drawer drawer_of(const SamplerOptions& options) {
  DrawRule rule;
  rule.temperature = options.temperature;
  rule.top_k = options.top_k;
  rule.top_p = options.top_p;
  rule.min_p = options.min_p;
  return Drawer(rule, options.seed);
}

// From logits, which a hook changes so that they mean the same; a second context follows.
Task<std::vector<std::uint32_t>> by_logits(Context& prompt, SamplerOptions options) {
  Context context = co_await prompt.fork();
  Context other = co_await prompt.fork();
  GenerateOptions generate{.temperature = options.temperature,
                           .top_k = options.top_k,
                           .top_p = options.top_p,
                           .min_p = options.min_p,
                           .seed = options.seed,
                           .max_tokens = kTokenCount,
                           .ignore_stop_tokens = true};
  bool are_equal = true;
  generate.logits = [&](std::span<float> logits) -> Task<> {
    const std::vector<float> same = co_await other.next_logits();
    are_equal = are_equal && std::ranges::equal(logits, same);
    for (float& each : logits) each += 1.0f;
  };
  generate.on_token = [&](std::uint32_t token) { return other.append(token); };
  const Generation answer = co_await context.generate(generate).collect();
  co_await say("a second context follows", are_equal && context.tokens() == other.tokens());
  co_return answer.tokens;
}

Task<> healing(Context& prompt) {
  Context context = co_await Context::create(prompt.model());
  co_await context.append_text("The page of the project is at https:");
  const std::string before = co_await context.model().detokenize(context.tokens(), true);
  const Generation answer =
      co_await context.generate({.max_tokens = 4, .ignore_stop_tokens = true, .heal = true});
  const std::string after = co_await context.model().detokenize(context.tokens(), true);
  co_await say("a healed prompt stays", after == before + answer.text);
}

Task<std::vector<std::uint32_t>> by_device(Context& prompt, SamplerOptions options) {
  Context context = co_await prompt.fork();
  Drawer drawer = drawer_of(options);
  std::vector<std::uint32_t> tokens;
  while (tokens.size() < kTokenCount) {
    tokens.push_back((co_await context.draw(drawer)).token);
    co_await context.append(tokens.back());
  }
  co_return tokens;
}

// Drafts that are right, wrong in the middle, and wrong at once.
Task<std::vector<std::uint32_t>> by_drafts(Context& prompt, SamplerOptions options,
                                           std::vector<std::uint32_t> truth) {
  Context context = co_await prompt.fork();
  Drawer drawer = drawer_of(options);
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t round = 0; tokens.size() < kTokenCount; ++round) {
    const std::size_t count = std::min<std::size_t>(7, kTokenCount - tokens.size() - 1);
    std::vector<std::uint32_t> drafts(
        truth.begin() + static_cast<std::ptrdiff_t>(tokens.size()),
        truth.begin() + static_cast<std::ptrdiff_t>(tokens.size() + count));
    if (round % 3 != 0 && !drafts.empty()) drafts[drafts.size() / 2 * (round % 3 - 1)] ^= 1;
    const Draws draws = co_await context.verify(drafts, drawer);
    for (const DrawnToken& each : draws.tokens) tokens.push_back(each.token);
  }
  co_await say("the context knows its tokens",
               context.token_count() == prompt.token_count() + kTokenCount &&
                   (co_await context.flush()).seq_len == context.token_count());
  co_return tokens;
}

// A grammar holds for the loop of the host and of the program, and both give the same.
Task<> grammars(Context& prompt) {
  const Grammar grammar =
      co_await Grammar::regex(prompt.model(), "[a-z]{3}, which is why he said [a-z]{1,12}\\.");
  const GenerateOptions options{.temperature = 1.2, .seed = 4, .grammar = grammar};
  Context by_loop = co_await prompt.fork();
  const Generation whole = co_await by_loop.generate(options).collect();
  co_await say("the text is complete", whole.finish_reason != FinishReason::Length &&
                                           whole.text.size() > 5 && whole.text[3] == ',' &&
                                           whole.text.back() == '.');
  Context by_steps = co_await prompt.fork();
  Generator generator = by_steps.generate(options);
  std::string text;
  while (std::optional<Piece> piece = co_await generator.next()) text += piece->text;
  co_await say("step by step the same",
               text == whole.text && by_steps.tokens() == by_loop.tokens());
  Context constrained = co_await prompt.fork();
  co_await constrained.constrain(grammar);
  Drawer drawer(options.rule(), options.seed);
  drawer.constrain(constrained.matcher());
  while ((co_await constrained.verify(std::vector<std::uint32_t>(), drawer)).tokens.size() > 0) {
  }
  co_await say("drawn by the program the same", constrained.tokens() == by_loop.tokens());
  co_await constrained.rewind(prompt.token_count());
  Context again = co_await constrained.fork();
  const Generation second = co_await again.generate({.temperature = 1.2, .seed = 4}).collect();
  co_await say("rewound and forked the same", second.text == whole.text);
  const Result<Grammar> wrong = co_await attempt(Grammar::regex(prompt.model(), "[0-9"));
  co_await say("a wrong expression is refused",
               !wrong.ok() && wrong.error().code == ErrorCode::InvalidArgument);
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
  co_await say("all logits", logits.ok() && logits.value().values.size() ==
                                                prompt.model().info().vocabulary_size);
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
    co_await say("drafts give the same", tokens == co_await by_drafts(prompt, options, tokens));
    co_await say("logits give the same", tokens == co_await by_logits(prompt, options));
  }
  co_await forms(prompt);
  co_await texts(prompt);
  co_await healing(prompt);
  co_await grammars(prompt);
}

}  // namespace

QUIRE_MAIN(program)
