#pragma once
// DrawRule says how a token is drawn from a distribution: which tokens may come, and how likely.
//
// It is a plain value that hosts and programs share. `draw_arithmetic.h` draws by it, and says in
// which order its parts act. The defaults do nothing: temperature 0 takes the most probable token.
// The header includes only the standard library.
//
// A rule travels to the host as a list of options. Each one is `u32 key, u32 bytes, value[bytes]`,
// little endian, and a key occurs at most once; an option that is left out has its default:
//
// key   option              value                                range
//   1   temperature         f64                                  from 0 to 1000000
//   2   top_k               u32                                  any; 0: all tokens
//   3   top_p               f64                                  from 0 to 1
//   4   min_p               f64                                  from 0 to 1
//   5   typical_p           f64                                  from 0 to 1
//   6   top_n_sigma         f64                                  from 0 to 1000000; 0: all tokens
//   7   xtc_probability     f64                                  from 0 to 1
//   8   xtc_threshold       f64                                  from 0 to 1
//   9   dry_multiplier      f64                                  from 0 to 1000000
//  10   dry_base            f64                                  from 1 to 1000000
//  11   dry_allowed_length  u32                                  any
//  12   dry_window          u32                                  any; 0xffffffff: all tokens
//  13   dry_breakers        packed u32                           at most 256 tokens
//  14   repetition_penalty  f64                                  from 0.000001 to 1000000
//  15   presence_penalty    f64                                  from -100 to 100
//  16   frequency_penalty   f64                                  from -100 to 100
//  17   penalty_window      u32                                  any; 0xffffffff: all tokens
//  18   logit_bias          packed pairs of u32 token, f32 bias  at most 1024 pairs, a token once;
//                                                                each bias from -1000000 to 1000000
//  19   penalty_first       u32                                  any
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quire/sampling.h"

namespace quire {

struct LogitBias {
  std::uint32_t token = 0;
  float bias = 0.0f;
  bool operator==(const LogitBias&) const = default;
};

struct DrawRule {
  static constexpr std::uint32_t kWholeHistory = 0xffff'ffffu;

