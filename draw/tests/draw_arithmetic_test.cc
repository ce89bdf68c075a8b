// Each part of a rule beside its definition, written here anew in the plainest way and with libm.
#include "quire/draw_arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "draw_cases.h"
#include "sampling_cases.h"

namespace quire {
namespace {

using Tokens = std::vector<std::uint32_t>;

// How p-e-w defines DRY: for each earlier place of the last token, walk back while tokens agree.
std::map<std::uint32_t, std::uint32_t> repetitions(const Tokens& history, const Tokens& breakers) {
  const auto is_breaker = [&](std::uint32_t token) {
    return std::find(breakers.begin(), breakers.end(), token) != breakers.end();
  };
  std::map<std::uint32_t, std::uint32_t> longest;
  if (history.empty() || is_breaker(history.back())) return longest;
  for (std::size_t i = 0; i + 1 < history.size(); ++i) {
    if (history[i] != history.back() || is_breaker(history[i + 1])) continue;
    std::uint32_t length = 1;
    while (length <= i) {
      const std::uint32_t earlier = history[history.size() - 1 - length];
      if (history[i - length] != earlier || is_breaker(earlier)) break;
      ++length;
    }
    longest[history[i + 1]] = std::max(longest[history[i + 1]], length);
  }
  return longest;
}

Tokens last(const Tokens& history, std::uint32_t count) {
  const auto skipped = history.size() - std::min<std::size_t>(history.size(), count);
  return Tokens(history.begin() + static_cast<std::ptrdiff_t>(skipped), history.end());
}

std::vector<double> adjusted(const std::vector<float>& logits, const DrawRule& rule,
                             const Tokens& history) {
  std::vector<double> out(logits.begin(), logits.end());
  for (const LogitBias& each : rule.logit_bias) out[each.token] += static_cast<double>(each.bias);
  std::map<std::uint32_t, int> counts;
  for (const std::uint32_t token : last(history, rule.penalty_window)) counts[token] += 1;
  for (const auto& [token, count] : counts) {
    double& logit = out[token];
    logit = logit < 0 ? logit * rule.repetition_penalty : logit / rule.repetition_penalty;
    logit -= rule.presence_penalty + count * rule.frequency_penalty;
  }
  if (rule.dry_multiplier == 0.0) return out;
  for (const auto& [token, length] :
       repetitions(last(history, rule.dry_window), rule.dry_breakers)) {
    if (length < rule.dry_allowed_length) continue;
    out[token] -= rule.dry_multiplier * std::pow(rule.dry_base, length - rule.dry_allowed_length);
  }
  return out;
}

struct Candidate {
  std::uint32_t token;
  double value;  // A logit, then a probability.
};
using Candidates = std::vector<Candidate>;

void normalize(Candidates& all) {
  double sum = 0;
  for (const Candidate& each : all) sum += each.value;
  for (Candidate& each : all) each.value /= sum;
}

void cut_to_sigma(Candidates& all, double n) {
  double mean = 0, variance = 0, largest = -1e300;
  for (const Candidate& each : all) {
    mean += each.value / static_cast<double>(all.size());
    largest = std::max(largest, each.value);
  }
  for (const Candidate& each : all) variance += std::pow(each.value - mean, 2);
  const double least = largest - n * std::sqrt(variance / static_cast<double>(all.size()));
  std::erase_if(all, [&](const Candidate& each) { return each.value < least; });
}

void keep_typical(Candidates& all, double share) {
  double entropy = 0;
  for (const Candidate& each : all) entropy -= each.value * std::log(each.value);
  Candidates by_distance = all;
  std::stable_sort(by_distance.begin(), by_distance.end(), [&](const auto& a, const auto& b) {
    return std::abs(-std::log(a.value) - entropy) < std::abs(-std::log(b.value) - entropy);
  });
  double kept = 0;
  std::set<std::uint32_t> stays;
  for (const Candidate& each : by_distance) {
    if (!stays.empty() && kept >= share) break;
    kept += each.value;
    stays.insert(each.token);
  }
  std::erase_if(all, [&](const Candidate& each) { return !stays.contains(each.token); });
  normalize(all);
}

void keep_top_p(Candidates& all, double share) {
  double kept = 0;
  std::size_t count = 0;
  while (count < all.size() && (count == 0 || kept < share)) kept += all[count++].value;
  all.resize(count);
}

void exclude_top_choices(Candidates& all, double threshold) {
  const auto is_choice = [&](const Candidate& each) { return each.value >= threshold; };
  const auto choices = std::count_if(all.begin(), all.end(), is_choice);
  if (choices > 1) all.erase(all.begin(), all.begin() + choices - 1);
  normalize(all);
}

// The probabilities that are left, falling.
Candidates expected(const std::vector<float>& logits, const DrawRule& rule, const Tokens& history,
                    const Tokens& mask, bool has_coin) {
  const std::vector<double> values = adjusted(logits, rule, history);
  Candidates all;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (mask.empty() || (mask[i / 32] >> (i % 32) & 1) != 0) all.push_back({i, values[i]});
  }
  if (all.empty()) return all;
  if (rule.top_n_sigma > 0) cut_to_sigma(all, rule.top_n_sigma);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.value > b.value; });
  if (rule.top_k > 0 && rule.top_k < all.size()) all.resize(rule.top_k);
  const double largest = all[0].value;
  for (Candidate& each : all) each.value = std::exp((each.value - largest) / rule.temperature);
  normalize(all);
  if (rule.typical_p < 1) keep_typical(all, rule.typical_p);
  if (rule.top_p < 1) keep_top_p(all, rule.top_p);
  const double least = rule.min_p * all[0].value;
  std::erase_if(all, [&](const Candidate& each) { return each.value < least; });
  normalize(all);
  if (has_coin) exclude_top_choices(all, rule.xtc_threshold);
  return all;
}

