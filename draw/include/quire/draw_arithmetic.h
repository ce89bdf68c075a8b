#pragma once
// The arithmetic of a DrawRule: how logits or probabilities become a token.
//
// Hosts and programs include the same code, so they draw the same token from the same numbers. All
// arithmetic is IEEE double with +, -, *, / and the square root (which IEEE 754 rounds exactly) in
// a fixed order, without libm, in Wasm and natively. The header includes only the standard library.
//
// The parts of a rule act in this order.
//
// On logits, in f32, each step rounded once:
//   1. logit_bias is added. It comes first because it changes what the model says; the penalties
//      then act on the changed logits, as they do in llama.cpp and in OpenAI's definition.
//   2. repetition_penalty divides the positive logits of past tokens and multiplies the others (the
//      meaning of Hugging Face and llama.cpp). presence_penalty and frequency_penalty are then
//      subtracted, the second as often as the token occurred (OpenAI's meaning; the counts are of
//      the tokens in the window, from penalty_first on). One rounding serves all three.
//   3. DRY ("don't repeat yourself", by p-e-w): a token that would continue a repetition of the
//      last n tokens loses multiplier * base^(n - allowed_length), if n >= allowed_length. No
//      repetition reaches across a breaker, and a breaker itself is never penalized.
//   4. The mask drops the tokens that may not come. It acts after the penalties so that these do
//      not depend on it, and before everything that compares tokens with each other.
//   5. top_n_sigma drops logits below the largest one minus n standard deviations of the logits
//      that are left. It is a statement about logits, so it acts before the softmax.
//
// On probabilities, which fall (ties by rising token):
//   6. top_k keeps the first k.
//   7. temperature raises each share to the power of 1 / temperature.
//   8. typical_p keeps the tokens whose surprise is nearest to the entropy until they hold that
//      share. It needs a distribution that is whole, so it acts before the next two.
//   9. top_p keeps the fewest tokens that hold that share of what is left.
//  10. min_p keeps tokens of at least that share of the most probable one that is left.
//  11. XTC ("exclude top choices"): with probability xtc_probability, all tokens go that hold at
//      least xtc_threshold of what is left, except the least probable of them. Above a threshold of
//      0.5 there is at most one such token, and nothing goes. It acts last so that it chooses among
//      sensible tokens only. Its coin is made from the random number of the draw (second_random).
//  12. The draw: the first token whose running sum exceeds random * the sum of all.
// Temperature, top-k, top-p and min-p keep the order and the bits that Sampler has.
//
// At least one token always stays. Temperature 0 takes the first token after step 5. Each draw uses
// one random number.
//
// A rule for which adjusts_logits() is false draws from the probabilities of get_next_dist: use
// draw_index. Other rules draw from logits: draw_token does what the host does with them.
//
// Thread   any; the scratch memory is the caller's.
// Errors   none: whatever the numbers are, some allowed token comes out. A logit that is not a
//          number counts as one that cannot come. draw_token gives nothing if no token is allowed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "quire/draw_rule.h"
#include "quire/sampling.h"

