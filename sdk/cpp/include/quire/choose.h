#pragma once
// Context::score and Context::choose: how probable the model finds whole texts, as what comes next.
//
//   const Choice verdict = co_await judge.choose({"sure", "maybe", "never"});
//   if (verdict.text() == "sure") ...
//
//   const Score score = co_await context.score(" Paris.");
//
// A text is all its tokens: its log-probability is the sum of theirs, each after those before it.
// Nothing is drawn and nothing is appended; turns that are queued become tokens, up to where the
// model's answer begins. All texts of a choice are computed side by side, in forks.
//
// Errors   invalid-argument for a text without a token, and for no texts at all; those of the calls.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/context.h"
#include "quire/outputs.h"
#include "quire/sampling.h"
#include "quire/task.h"

namespace quire {

struct Score {
  double log_probability = 0.0;  // Of the whole text, in nats.
  std::uint32_t token_count = 0;

  double mean_log_probability() const { return log_probability / token_count; }
};

struct Choice {
  std::size_t index = 0;  // The most probable text; the first of several that are alike.
  std::vector<std::string> texts;
  std::vector<Score> scores;               // Of each text.
  std::vector<double> probabilities = {};  // Of each text, among these: they add up to 1.

  const std::string& text() const QUIRE_LIFETIME_BOUND { return texts[index]; }
};

namespace detail {

inline constexpr std::size_t kReadCountMax = 256;  // Embeds of one read.

// The log-probability of `tokens`, after a context that is computed and whose last output is
// `first`. The fork reads all of them but the last, and has an output for each.
inline Task<Score> score_of(Context& context, std::vector<std::uint32_t> tokens) {
  Context fork = co_await context.fork();
  const Embeds first = co_await Embeds::allocate(fork.queue(), 1);
  const auto more_count = static_cast<std::uint32_t>(tokens.size() - 1);
  const Embeds more = co_await Embeds::allocate(fork.queue(), more_count);
  std::vector<Future<ContextCounters>> passes;
  passes.emplace_back(abi::context::forward(fork.handle(), first.handles().data(), 1));
  std::vector<std::int32_t> embeds = first.handles();
  if (more_count > 0) {
    co_await fork.append(std::span(tokens).first(more_count));
    passes.emplace_back(abi::context::forward(fork.handle(), more.handles().data(), more_count));
    embeds.insert(embeds.end(), more.handles().begin(), more.handles().end());
  }
  std::vector<Future<Numbers>> read;
  for (std::size_t at = 0; at < embeds.size(); at += kReadCountMax) {
    const std::size_t count = std::min(kReadCountMax, embeds.size() - at);
    read.push_back(get_logprobs_of(fork.queue(), std::span(embeds).subspan(at, count),
                                   std::span(tokens).subspan(at, count)));
  }
  // The error of a pass says more than that of a read after it.
  co_await gather(std::move(passes));
  Score score{.token_count = static_cast<std::uint32_t>(tokens.size())};
  for (const Numbers& each : co_await gather(std::move(read))) {
    for (const float nats : each.values) score.log_probability += static_cast<double>(nats);
  }
  co_return score;
}

inline Task<std::vector<std::uint32_t>> tokens_to_score(Model model, std::string text) {
  std::vector<std::uint32_t> tokens = co_await model.tokenize(text, {.parse_special = false});
  if (tokens.empty()) {
    co_await fail(ErrorCode::InvalidArgument, "a text without a token has no probability");
  }
  co_return tokens;
}

}  // namespace detail

inline Task<Score> Context::score(std::string text) {
  const std::vector<std::uint32_t> tokens =
      co_await detail::tokens_to_score(model_, std::move(text));
  co_await prefill();
  co_return co_await detail::score_of(*this, tokens);
}

inline Task<Choice> Context::choose(std::vector<std::string> texts) {
  if (texts.empty()) co_await fail(ErrorCode::InvalidArgument, "there is no text to choose");
  std::vector<Task<std::vector<std::uint32_t>>> tokens;
  for (const std::string& each : texts) tokens.push_back(detail::tokens_to_score(model_, each));
  std::vector<Task<Score>> scores;
  for (std::vector<std::uint32_t>& each : co_await gather(std::move(tokens))) {
    scores.push_back(detail::score_of(*this, std::move(each)));
  }
  co_await prefill();
  Choice choice{.texts = std::move(texts), .scores = co_await gather(std::move(scores))};
  const auto best = std::ranges::max_element(choice.scores, {}, &Score::log_probability);
  choice.index = static_cast<std::size_t>(best - choice.scores.begin());
  double sum = 0.0;
  for (const Score& each : choice.scores) {
    const double nats = each.log_probability - best->log_probability;
    choice.probabilities.push_back(sampling::exp2(nats * sampling::kLog2OfE));
    sum += choice.probabilities.back();
  }
  for (double& each : choice.probabilities) each /= sum;
  co_return choice;
}

}  // namespace quire