// The drawn token is the one whose part of [0, 1) holds the random number. The borders may differ
// in their last places.
void expect_drawn(const Candidates& all, std::uint32_t token, double random) {
  constexpr double kBorder = 1e-5;
  double before = 0;
  for (const Candidate& each : all) {
    if (each.token == token) {
      EXPECT_GE(random, before - kBorder);
      EXPECT_LE(random, before + each.value + kBorder);
      return;
    }
    before += each.value;
  }
  ADD_FAILURE() << "token " << token << " cannot be drawn";
}

void compare(std::uint64_t seed, double share, int rounds) {
  sampling::Random random(seed);
  DrawScratch scratch;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const std::uint32_t count = round % 2 == 0 ? 200 : 12;
    const DrawRule rule = test::random_rule(random, share, count);
    const std::vector<float> logits = test::random_logits(random, count);
    const Tokens history = test::random_history(random, static_cast<std::uint32_t>(round % 120), 5);
    const Tokens mask = round % 3 == 0 ? test::random_mask(random, count) : Tokens{};
    const double number = random.uniform();
    const bool has_coin = sampling::second_random(number) < rule.xtc_probability;
    const Candidates all = expected(logits, rule, history, mask, has_coin);
    std::vector<float> given = logits;
    const auto token = sampling::draw_token(given, rule, history, mask, number, scratch);
    ASSERT_EQ(token.has_value(), !all.empty());
    if (token) expect_drawn(all, *token, number);
    const std::vector<double> wanted = adjusted(logits, rule, history);
    for (std::size_t i = 0; i < given.size(); ++i) {
      ASSERT_NEAR(given[i], wanted[i], 3e-7 * (20.0 + std::abs(wanted[i]))) << i;
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(DrawArithmetic, FewPartsDoWhatTheirDefinitionsSay) {
  compare(1, 0.12, 20000);
}

TEST(DrawArithmetic, ManyPartsActInTheirOrder) {
  compare(2, 0.5, 20000);
}

TEST(DrawArithmetic, ManyLogitsBecomeWhatEachBecomesAlone) {
  sampling::Random random(8);
  std::vector<float> logits(1003);
  for (float& each : logits)
    each = static_cast<float>(-900.0 * random.uniform() * random.uniform());
  const float infinity = std::numeric_limits<float>::infinity();
  const float odd[] = {0.0f,      -infinity, std::numeric_limits<float>::lowest(),
                       -708.396f, -708.397f, std::numeric_limits<float>::quiet_NaN()};
  for (std::size_t i = 0; i < std::size(odd); ++i) logits[37 * (i + 1)] = odd[i];
  std::vector<float> all = logits;
  sampling::softmax_numerators(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double power = static_cast<double>(logits[i]) * sampling::kLog2OfE;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(all[i]),
              std::bit_cast<std::uint32_t>(static_cast<float>(sampling::exp2(power))))
        << logits[i];
    if (!(logits[i] > -80.0f)) continue;
    const double exact = std::exp(static_cast<double>(logits[i]));
    ASSERT_NEAR(static_cast<double>(all[i]) / exact, 1.0, 1e-7);
  }
}

TEST(DrawArithmetic, GivesTheDrawsThatEveryMachineGives) {
  EXPECT_EQ(test::digest_of_rules(), test::kDigestOfRules);
}

TEST(DrawArithmetic, ARuleOfTheFourPartsOfASamplerDrawsWhatTheSamplerDraws) {
  sampling::Random random(6);
  DrawScratch scratch;
  std::vector<double> weights;
  for (std::uint64_t round = 0; round < 5000; ++round) {
    const auto given = test::falling_distribution(round, 1 + round % 300);
    const SamplerOptions options{
        .temperature = round % 5 == 0 ? 0.0 : 2.0 * random.uniform(),
        .top_k = round % 3 == 0 ? 0 : static_cast<std::uint32_t>(random.next() % 100),
        .top_p = round % 2 == 0 ? 1.0 : random.uniform(),
        .min_p = round % 7 == 0 ? 0.1 * random.uniform() : 0.0};
    const DrawRule rule{.temperature = options.temperature,
                        .top_k = options.top_k,
                        .top_p = options.top_p,
                        .min_p = options.min_p};
    const double number = random.uniform();
    ASSERT_EQ(sampling::draw_index(given.probabilities, rule, number, scratch),
              sampling::draw_index(given.probabilities, options, number, weights))
        << round;
  }
}

TEST(DrawArithmetic, TheDefaultRuleDoesNothingAndLooksAtNoHistory) {
  const DrawRule rule;
  EXPECT_FALSE(adjusts_logits(rule));
  EXPECT_EQ(history_window(rule), 0u);
  EXPECT_FALSE(sampling::out_of_range(rule));
  std::vector<float> logits = {1.0f, 3.0f, 2.0f, 3.0f};
  const std::vector<float> before = logits;
  DrawScratch scratch;
  EXPECT_EQ(sampling::draw_token(logits, rule, Tokens{1, 1}, {}, 0.9, scratch), 1u);
  EXPECT_EQ(logits, before);
}

TEST(DrawArithmetic, TheHistoryWindowIsTheLongerOfThoseThatAreUsed) {
  EXPECT_EQ(history_window({.repetition_penalty = 1.2}), DrawRule::kWholeHistory);
  EXPECT_EQ(history_window({.presence_penalty = 1.0, .penalty_window = 64}), 64u);
  EXPECT_EQ(history_window({.dry_multiplier = 0.8,
                            .dry_window = 100,
                            .frequency_penalty = 1.0,
                            .penalty_window = 64}),
            100u);
  EXPECT_EQ(history_window({.dry_multiplier = 0.8, .dry_window = 0}), 0u);
  EXPECT_FALSE(adjusts_logits({.dry_multiplier = 0.8, .dry_window = 0}));
  EXPECT_FALSE(adjusts_logits({.repetition_penalty = 1.2, .penalty_window = 0}));
  EXPECT_FALSE(adjusts_logits({.penalty_window = 5}));
  EXPECT_EQ(history_window({.top_n_sigma = 1.0}), 0u);
}

TEST(DrawArithmetic, TokensBeforeTheWindowDoNotCount) {
  sampling::Random random(4);
  DrawScratch scratch;
  for (int round = 0; round < 500; ++round) {
    const DrawRule rule = test::random_rule(random, 0.6, 50);
    const Tokens history = test::random_history(random, 100, 5);
    std::vector<float> whole = test::random_logits(random, 50);
    std::vector<float> cut = whole;
    sampling::adjust_logits(whole, rule, history, scratch);
    sampling::adjust_logits(cut, rule, last(history, history_window(rule)), scratch);
    ASSERT_EQ(whole, cut) << round;
  }
}

TEST(DrawArithmetic, PresenceAndFrequencyCountFromThePlaceThatTheRuleNames) {
  const Tokens history = {1, 1, 2, 1, 3};
  const DrawRule rule{.presence_penalty = 0.5, .frequency_penalty = 0.25, .penalty_first = 2};
  DrawScratch scratch;
  std::vector<float> logits(5, 8.0f);
  sampling::adjust_logits(logits, rule, history, scratch);
  EXPECT_EQ(logits, (std::vector<float>{8.0f, 7.25f, 7.25f, 7.25f, 8.0f}));
  // The place is one of the context, of which the history may have the last tokens alone.
  std::vector<float> later(5, 8.0f);
  sampling::adjust_logits(later, rule, last(history, 2), scratch, 3);
  EXPECT_EQ(later, (std::vector<float>{8.0f, 7.25f, 8.0f, 7.25f, 8.0f}));
  std::vector<float> before(5, 8.0f);
  sampling::adjust_logits(before, {.presence_penalty = 1.0, .penalty_first = 5}, history, scratch);
  EXPECT_EQ(before, std::vector<float>(5, 8.0f));
}

TEST(DrawArithmetic, RepetitionPenaltyCountsTokensBeforeThatPlaceToo) {
  const DrawRule rule{.repetition_penalty = 2.0, .presence_penalty = 1.0, .penalty_first = 1};
  DrawScratch scratch;
  std::vector<float> logits(4, 8.0f);
  sampling::adjust_logits(logits, rule, Tokens{1, 2}, scratch);
  EXPECT_EQ(logits, (std::vector<float>{8.0f, 4.0f, 3.0f, 8.0f}));
}

TEST(DrawArithmetic, APlaceOfTheWholeHistoryChangesNoBit) {
  sampling::Random random(5);
  DrawScratch scratch;
  for (int round = 0; round < 500; ++round) {
    DrawRule rule = test::random_rule(random, 0.6, 50);
    const Tokens history = test::random_history(random, 100, 5);
    std::vector<float> whole = test::random_logits(random, 50);
    std::vector<float> from_place = whole;
    sampling::adjust_logits(whole, rule, history, scratch);
    rule.penalty_first = 70;
    sampling::adjust_logits(from_place, rule, history, scratch, 70);
    ASSERT_EQ(whole, from_place) << round;
  }
}

TEST(DrawArithmetic, ALogitThatCannotComeStaysOneWhateverIsAdded) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> logits = {-infinity, 1.0f};
  const DrawRule rule{.dry_multiplier = 1.0,
                      .dry_allowed_length = 1,
                      .repetition_penalty = 0.5,
                      .frequency_penalty = -9.0,
                      .logit_bias = {{0, 1e6f}}};
  DrawScratch scratch;
  sampling::adjust_logits(logits, rule, Tokens{0, 0, 0}, scratch);
  EXPECT_EQ(logits, (std::vector<float>{-infinity, 1.0f}));
}