namespace quire {

// Memory that draws use. It is kept so that a steady state allocates nothing.
struct DrawScratch {
  std::vector<double> weights{};
  std::vector<double> distances{};
  std::vector<std::uint32_t> ranks{};     // Which ranks typical_p kept, rising.
  std::vector<std::uint32_t> counts{};    // For each token; all zero between calls.
  std::vector<std::uint32_t> occurred{};  // The tokens whose counts are not zero.
  std::vector<std::uint32_t> match_lengths{};
  std::vector<std::uint32_t> breakers{};
  std::vector<std::uint32_t> tokens{};  // The candidates, rising,
  std::vector<float> logits{};          // and their logits, then their probabilities.
  std::vector<std::uint32_t> order{};
  std::vector<float> probabilities{};
};

namespace sampling {

// A second number in [0, 1) that the first one decides: the bits of the double, one step of
// splitmix64, the upper 53 bits. It is as good as independent of the first.
inline double second_random(double random) {
  std::uint64_t mixed = std::bit_cast<std::uint64_t>(random) + 0x9e3779b97f4a7c15ull;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
  mixed ^= mixed >> 31;
  return static_cast<double>(mixed >> 11) * 0x1.0p-53;
}

inline bool is_finite(float value) {
  return value - value == 0.0f;
}

// Rounds a logit to f32 and keeps it finite, so that a huge penalty does not make an infinity.
inline float rounded_logit(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(value > kMost ? kMost : value < -kMost ? -kMost : value);
}

inline std::span<const std::uint32_t> last_tokens(std::span<const std::uint32_t> history,
                                                  std::uint32_t count) {
  return history.last(std::min<std::size_t>(history.size(), count));
}

// Step 2.
inline void penalize_tokens(std::span<float> logits, const DrawRule& rule,
                            std::span<const std::uint32_t> history, std::uint64_t history_first,
                            DrawScratch& scratch) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  scratch.counts.resize(logits.size(), 0);
  scratch.occurred.clear();
  const std::span<const std::uint32_t> window = last_tokens(history, rule.penalty_window);
  std::uint64_t place = history_first + (history.size() - window.size());
  for (const std::uint32_t token : window) {
    const bool is_counted = place++ >= rule.penalty_first;
    if (token >= logits.size()) continue;
    // One more than how often it is counted, so that 0 is a token that did not occur.
    std::uint32_t& count = scratch.counts[token];
    if (count == 0) scratch.occurred.push_back(token);
    count += (count == 0 ? 1u : 0u) + (is_counted ? 1u : 0u);
  }
  for (const std::uint32_t token : scratch.occurred) {
    const double count = scratch.counts[token] - 1;
    scratch.counts[token] = 0;
    if (!is_finite(logits[token])) continue;
    double logit = static_cast<double>(logits[token]);
    logit = logit > 0.0 ? logit / rule.repetition_penalty : logit * rule.repetition_penalty;
    const double presence = count > 0.0 ? rule.presence_penalty : 0.0;
    const double subtracted = count * rule.frequency_penalty + presence;
    logits[token] = rounded_logit(logit - subtracted);
  }
}

// multiplier * base^exponent by repeated squaring, at most 1e30.
inline double repetition_cost(double multiplier, double base, std::uint32_t exponent) {
  constexpr double kMost = 1e30;
  double power = 1.0;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power *= base;
    base *= base;
  }
  const double cost = multiplier * power;
  return cost < kMost ? cost : kMost;
}

// For each place i of the reversed history: how many tokens from there equal its first ones
// (Gusfield's Z algorithm, so linear also where one token repeats a hundred thousand times).
inline void match_beginnings(std::span<const std::uint32_t> history,
                             std::vector<std::uint32_t>& lengths) {
  const std::size_t count = history.size();
  const auto reversed = [&](std::size_t i) { return history[count - 1 - i]; };
  lengths.assign(count, 0);
  std::size_t begin = 0, end = 0;  // The match that reaches furthest.
  for (std::size_t i = 1; i < count; ++i) {
    std::size_t length = i < end ? std::min<std::size_t>(end - i, lengths[i - begin]) : 0;
    while (i + length < count && reversed(length) == reversed(i + length)) ++length;
    lengths[i] = static_cast<std::uint32_t>(length);
    if (i + length > end) {
      begin = i;
      end = i + length;
    }
  }
}

// Step 3.
inline void penalize_repetitions(std::span<float> logits, const DrawRule& rule,
                                 std::span<const std::uint32_t> history, DrawScratch& scratch) {
  const std::span<const std::uint32_t> last = last_tokens(history, rule.dry_window);
  scratch.breakers.assign(rule.dry_breakers.begin(), rule.dry_breakers.end());
  std::sort(scratch.breakers.begin(), scratch.breakers.end());
  const auto is_breaker = [&](std::uint32_t token) {
    return std::binary_search(scratch.breakers.begin(), scratch.breakers.end(), token);
  };
  std::uint32_t unbroken = 0;  // Tokens at the end without a breaker.
  while (unbroken < last.size() && !is_breaker(last[last.size() - 1 - unbroken])) ++unbroken;
  if (unbroken == 0) return;
  match_beginnings(last, scratch.match_lengths);
  scratch.counts.resize(logits.size(), 0);
  scratch.occurred.clear();
  for (std::size_t i = 1; i < last.size(); ++i) {
    const std::uint32_t length = std::min(scratch.match_lengths[i], unbroken);
    if (length == 0) continue;
    const std::uint32_t next = last[last.size() - i];  // The token after the earlier occurrence.
    if (next >= logits.size() || is_breaker(next)) continue;
    if (scratch.counts[next] == 0) scratch.occurred.push_back(next);
    scratch.counts[next] = std::max(scratch.counts[next], length);
  }
  for (const std::uint32_t token : scratch.occurred) {
    const std::uint32_t length = scratch.counts[token];
    scratch.counts[token] = 0;
    if (length < rule.dry_allowed_length || !is_finite(logits[token])) continue;
    const double cost =
        repetition_cost(rule.dry_multiplier, rule.dry_base, length - rule.dry_allowed_length);
    logits[token] = rounded_logit(static_cast<double>(logits[token]) - cost);
  }
}