  double temperature = 0.0;      // 0: greedy. At most 1,000,000.
  std::uint32_t top_k = 0;       // Keep the k most probable tokens; 0: all.
  double top_p = 1.0;            // Keep the fewest tokens that hold this share; 1: all.
  double min_p = 0.0;            // Keep tokens of this share of the most probable one; 0: all.
  double typical_p = 1.0;        // Keep the most typical tokens that hold this share; 1: all.
  double top_n_sigma = 0.0;      // Keep logits at most n standard deviations below the largest.
  double xtc_probability = 0.0;  // How often the most probable choices are left out.
  double xtc_threshold = 0.1;    // A choice is a token that holds at least this share.
  double dry_multiplier = 0.0;   // Penalty for a token that continues a repetition; 0: none.
  double dry_base = 1.75;        // The penalty grows by this factor with each repeated token.
  std::uint32_t dry_allowed_length = 2;       // Shorter repetitions are free.
  std::uint32_t dry_window = kWholeHistory;   // How many of the last tokens DRY looks at.
  std::vector<std::uint32_t> dry_breakers{};  // A repetition does not reach across these tokens.
  double repetition_penalty = 1.0;  // Divides past tokens' logits above 0, multiplies those below.
  double presence_penalty = 0.0;    // Subtracted from the logit of each token that occurred.
  double frequency_penalty = 0.0;   // Subtracted as often as the token occurred.
  std::uint32_t penalty_window = kWholeHistory;  // How many of the last tokens the three look at.
  // The first place of the context that the last two count: the length of the prompt, for penalties
  // of what the model wrote alone. repetition_penalty counts the prompt too, as it does elsewhere.
  std::uint32_t penalty_first = 0;
  std::vector<LogitBias> logit_bias{};  // Added to logits.
  bool operator==(const DrawRule&) const = default;
};

inline constexpr std::size_t kLogitBiasCountMax = 1024;
inline constexpr std::size_t kDryBreakerCountMax = 256;

enum class DrawOption : std::uint32_t {
  Temperature = 1,
  TopK = 2,
  TopP = 3,
  MinP = 4,
  TypicalP = 5,
  TopNSigma = 6,
  XtcProbability = 7,
  XtcThreshold = 8,
  DryMultiplier = 9,
  DryBase = 10,
  DryAllowedLength = 11,
  DryWindow = 12,
  DryBreakers = 13,
  RepetitionPenalty = 14,
  PresencePenalty = 15,
  FrequencyPenalty = 16,
  PenaltyWindow = 17,
  LogitBias = 18,
  PenaltyFirst = 19,
};

// The options that are one number: readers, writers and range checks walk these tables.
struct DrawNumber {
  DrawOption key;
  const char* name;
  double DrawRule::* field;
  double least, most;
  const char* range;
};
inline constexpr DrawNumber kDrawNumbers[] = {
    {DrawOption::Temperature, "temperature", &DrawRule::temperature, 0.0, 1e6, "from 0 to 1000000"},
    {DrawOption::TopP, "top_p", &DrawRule::top_p, 0.0, 1.0, "from 0 to 1"},
    {DrawOption::MinP, "min_p", &DrawRule::min_p, 0.0, 1.0, "from 0 to 1"},
    {DrawOption::TypicalP, "typical_p", &DrawRule::typical_p, 0.0, 1.0, "from 0 to 1"},
    {DrawOption::TopNSigma, "top_n_sigma", &DrawRule::top_n_sigma, 0.0, 1e6, "from 0 to 1000000"},
    {DrawOption::XtcProbability, "xtc_probability", &DrawRule::xtc_probability, 0.0, 1.0,
     "from 0 to 1"},
    {DrawOption::XtcThreshold, "xtc_threshold", &DrawRule::xtc_threshold, 0.0, 1.0, "from 0 to 1"},
    {DrawOption::DryMultiplier, "dry_multiplier", &DrawRule::dry_multiplier, 0.0, 1e6,
     "from 0 to 1000000"},
    {DrawOption::DryBase, "dry_base", &DrawRule::dry_base, 1.0, 1e6, "from 1 to 1000000"},
    {DrawOption::RepetitionPenalty, "repetition_penalty", &DrawRule::repetition_penalty, 1e-6, 1e6,
     "from 0.000001 to 1000000"},
    {DrawOption::PresencePenalty, "presence_penalty", &DrawRule::presence_penalty, -100.0, 100.0,
     "from -100 to 100"},
    {DrawOption::FrequencyPenalty, "frequency_penalty", &DrawRule::frequency_penalty, -100.0, 100.0,
     "from -100 to 100"},
};
struct DrawCount {
  DrawOption key;
  const char* name;
  std::uint32_t DrawRule::* field;
};
inline constexpr DrawCount kDrawCounts[] = {
    {DrawOption::TopK, "top_k", &DrawRule::top_k},
    {DrawOption::DryAllowedLength, "dry_allowed_length", &DrawRule::dry_allowed_length},
    {DrawOption::DryWindow, "dry_window", &DrawRule::dry_window},
    {DrawOption::PenaltyWindow, "penalty_window", &DrawRule::penalty_window},
    {DrawOption::PenaltyFirst, "penalty_first", &DrawRule::penalty_first},
};
inline constexpr float kLogitBiasMost = 1e6f;

inline bool is_greedy(const DrawRule& rule) {
  return !(rule.temperature > 0.0);
}
inline bool penalizes_tokens(const DrawRule& rule) {
  return rule.penalty_window > 0 && (rule.repetition_penalty != 1.0 ||
                                     rule.presence_penalty != 0.0 || rule.frequency_penalty != 0.0);
}
inline bool penalizes_repetitions(const DrawRule& rule) {
  return rule.dry_window > 0 && rule.dry_multiplier > 0.0;
}
// Whether the rule works on logits. A rule that does not draws from the probabilities of
// get_next_dist, and one that does from a softmax of its own (draw_arithmetic.h).
inline bool adjusts_logits(const DrawRule& rule) {
  return !rule.logit_bias.empty() || penalizes_tokens(rule) || penalizes_repetitions(rule) ||
         rule.top_n_sigma > 0.0;
}
// How many of the last tokens of a context the rule looks at; 0: none, so nothing has to be copied.
inline std::uint32_t history_window(const DrawRule& rule) {
  const std::uint32_t penalties = penalizes_tokens(rule) ? rule.penalty_window : 0;
  const std::uint32_t repetitions = penalizes_repetitions(rule) ? rule.dry_window : 0;
  return penalties > repetitions ? penalties : repetitions;
}

namespace sampling {

// The first number of the rule that is out of its range, or is not a number.
inline std::optional<OutOfRange> out_of_range(const DrawRule& rule) {
  for (const DrawNumber& each : kDrawNumbers) {
    const double value = rule.*each.field;
    if (!(value >= each.least && value <= each.most))
      return OutOfRange{each.name, each.range, value};
  }
  if (rule.dry_breakers.size() > kDryBreakerCountMax) {
    return OutOfRange{"the number of dry_breakers", "at most 256",
                      static_cast<double>(rule.dry_breakers.size())};
  }
  if (rule.logit_bias.size() > kLogitBiasCountMax) {
    return OutOfRange{"the number of logit_bias entries", "at most 1024",
                      static_cast<double>(rule.logit_bias.size())};
  }
  for (const LogitBias& each : rule.logit_bias) {
    if (!(each.bias >= -kLogitBiasMost && each.bias <= kLogitBiasMost)) {
      return OutOfRange{"logit_bias", "from -1000000 to 1000000", static_cast<double>(each.bias)};
    }
  }
  return std::nullopt;
}

inline void write_little_endian(std::vector<std::uint8_t>& out, std::uint64_t value,
                                std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back((value >> (8 * i)) & 0xff);
}
inline void write_option_head(std::vector<std::uint8_t>& out, DrawOption key, std::size_t bytes) {
  write_little_endian(out, static_cast<std::uint32_t>(key), 4);
  write_little_endian(out, bytes, 4);
}

}  // namespace sampling

// The options of a rule that differ from their defaults, as the host takes them.
inline std::vector<std::uint8_t> draw_options(const DrawRule& rule) {
  using namespace sampling;
  const DrawRule nothing;
  std::vector<std::uint8_t> out;
  for (const DrawNumber& each : kDrawNumbers) {
    if (rule.*each.field == nothing.*each.field) continue;
    write_option_head(out, each.key, 8);
    write_little_endian(out, std::bit_cast<std::uint64_t>(rule.*each.field), 8);
  }
  for (const DrawCount& each : kDrawCounts) {
    if (rule.*each.field == nothing.*each.field) continue;
    write_option_head(out, each.key, 4);
    write_little_endian(out, rule.*each.field, 4);
  }
  if (!rule.dry_breakers.empty()) {
    write_option_head(out, DrawOption::DryBreakers, 4 * rule.dry_breakers.size());
    for (const std::uint32_t token : rule.dry_breakers) write_little_endian(out, token, 4);
  }
  if (!rule.logit_bias.empty()) {
    write_option_head(out, DrawOption::LogitBias, 8 * rule.logit_bias.size());
    for (const LogitBias& each : rule.logit_bias) {
      write_little_endian(out, each.token, 4);
      write_little_endian(out, std::bit_cast<std::uint32_t>(each.bias), 4);
    }
  }
  return out;
}

}  // namespace quire
