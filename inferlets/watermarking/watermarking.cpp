// watermarking: writes a text that a detector with the same key recognizes, and detects such texts.
#include <cmath>
#include <set>

#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"Once upon a time, in a small town by the sea,"};
  std::uint64_t key = 1;
  double share = 0.5;
  double bias = 3.0;
  bool detect = false;
  GenerateOptions generate = {
      .temperature = 0.8, .top_k = 100, .max_tokens = 200, .ignore_stop_tokens = true};

  void read(OptionReader& in) {
    prompt.read(in);
    in.flag("detect", detect, "Say whether the prompt is watermarked, and write nothing");
    in.number("key", key, "Only a detector with the same key sees the watermark");
    in.number("share", share, "The share of all tokens that is green", {0.01, 0.99});
    in.number("bias", bias, "What is added to the logit of a green token; 0: none", {0, 100});
    in.generation(generate);
  }
};

// Whether `token` is green after `previous`: a keyed hash decides it anew for each previous token.
bool is_green(std::uint32_t previous, std::uint32_t token, const Options& options) {
  const std::uint64_t pair = std::uint64_t{previous} << 32 | token;
  return sampling::Random(sampling::Random(options.key).next() ^ pair).uniform() < options.share;
}

// How many standard deviations more green tokens there are than chance gives. A pair that is
// repeated counts once, since its color is not chance the second time.
std::string verdict(const std::vector<std::uint32_t>& tokens, const Options& options) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t i = 1; i < tokens.size(); ++i) pairs.emplace(tokens[i - 1], tokens[i]);
  const auto count = static_cast<double>(pairs.size());
  const auto green = static_cast<double>(std::ranges::count_if(
      pairs, [&](const auto& pair) { return is_green(pair.first, pair.second, options); }));
  const double deviation = std::sqrt(count * options.share * (1.0 - options.share));
  const double z = pairs.empty() ? 0.0 : (green - options.share * count) / deviation;
  return "z = " + std::to_string(z) + " of " + std::to_string(pairs.size()) +
         " pairs: " + (z > 4.0 ? "watermarked" : "not watermarked");
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  co_await context.append_text(co_await options.prompt.text());
  if (options.detect) {
    co_await session::send(verdict(context.tokens(), options) + "\n");
    co_return;
  }
  options.generate.reshape = [&](Distribution& next) {
    const std::uint32_t previous = context.tokens().back();
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (is_green(previous, next.tokens[i], options)) {
        next.probabilities[i] *= static_cast<float>(std::exp(options.bias));
      }
    }
  };
  const Generation text = co_await context.generate(options.generate).stream(session::send);
  co_await session::send("\n[" + verdict(text.tokens, options) + "]\n");
}

QUIRE_MAIN(program)