// Steps 1 to 3, in place. `history` holds the tokens of the context, oldest first. Only the last
// history_window(rule) of them are read, so earlier ones may be left out. The first token of
// `history` has the place `history_first` in the context. Tokens beyond the logits are ignored.
inline void adjust_logits(std::span<float> logits, const DrawRule& rule,
                          std::span<const std::uint32_t> history, DrawScratch& scratch,
                          std::uint64_t history_first = 0) {
  for (const LogitBias& each : rule.logit_bias) {
    if (each.token >= logits.size() || !is_finite(logits[each.token])) continue;
    float& logit = logits[each.token];
    logit = rounded_logit(static_cast<double>(logit) + static_cast<double>(each.bias));
  }
  if (penalizes_tokens(rule)) penalize_tokens(logits, rule, history, history_first, scratch);
  if (penalizes_repetitions(rule)) penalize_repetitions(logits, rule, history, scratch);
}

// Step 4: the tokens that may come and their values, rising by token. Bit i % 32 of word i / 32 of
// the mask says that token i may come; an empty mask allows all tokens.
inline void collect_allowed(std::span<const float> values, std::span<const std::uint32_t> mask,
                            std::vector<std::uint32_t>& tokens, std::vector<float>& kept) {
  if (mask.empty()) {
    tokens.resize(values.size());
    for (std::uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = i;
    kept.assign(values.begin(), values.end());
    return;
  }
  const std::size_t word_count = std::min((values.size() + 31) / 32, mask.size());
  const auto bits_of = [&](std::size_t word) {  // Bits beyond the last token mean nothing.
    const std::size_t left = values.size() - word * 32;
    return left < 32 ? mask[word] & ((1u << left) - 1) : mask[word];
  };
  std::size_t count = 0;
  for (std::size_t word = 0; word < word_count; ++word) {
    count += static_cast<std::size_t>(std::popcount(bits_of(word)));
  }
  tokens.resize(count);
  kept.resize(count);
  std::size_t next = 0;
  for (std::size_t word = 0; word < word_count; ++word) {
    for (std::uint32_t bits = bits_of(word); bits != 0; bits &= bits - 1, ++next) {
      const std::size_t token = word * 32 + static_cast<std::size_t>(std::countr_zero(bits));
      tokens[next] = static_cast<std::uint32_t>(token);
      kept[next] = values[token];
    }
  }
}

// Step 5. The mean and the deviation are of the finite logits.
inline void keep_within_sigma(double sigma_count, std::vector<std::uint32_t>& tokens,
                              std::vector<float>& logits) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  double count = 0.0, sum = 0.0, squares = 0.0;
  double largest = -std::numeric_limits<double>::infinity();
  for (const float each : logits) {
    if (!is_finite(each)) continue;
    const double logit = static_cast<double>(each);
    count += 1.0;
    sum += logit;
    largest = logit > largest ? logit : largest;
  }
  if (count == 0.0) return;
  const double mean = sum / count;
  for (const float each : logits) {
    if (!is_finite(each)) continue;
    const double distance = static_cast<double>(each) - mean;
    squares += distance * distance;
  }
  const double least = largest - sigma_count * std::sqrt(squares / count);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!(static_cast<double>(logits[i]) >= least)) continue;
    tokens[kept] = tokens[i];
    logits[kept++] = logits[i];
  }
  tokens.resize(kept);
  logits.resize(kept);
}

// Steps 4 and 5 into scratch.tokens and scratch.logits.
inline void collect_candidates(std::span<const float> logits, const DrawRule& rule,
                               std::span<const std::uint32_t> mask, DrawScratch& scratch) {
  collect_allowed(logits, mask, scratch.tokens, scratch.logits);
  if (rule.top_n_sigma > 0.0) keep_within_sigma(rule.top_n_sigma, scratch.tokens, scratch.logits);
}

// The first of the largest logits; 0 if there is no number among them.
inline std::size_t index_of_largest(std::span<const float> logits) {
  float largest = -std::numeric_limits<float>::infinity();
  std::size_t index = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > largest)) continue;
    largest = logits[i];
    index = i;
  }
  return index;
}