TEST(DrawArithmetic, DryStaysLinearWhereOneTokenRepeats) {
  const Tokens history(400'000, 3);
  std::vector<float> logits(10, 0.0f);
  DrawScratch scratch;
  sampling::adjust_logits(logits, {.dry_multiplier = 1.0}, history, scratch);
  EXPECT_LT(logits[3], -1e29f);
  EXPECT_TRUE(std::isfinite(logits[3]));
  EXPECT_EQ(logits[4], 0.0f);
}

TEST(DrawArithmetic, XtcTossesItsCoinAsOftenAsItsProbabilitySays) {
  const std::vector<float> even = {0.25f, 0.25f, 0.25f, 0.25f};
  sampling::Random random(12);
  DrawScratch scratch;
  const DrawRule rule{.temperature = 1.0, .xtc_probability = 0.3, .xtc_threshold = 0.2};
  std::map<std::size_t, int> counts;
  for (int i = 0; i < 200000; ++i) {
    counts[sampling::draw_index(even, rule, random.uniform(), scratch)] += 1;
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(counts[i] / 2e5, 0.7 / 4, 0.004) << i;
  EXPECT_NEAR(counts[3] / 2e5, 0.3 + 0.7 / 4, 0.004);
}

TEST(DrawArithmetic, XtcAboveAThresholdOfOneHalfLeavesAllTokens) {
  const std::vector<float> probabilities = {0.6f, 0.4f};
  DrawScratch scratch;
  const DrawRule rule{.temperature = 1.0, .xtc_probability = 1.0, .xtc_threshold = 0.51};
  EXPECT_EQ(sampling::draw_index(probabilities, rule, 0.1, scratch), 0u);
  EXPECT_EQ(sampling::draw_index(probabilities, rule, 0.9, scratch), 1u);
}

TEST(DrawArithmetic, UnderAMaskTokensComeAsOftenAsTheRenormalizedDistributionSays) {
  sampling::Random random(21);
  const std::vector<float> logits = test::random_logits(random, 64);
  const Tokens mask = {0x0f0f'1100u, 0x8000'00f1u};
  const DrawRule rule{.temperature = 1.3, .logit_bias = {{12, 1.0f}}};
  const Candidates all = expected(logits, rule, {}, mask, false);
  std::map<std::uint32_t, int> counts;
  DrawScratch scratch;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<float> given = logits;
    counts[*sampling::draw_token(given, rule, {}, mask, random.uniform(), scratch)] += 1;
  }
  double chi_squared = 0;
  int drawn = 0;
  for (const Candidate& each : all) {
    const double wanted = each.value * kDraws;
    chi_squared += std::pow(counts[each.token] - wanted, 2) / wanted;
    drawn += counts[each.token];
  }
  EXPECT_EQ(drawn, kDraws);
  const auto freedom = static_cast<double>(all.size() - 1);
  EXPECT_LT(chi_squared, freedom + 4.0 * std::sqrt(2.0 * freedom));
}

TEST(DrawArithmetic, AMaskWithoutATokenGivesNothing) {
  std::vector<float> logits = {1.0f, 2.0f, 3.0f};
  DrawScratch scratch;
  EXPECT_FALSE(sampling::draw_token(logits, {}, {}, Tokens{0}, 0.5, scratch));
  EXPECT_FALSE(sampling::draw_token(logits, {}, {}, Tokens{0xffff'fff8u}, 0.5, scratch));
  EXPECT_EQ(sampling::draw_token(logits, {}, {}, Tokens{0xffff'fff9u}, 0.5, scratch), 0u);
}

TEST(DrawArithmetic, GreedyTakesTheLowestOfEqualTokensUnderTheMask) {
  DrawScratch scratch;
  std::vector<float> logits = {5.0f, 1.0f, 1.0f, 1.0f};
  EXPECT_EQ(sampling::draw_token(logits, {}, {}, Tokens{0b1100}, 0.5, scratch), 2u);
  const DrawRule rule{.presence_penalty = 4.5};
  EXPECT_EQ(sampling::draw_token(logits, rule, Tokens{0}, {}, 0.5, scratch), 1u);
}

TEST(DrawArithmetic, OddNumbersAlwaysLeaveAnAllowedToken) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const float most = std::numeric_limits<float>::max();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<std::vector<float>> lists = {{nan},
                                                 {nan, 1.0f},
                                                 {infinity, 1.0f, -infinity},
                                                 {-infinity, -infinity},
                                                 {most, -most},
                                                 {most, most},
                                                 {tiny, -tiny, 0.0f},
                                                 {0.0f, 0.0f, 0.0f},
                                                 {-infinity, 2.0f, nan}};
  sampling::Random random(5);
  DrawScratch scratch;
  for (int round = 0; round < 20000; ++round) {
    std::vector<float> logits = lists[random.next() % lists.size()];
    const auto count = static_cast<std::uint32_t>(logits.size());
    DrawRule rule = test::random_rule(random, 0.4, 5);
    std::erase_if(rule.logit_bias, [&](const LogitBias& each) { return each.token % 2 == 0; });
    const double odd[] = {0.0, 1e-300, 1e6, 1e300, std::nan(""), 0.7};
    rule.temperature = odd[random.next() % 6];
    if (round % 3 == 0) rule.typical_p = odd[random.next() % 6];
    if (round % 5 == 0) rule.top_n_sigma = odd[random.next() % 6];
    const Tokens mask = {static_cast<std::uint32_t>(random.next())};
    const Tokens history = test::random_history(random, 20, 7);
    const auto token = sampling::draw_token(logits, rule, history, mask, random.uniform(), scratch);
    const bool has_token = (mask[0] & ((1u << count) - 1)) != 0;
    ASSERT_EQ(token.has_value(), has_token) << round;
    if (!token) continue;
    ASSERT_TRUE(*token < count && (mask[0] >> *token & 1) != 0) << round;
  }
}

}  // namespace
}  // namespace quire
