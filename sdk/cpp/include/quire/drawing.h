#pragma once
// Tokens that the host draws: after a context, alone or while drafts are verified, at output
// embeddings, and in the host's own loop. The SDK makes every call of interface/draw.wit here.
//
//   Drawer drawer({.temperature = 0.8}, 7);  // A rule, and a seed.
//   const DrawnToken token = co_await context.draw(drawer);
//
//   const Draws draws = co_await context.verify(guess, drawer);  // See context.h.
//
//   std::vector<float> logits = co_await context.next_logits();  // A program may draw from its own.
//   const DrawnToken drawn = co_await drawer.draw(std::move(logits), context.tokens());
//
// A Drawer has the random numbers of its seed in their order: a draw uses one unless it is greedy or
// the token is forced by a grammar. So equal seeds give equal tokens, whether a program draws token
// by token, verifies drafts, or lets the host's loop run.
//
// Errors   as interface/draw.wit says; invalid-argument names the number of the rule and its range.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quire/annotations.h"
#include "quire/bindings.h"
#include "quire/draw_arithmetic.h"
#include "quire/draw_rule.h"
#include "quire/forward.h"
#include "quire/future.h"
#include "quire/grammar.h"
#include "quire/handle.h"
#include "quire/model.h"
#include "quire/out_of_range.h"
#include "quire/queue.h"
#include "quire/result.h"
#include "quire/sampling.h"
#include "quire/task.h"

namespace quire {

struct TokenProbability {
  std::uint32_t token = 0;
  float probability = 0.0f;  // Of the full softmax, before rule and grammar.

  double log_probability() const { return quire::log_probability(probability); }
};

struct DrawnToken : TokenProbability {
  bool is_forced = false;             // A grammar left no choice; no random number was used.
  std::vector<TokenProbability> top;  // The most probable ones, where they were asked for.
};

// Why no token was drawn, or no more will be. Numbers of interface/draw.wit.
enum class DrawEnd : std::uint32_t {
  None,
  StopToken,
  Length,
  Stopped,
  GrammarComplete,
  NoTokenAllowed,
};

struct Draws {
  DrawEnd end = DrawEnd::None;
  std::vector<DrawnToken> tokens;
  std::uint32_t draft_count = 0;  // Drafts that were computed, drawn or not.
};
template <>
struct FutureValue<Draws> {
  static Result<Draws> decode(std::span<const std::byte> bytes) {
    const std::string size = std::to_string(bytes.size());
    const Error broken{ErrorCode::Internal, "a record of draws of " + size + " bytes"};
    const auto take = [&bytes](void* to, std::size_t count) {
      if (bytes.size() < count) return false;
      std::memcpy(to, bytes.data(), count);
      bytes = bytes.subspan(count);
      return true;
    };
    std::uint32_t head[2];
    if (!take(head, sizeof head) || head[0] > 5) return broken;
    Draws draws{.end = static_cast<DrawEnd>(head[0]), .tokens = {}, .draft_count = 0};
    for (std::uint32_t each = 0; each < head[1]; ++each) {
      DrawnToken drawn;
      std::uint32_t rest[2];  // Flags, and how many come with it.
      const bool has_token = take(&drawn.token, 4) && take(&drawn.probability, 4);
      if (!has_token || !take(rest, sizeof rest)) return broken;
      drawn.is_forced = (rest[0] & 1) != 0;
      if (each == 0) draws.draft_count = rest[0] >> 8 & 0xff;
      for (std::uint32_t one = 0; one < rest[1]; ++one) {
        TokenProbability top;
        if (!take(&top.token, 4) || !take(&top.probability, 4)) return broken;
        drawn.top.push_back(top);
      }
      draws.tokens.push_back(std::move(drawn));
    }
    if (!bytes.empty()) return broken;
    return draws;
  }
};

// How tokens are drawn: a rule, the random numbers of a seed, and which tokens may come.
class Drawer {
 public:
  explicit Drawer(DrawRule rule = {}, std::uint64_t seed = 0)
      : rule_(std::move(rule)), seed_(seed), random_(seed) {}

  // Only tokens that every one of these allows; they advance by the tokens that are queued.
  Drawer& constrain(Matcher matcher) QUIRE_LIFETIME_BOUND {
    matchers_.push_back(std::move(matcher));
    return *this;
  }
  // Only tokens whose bit is set, as of Matcher::token_mask.
  Drawer& allow(std::vector<std::uint32_t> mask) QUIRE_LIFETIME_BOUND {
    mask_ = std::move(mask);
    return *this;
  }
  // The `count` most probable tokens come with each token.
  Drawer& report_top(std::uint32_t count) QUIRE_LIFETIME_BOUND {
    top_count_ = count;
    return *this;
  }
  // Every token is drawn, also where a grammar leaves no choice.
  Drawer& force_nothing() QUIRE_LIFETIME_BOUND {
    forces_ = false;
    return *this;
  }