// Eight logits become e^(logit - largest): the operations of exp2(), side by side and without
// branches, so that compilers make vector instructions of them.
inline void softmax_lanes(float* logits, double largest) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  double power[kLanes], x[kLanes], sum[kLanes];
  std::int32_t whole[kLanes];
  const auto all_bits_if = [](bool condition) {
    return 0ull - static_cast<std::uint64_t>(condition);
  };
  QUIRE_UNROLLED
  for (std::size_t i = 0; i < kLanes; ++i) {
    power[i] = (static_cast<double>(logits[i]) - largest) * kLog2OfE;
  }
  QUIRE_UNROLLED
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint64_t counts = all_bits_if(power[i] >= -1022.0);
    const double within = std::bit_cast<double>(std::bit_cast<std::uint64_t>(power[i]) & counts);
    whole[i] = static_cast<std::int32_t>(within - 0.5);
    x[i] = (within - whole[i]) * kLn2;
    sum[i] = 1.0;
  }
  QUIRE_UNROLLED
  for (double term : kExpTerms) {
    QUIRE_UNROLLED
    for (std::size_t i = 0; i < kLanes; ++i) sum[i] = 1.0 + sum[i] * (x[i] * term);
  }
  QUIRE_UNROLLED
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint64_t counts = all_bits_if(power[i] >= -1022.0);
    const auto biased = static_cast<std::uint64_t>(std::int64_t{whole[i]} + 1023);
    const double numerator = sum[i] * std::bit_cast<double>(biased << 52);
    logits[i] =
        static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(numerator) & counts));
  }
}

// In place: e^(logit - the largest), so the largest becomes 1. Nothing divides them by their sum,
// because a draw looks at shares only.
inline void softmax_numerators(std::span<float> logits) {
  if (logits.empty()) return;
  const double largest = static_cast<double>(logits[index_of_largest(logits)]);
  std::size_t done = 0;
  for (; done + kLanes <= logits.size(); done += kLanes) {
    softmax_lanes(logits.data() + done, largest);
  }
  float rest[kLanes];
  std::fill_n(rest, kLanes, -std::numeric_limits<float>::infinity());
  std::copy(logits.begin() + static_cast<std::ptrdiff_t>(done), logits.end(), rest);
  softmax_lanes(rest, largest);
  std::copy_n(rest, logits.size() - done, logits.begin() + static_cast<std::ptrdiff_t>(done));
}

// Indices of the `count` largest of `values`, falling, ties by rising index. None is NaN.
inline void rank(std::span<const float> values, std::size_t count,
                 std::vector<std::uint32_t>& order) {
  order.resize(values.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return values[a] > values[b] || (values[a] == values[b] && a < b);
  };
  if (count < order.size()) {
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(order.begin(), end, order.end(), before);
    order.resize(count);
  }
  std::sort(order.begin(), order.end(), before);
}

// How many candidates step 6 keeps.
inline std::size_t top_k_count(const DrawRule& rule, std::size_t count) {
  return rule.top_k > 0 && rule.top_k < count ? rule.top_k : count;
}

// Step 8: scratch.weights keeps the typical ones of its first `count` weights, in their order, and
// scratch.ranks says which they were. Gives how many are left.
inline std::size_t keep_typical(std::size_t count, double typical_p, DrawScratch& scratch) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  std::vector<double>& weights = scratch.weights;
  double total = 0.0;
  for (std::size_t i = 0; i < count; ++i) total += weights[i];
  const double log_total = log2(total);
  scratch.distances.resize(count);
  scratch.ranks.clear();
  double entropy = 0.0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (weights[i] == 0.0) continue;
    const double surprise = log_total - log2(weights[i]);
    scratch.distances[i] = surprise;
    scratch.ranks.push_back(i);
    entropy += weights[i] / total * surprise;
  }
  for (const std::uint32_t i : scratch.ranks) {
    const double distance = scratch.distances[i] - entropy;
    scratch.distances[i] = distance < 0.0 ? -distance : distance;
  }
  std::sort(scratch.ranks.begin(), scratch.ranks.end(), [&](std::uint32_t a, std::uint32_t b) {
    const double first = scratch.distances[a], second = scratch.distances[b];
    return first < second || (first == second && a < b);
  });
  const double share_max = typical_p * total;
  double kept = 0.0;
  std::size_t kept_count = 0;
  while (kept_count < scratch.ranks.size() && (kept_count == 0 || kept < share_max)) {
    kept += weights[scratch.ranks[kept_count++]];
  }
  scratch.ranks.resize(kept_count);
  std::sort(scratch.ranks.begin(), scratch.ranks.end());
  for (std::size_t i = 0; i < kept_count; ++i) weights[i] = weights[scratch.ranks[i]];
  return kept_count;
}

// Whether the coin of step 11 says that the top choices go.
inline bool xtc_applies(const DrawRule& rule, double random) {
  return rule.xtc_probability > 0.0 && second_random(random) < rule.xtc_probability;
}

// Step 11: the rank of the first token that stays, of weights that add up to `kept`.
inline std::size_t first_after_xtc(std::span<const double> weights, double kept,
                                   const DrawRule& rule, double random) {
  if (!xtc_applies(rule, random)) return 0;
  std::size_t choices = 0;
  while (choices < weights.size() && weights[choices] / kept >= rule.xtc_threshold) ++choices;
  return choices > 1 ? choices - 1 : 0;
}

// Step 12 among the weights from `first` on, which add up to `kept`.
inline std::size_t draw_kept(std::span<const double> weights, std::size_t first, double kept,
                             double random) {
  const double wanted = random * kept;
  double passed = 0.0;
  for (std::size_t i = first; i < weights.size(); ++i) {
    passed += weights[i];
    if (wanted < passed) return i;
  }
  return weights.size() - 1;
}

// Steps 11 and 12: the rank of the drawn one of the weights that are left, which add up to `kept`.
inline std::size_t draw_after_cuts(std::span<const double> weights, double kept,
                                   const DrawRule& rule, double random) {
  const std::size_t first = first_after_xtc(weights, kept, rule, random);
  if (first > 0) {
    kept = 0.0;
    for (std::size_t i = first; i < weights.size(); ++i) kept += weights[i];
  }
  return draw_kept(weights, first, kept, random);
}

// Steps 9 to 12: the rank of the drawn one of the weights, which fall and add up to `total`.
inline std::size_t draw_weighed(std::span<const double> weights, double total, const DrawRule& rule,
                                double random) {
  const double share_max = rule.top_p < 1.0 ? rule.top_p * total : total;
  const double least = rule.min_p * weights[0];
  double kept = 0.0;
  std::size_t kept_count = 0;
  for (; kept_count < weights.size(); ++kept_count) {
    const double each = weights[kept_count];
    if (kept_count > 0 && (kept >= share_max || each < least || each == 0.0)) break;
    kept += each;
  }
  return draw_after_cuts(weights.first(kept_count), kept, rule, random);
}

// Steps 6 to 12: the rank of the drawn token. `probabilities` fall and need not add up to 1.
inline std::size_t draw_index(std::span<const float> probabilities, const DrawRule& rule,
                              double random, DrawScratch& scratch) {
  if (is_greedy(rule) || probabilities.empty()) return 0;
  std::size_t count = top_k_count(rule, probabilities.size());
  const double largest = positive(probabilities[0]);
  if (largest == 0.0) return 0;
  scratch.weights.resize(count);
  weigh(probabilities.first(count), largest, rule.temperature, scratch.weights.data());
  const bool is_typical = rule.typical_p < 1.0;
  if (is_typical) count = keep_typical(count, rule.typical_p, scratch);
  const std::span<const double> weights(scratch.weights.data(), count);
  double total = 0.0;
  for (const double each : weights) total += each;
  const std::size_t drawn = draw_weighed(weights, total, rule, random);
  return is_typical ? scratch.ranks[drawn] : drawn;
}

// All steps, on the logits of every token, which are overwritten: the drawn token, or nothing if
// the mask allows none. For a rule that adjusts logits this is the token that the host draws.
inline std::optional<std::uint32_t> draw_token(std::span<float> logits, const DrawRule& rule,
                                               std::span<const std::uint32_t> history,
                                               std::span<const std::uint32_t> mask, double random,
                                               DrawScratch& scratch,
                                               std::uint64_t history_first = 0) {
  adjust_logits(logits, rule, history, scratch, history_first);
  collect_candidates(logits, rule, mask, scratch);
  if (scratch.tokens.empty()) return std::nullopt;
  if (is_greedy(rule)) return scratch.tokens[index_of_largest(scratch.logits)];
  softmax_numerators(scratch.logits);
  rank(scratch.logits, top_k_count(rule, scratch.logits.size()), scratch.order);
  scratch.probabilities.clear();
  for (const std::uint32_t each : scratch.order) {
    scratch.probabilities.push_back(scratch.logits[each]);
  }
  return scratch.tokens[scratch.order[draw_index(scratch.probabilities, rule, random, scratch)]];
}

}  // namespace sampling
}  // namespace quire