  const DrawRule& rule() const QUIRE_LIFETIME_BOUND { return rule_; }
  std::uint64_t seed() const { return seed_; }
  const std::vector<Matcher>& matchers() const QUIRE_LIFETIME_BOUND { return matchers_; }
  const std::vector<std::uint32_t>& mask() const QUIRE_LIFETIME_BOUND { return mask_; }
  std::uint32_t top_count() const { return top_count_; }
  std::uint32_t flags(bool queues_token, bool counts_drafts = false) const {
    return (queues_token ? 1u : 0u) | (forces_ ? 0u : 2u) | (counts_drafts ? 4u : 0u);
  }
  std::vector<std::int32_t> matcher_handles() const {
    std::vector<std::int32_t> handles;
    for (const Matcher& each : matchers_) handles.push_back(each.handle());
    return handles;
  }

  // The next random numbers, none of which is used by that.
  std::vector<double> randoms(std::size_t count) {
    if (is_greedy(rule_)) return std::vector<double>(count, 0.0);
    while (ahead_.size() < count) ahead_.push_back(random_.uniform());
    return {ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  // The next `count` random numbers are used already.
  void skip(std::size_t count) {
    if (is_greedy(rule_)) return;
    randoms(count);
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(count));
    used_count_ += count;
  }
  // These were drawn: their random numbers are used.
  void note(const Draws& draws) {
    for (const DrawnToken& each : draws.tokens) note(each);
  }
  void note(const DrawnToken& drawn) {
    if (drawn.is_forced || ahead_.empty()) return;
    ahead_.pop_front();
    used_count_ += 1;
  }
  // The last draws were these, and count as not made: their random numbers come again.
  template <typename Drawn>
  void take_back(const Drawn& draws) {
    std::size_t used = used_count_;
    for (const DrawnToken& each : draws) used -= each.is_forced || used == 0 ? 0 : 1;
    random_ = sampling::Random(seed_);
    ahead_.clear();
    used_count_ = 0;
    skip(used);
  }

  // Draws from logits of the whole vocabulary, which the program made or changed. It follows the
  // rule and the seed, among the tokens that the mask and the matchers allow. Nothing is forced,
  // and no matcher advances. The penalties of the rule look at `history`, the tokens of the
  // context, of which the first has the place `history_first`. Probabilities are those of the
  // softmax of `logits`. From the logits of a model it draws the same tokens as the host, but the
  // two round in their own ways, which shows among tokens that are equally probable to six digits.
  // Errors: out-of-range if no token is allowed; invalid-argument if no logit is a finite number.
  Task<DrawnToken> draw(std::vector<float> logits, std::vector<std::uint32_t> history = {},
                        std::uint64_t history_first = 0);

  // The tokens that the mask and the matchers allow, as the bits of a mask; empty: every token.
  Task<std::vector<std::uint32_t>> allowed() const {
    std::vector<std::uint32_t> words = mask_;
    for (const Matcher& each : matchers_) {
      const std::vector<std::uint32_t> more = co_await each.token_mask();
      if (words.empty()) words.assign(more.size(), 0xffff'ffffu);
      for (std::size_t i = 0; i < words.size() && i < more.size(); ++i) words[i] &= more[i];
    }
    co_return words;
  }

  // The numbers of the rule are in their ranges; the text is that of the host.
  Result<void> check_rule() const {
    const std::optional<sampling::OutOfRange> wrong = sampling::out_of_range(rule_);
    if (!wrong) return {};
    return Error{ErrorCode::InvalidArgument, detail::out_of_range_text(*wrong)};
  }
  // The rule as the host has it: made when it is first needed. The host checks its numbers.
  Result<std::int32_t> rule_handle(const Model& model) {
    if (host_rule_.get() >= 0) return host_rule_.get();
    const std::vector<std::uint8_t> options = draw_options(rule_);
    host_rule_ = detail::SharedHandle(TRY(checked(
        abi::draw::create_rule(model.handle(), options.data(), detail::count_of(options.size())))));
    return host_rule_.get();
  }

 private:
  DrawRule rule_;
  std::uint64_t seed_;
  sampling::Random random_;
  std::deque<double> ahead_;  // Not used yet.
  std::size_t used_count_ = 0;
  std::vector<Matcher> matchers_;
  std::vector<std::uint32_t> mask_;
  std::uint32_t top_count_ = 0;
  bool forces_ = true;
  detail::SharedHandle host_rule_;
};

namespace detail {

// The probability of `token`, and the `top_count` most probable tokens, of the softmax of `logits`.
inline DrawnToken drawn_from(std::vector<float> logits, std::uint32_t token,
                             std::uint32_t top_count) {
  for (float& each : logits) {
    if (std::isnan(each)) each = -std::numeric_limits<float>::infinity();
  }
  sampling::softmax_numerators(logits);
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0);
  const auto probability_of = [&](std::uint32_t each) {
    return static_cast<float>(static_cast<double>(logits[each]) / sum);
  };
  DrawnToken drawn;
  drawn.token = token;
  drawn.probability = probability_of(token);
  std::vector<std::uint32_t> order;
  if (top_count > 0) sampling::rank(logits, top_count, order);
  for (const std::uint32_t each : order) drawn.top.push_back({each, probability_of(each)});
  return drawn;
}

}  // namespace detail

inline Task<DrawnToken> Drawer::draw(std::vector<float> logits, std::vector<std::uint32_t> history,
                                     std::uint64_t history_first) {
  co_await check_rule();
  if (std::ranges::none_of(logits, sampling::is_finite)) {
    co_await fail(ErrorCode::InvalidArgument,
                  "none of " + std::to_string(logits.size()) + " logits is a finite number");
  }
  const std::vector<std::uint32_t> mask = co_await allowed();
  std::vector<float> changed = logits;
  DrawScratch scratch;
  const std::optional<std::uint32_t> token = sampling::draw_token(
      changed, rule_, history, mask, randoms(1).front(), scratch, history_first);
  if (!token) co_await fail(ErrorCode::OutOfRange, "no token may follow");
  DrawnToken drawn = detail::drawn_from(std::move(logits), *token, top_count_);
  note(drawn);
  co_return drawn;
}

// A token at each of `embeds`, in one read. No matcher advances.
inline Task<Draws> draw_tokens(const Model& model, const Queue& queue,
                               std::vector<std::int32_t> embeds, Drawer& drawer) {
  const std::vector<double> randoms = drawer.randoms(embeds.size());
  const std::vector<std::int32_t> matchers = drawer.matcher_handles();
  const std::int32_t rule = co_await drawer.rule_handle(model);
  Draws draws = co_await Future<Draws>(
      abi::draw::draw_tokens(queue.handle(), embeds.data(), detail::count_of(embeds.size()), rule,
                             matchers.data(), detail::count_of(matchers.size()),
                             drawer.mask().data(), detail::count_of(drawer.mask().size()),
                             randoms.data(), detail::count_of(randoms.size()), drawer.top_count()));
  drawer.note(draws);
  co_return draws;
}

namespace detail {

// Computes what is queued in the context and draws the token after it, in one step.
inline Result<Future<Draws>> forward_draw(const Model& model, std::int32_t context, Drawer& drawer,
                                          bool queues_token) {
  const std::int32_t rule = TRY(drawer.rule_handle(model));
  const std::vector<std::int32_t> matchers = drawer.matcher_handles();
  return Future<Draws>(abi::draw::forward_draw(
      context, rule, matchers.data(), count_of(matchers.size()), drawer.mask().data(),
      count_of(drawer.mask().size()), drawer.randoms(1).front(), drawer.top_count(),
      drawer.flags(queues_token)));
}

// The same with drafts after what is queued.
inline Result<Future<Draws>> verify(const Model& model, std::int32_t context, Drawer& drawer,
                                    std::span<const std::uint32_t> drafts) {
  const std::int32_t rule = TRY(drawer.rule_handle(model));
  const std::vector<std::int32_t> matchers = drawer.matcher_handles();
  const std::vector<double> randoms = drawer.randoms(drafts.size() + 1);
  return Future<Draws>(abi::draw::verify(
      context, rule, matchers.data(), count_of(matchers.size()), drawer.mask().data(),
      count_of(drawer.mask().size()), drafts.data(), count_of(drafts.size()), randoms.data(),
      count_of(randoms.size()), drawer.top_count(), drawer.flags(true, !drafts.empty())));
}

// The loop in the host, which draws and queues token after token while the program does something
// else. It ends with its last owner; the token of the step under way may still be queued.
class HostLoop {
 public:
  static Result<HostLoop> start(const Model& model, std::int32_t context, Drawer& drawer,
                                std::uint32_t token_count_max,
                                std::span<const std::uint32_t> stop_tokens) {
    const std::int32_t rule = TRY(drawer.rule_handle(model));
    const std::vector<std::int32_t> matchers = drawer.matcher_handles();
    HostLoop out;
    out.handle_ = SharedHandle(TRY(checked(abi::draw::generate(
        context, rule, matchers.data(), count_of(matchers.size()), drawer.seed(), token_count_max,
        stop_tokens.data(), count_of(stop_tokens.size()), drawer.top_count(),
        drawer.flags(false)))));
    return out;
  }

  // Tokens that were not given yet, at least one unless it has ended.
  Future<Draws> next() const { return Future<Draws>(abi::draw::next_draws(handle_.get(), 1)); }
  // Ends it after the step under way; ready when it has ended.
  Future<void> stop() const { return Future<void>(abi::draw::stop_generation(handle_.get())); }

 private:
  SharedHandle handle_;
};

}  // namespace detail

}  // namespace quire
