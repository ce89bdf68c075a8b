// Draws and masked distributions as a device makes them from logits.
#include "inference/devices/shared/output_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

namespace quire::inference {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kTokenCount = 5000;

float plain_softmax(float* x, std::uint32_t count, float inverse_temperature) {
  const float largest = *std::max_element(x, x + count);
  float sum = 0.0f;
  for (std::uint32_t i = 0; i < count; ++i) {
    x[i] = std::exp((x[i] - largest) * inverse_temperature);
    sum += x[i];
  }
  return sum;
}

class OutputForms : public testing::Test {
 protected:
  std::vector<float> some_logits(std::uint32_t count = kTokenCount) {
    std::vector<float> logits(count);
    for (float& each : logits) {
      each = static_cast<float>(20.0 * random.uniform() * random.uniform() - 6.0);
    }
    return logits;
  }
  Words some_mask(std::uint32_t count = kTokenCount) {
    Words mask((count + 31) / 32);
    for (std::uint32_t& word : mask) {
      word = static_cast<std::uint32_t>(random.next()) & static_cast<std::uint32_t>(random.next());
    }
    return mask;
  }
  std::vector<TokenId> some_history() {
    std::vector<TokenId> history(random.next() % 200);
    for (TokenId& each : history) each = TokenId{static_cast<std::uint32_t>(random.next() % 8)};
    return history;
  }
  DrawRule some_sampler() {
    DrawRule rule{.temperature = random.next() % 5 == 0 ? 0.0 : 0.2 + 1.5 * random.uniform()};
    if (random.next() % 3 == 0) rule.top_k = static_cast<std::uint32_t>(random.next() % 300);
    if (random.next() % 3 == 0) rule.top_p = random.uniform();
    if (random.next() % 3 == 0) rule.min_p = 0.1 * random.uniform();
    if (random.next() % 4 == 0) rule.typical_p = random.uniform();
    if (random.next() % 4 == 0) {
      rule.xtc_probability = 0.5;
      rule.xtc_threshold = 0.1 * random.uniform();
    }
    return rule;
  }
  DrawRule some_adjusting_rule() {
    DrawRule rule = some_sampler();
    rule.repetition_penalty = 1.0 + random.uniform();
    if (random.next() % 2 == 0) rule.frequency_penalty = random.uniform();
    if (random.next() % 2 == 0) rule.presence_penalty = random.uniform();
    if (random.next() % 2 == 0) rule.dry_multiplier = random.uniform();
    if (random.next() % 2 == 0) rule.top_n_sigma = 3.0 * random.uniform();
    if (random.next() % 2 == 0) rule.logit_bias = {{3, 5.0f}, {4000, 9.0f}};
    return rule;
  }
  static DistributionRequest draw(DrawRule rule, double number, Words mask = {}) {
    DistributionRequest request{.kind = DistributionKind::Draw};
    request.draw.rule = std::make_shared<const DrawRule>(std::move(rule));
    request.draw.random = number;
    if (!mask.empty()) request.mask = std::make_shared<const Words>(std::move(mask));
    return request;
  }
  Distribution made(const DistributionRequest& request, std::vector<float> logits) {
    return output_form(request, logits, plain_softmax, scratch).take();
  }
  Error refused(const DistributionRequest& request, std::vector<float> logits) {
    return output_form(request, logits, plain_softmax, scratch).take_error();
  }
  Distribution top_k(const std::vector<float>& logits, std::uint32_t count, Words mask = {}) {
    DistributionRequest request{.top_k = count};
    if (!mask.empty()) request.mask = std::make_shared<const Words>(std::move(mask));
    return made(request, logits);
  }

  sampling::Random random{31};
  OutputScratch scratch;
};

TEST_F(OutputForms, ARuleThatLeavesLogitsAloneDrawsFromTheDistributionThatProgramsGet) {
  DrawScratch by_hand;
  for (int round = 0; round < 300; ++round) {
    const std::vector<float> logits = some_logits();
    const DrawRule rule = some_sampler();
    const Words mask = round % 2 == 0 ? some_mask() : Words{};
    const double number = random.uniform();
    const Distribution all = top_k(logits, kTokenCount, mask);
    const Distribution drawn = made(draw(rule, number, mask), logits);
    ASSERT_EQ(drawn.tokens.size(), 1u);
    const std::size_t index = sampling::draw_index(all.probabilities, rule, number, by_hand);
    ASSERT_EQ(drawn.tokens[0], all.tokens[index]) << round;
    if (!mask.empty()) continue;  // Reported probabilities are those without it.
    ASSERT_EQ(drawn.probabilities[0], all.probabilities[index]) << round;
  }
}

TEST_F(OutputForms, ARuleThatAdjustsLogitsDrawsWhatTheHeaderDraws) {
  DrawScratch by_hand;
  for (int round = 0; round < 300; ++round) {
    const std::vector<float> logits = some_logits();
    DrawRule rule = some_adjusting_rule();
    if (round % 3 == 0) rule.penalty_first = static_cast<std::uint32_t>(random.next() % 300);
    const Words mask = round % 2 == 0 ? some_mask() : Words{};
    DistributionRequest request = draw(rule, random.uniform(), mask);
    request.draw.history = some_history();
    request.draw.history_first = random.next() % 200;
    Words history;
    for (const TokenId each : request.draw.history) {
      history.push_back(static_cast<std::uint32_t>(each));
    }
    std::vector<float> given = logits;
    const auto token = sampling::draw_token(given, rule, history, mask, request.draw.random,
                                            by_hand, request.draw.history_first);
    const Distribution drawn = made(request, logits);
    ASSERT_EQ(drawn.tokens[0], TokenId{*token}) << round;
    const Distribution all = top_k(logits, kTokenCount);
    const auto place = std::find(all.tokens.begin(), all.tokens.end(), drawn.tokens[0]);
    ASSERT_EQ(drawn.probabilities[0],
              all.probabilities[static_cast<std::size_t>(place - all.tokens.begin())]);
  }
}

TEST_F(OutputForms, AMaskOfAllTokensChangesNoBit) {
  for (int round = 0; round < 50; ++round) {
    const std::vector<float> logits = some_logits();
    const Words all((kTokenCount + 31) / 32, 0xffff'ffffu);
    const DrawRule rule = round % 2 == 0 ? some_sampler() : some_adjusting_rule();
    const double number = random.uniform();
    const Distribution with = made(draw(rule, number, all), logits);
    const Distribution without = made(draw(rule, number), logits);
    ASSERT_EQ(with.tokens, without.tokens);
    ASSERT_EQ(with.probabilities, without.probabilities);
    const Distribution masked = top_k(logits, 300, all);
    const Distribution plain = top_k(logits, 300);
    ASSERT_EQ(masked.tokens, plain.tokens);
    ASSERT_EQ(masked.probabilities, plain.probabilities);
  }
}

TEST_F(OutputForms, UnderAMaskTopKIsTheRenormalizedDistribution) {
  const std::vector<float> logits = some_logits();
  const Words mask = some_mask();
  const Distribution masked = top_k(logits, kTokenCount, mask);
  const Distribution all = top_k(logits, kTokenCount);
  std::vector<TokenId> tokens;
  double mass = 0;
  std::vector<double> probabilities;
  for (std::size_t i = 0; i < all.tokens.size(); ++i) {
    const auto token = static_cast<std::uint32_t>(all.tokens[i]);
    if ((mask[token / 32] >> (token % 32) & 1) == 0) continue;
    tokens.push_back(all.tokens[i]);
    probabilities.push_back(static_cast<double>(all.probabilities[i]));
    mass += probabilities.back();
  }
  ASSERT_EQ(masked.tokens, tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_NEAR(masked.probabilities[i], probabilities[i] / mass, 1e-5 * probabilities[i] / mass);
  }
}

TEST_F(OutputForms, DrawsUnderAMaskComeAsOftenAsTheRenormalizedDistributionSays) {
  std::vector<float> logits = some_logits(200);
  for (float& each : logits) each *= 0.3f;
  const Words mask = some_mask(200);
  DistributionRequest wanted{.top_k = 200};
  wanted.mask = std::make_shared<const Words>(mask);
  const Distribution expected = made(wanted, logits);
  constexpr int kDraws = 100000;
  std::map<TokenId, int> counts;
  DistributionRequest request = draw({.temperature = 1.0}, 0.0, mask);
  for (int i = 0; i < kDraws; ++i) {
    request.draw.random = random.uniform();
    counts[made(request, logits).tokens[0]] += 1;
  }
  double chi_squared = 0, rest_wanted = 0, rest_counted = 0;
  int freedom = 0;
  for (std::size_t i = 0; i < expected.tokens.size(); ++i) {
    const double often = static_cast<double>(expected.probabilities[i]) * kDraws;
    const double counted = counts[expected.tokens[i]];
    if (often < 10) {
      rest_wanted += often;
      rest_counted += counted;
      continue;
    }
    chi_squared += (counted - often) * (counted - often) / often;
    ++freedom;
  }
  if (rest_wanted > 0) chi_squared += std::pow(rest_counted - rest_wanted, 2) / rest_wanted;
  EXPECT_GT(freedom, 10);
  EXPECT_LT(chi_squared, freedom + 4.0 * std::sqrt(2.0 * freedom));
}

TEST_F(OutputForms, AnAllowedTokenOfNoProbabilityInTheFullSoftmaxCanBeDrawn) {
  std::vector<float> logits(64, 0.0f);
  logits[0] = 200.0f;
  logits[7] = 3.0f;
  const Words mask = {0x80u, 0u};
  for (const DrawRule& rule : {DrawRule{}, DrawRule{.temperature = 0.8},
                               DrawRule{.temperature = 0.8, .top_n_sigma = 1.0}}) {
    const Distribution drawn = made(draw(rule, 0.5, mask), logits);
    EXPECT_EQ(drawn.tokens[0], TokenId{7});
    EXPECT_EQ(drawn.probabilities[0], 0.0f);
  }
  const Distribution masked = top_k(logits, 3, mask);
  EXPECT_EQ(masked.tokens, std::vector<TokenId>{TokenId{7}});
  EXPECT_EQ(masked.probabilities, std::vector<float>{1.0f});
}

TEST_F(OutputForms, AMaskWithoutATokenIsAnErrorOfItsOwn) {
  const std::vector<float> logits(40, 1.0f);
  const Words nothing = {0u, 0xffff'ff00u};
  DistributionRequest wanted;
  wanted.mask = std::make_shared<const Words>(nothing);
  for (const DistributionRequest& request :
       {draw({}, 0.5, nothing), draw({.temperature = 1.0}, 0.5, nothing),
        draw({.top_n_sigma = 1.0}, 0.5, nothing), wanted}) {
    const Error error = refused(request, logits);
    EXPECT_EQ(error.code(), kNoTokenAllowed);
    EXPECT_EQ(error.message(), "the mask allows no token: 0 of 40");
  }
}

TEST_F(OutputForms, TheMostProbableTokensFollowTheDrawnOneWithProbabilitiesBeforeTheRule) {
  const std::vector<float> logits = some_logits();
  const Distribution all = top_k(logits, 64);
  for (const std::uint32_t count : {1u, 5u, 64u}) {
    DistributionRequest request =
        draw({.temperature = 0.5, .presence_penalty = 3.0}, 0.999, some_mask());
    request.draw.history = some_history();
    request.draw.top_count = count;
    const Distribution drawn = made(request, logits);
    ASSERT_EQ(drawn.tokens.size(), 1 + count);
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(drawn.tokens[1 + i], all.tokens[i]);
      EXPECT_EQ(drawn.probabilities[1 + i], all.probabilities[i]);
    }
  }
}

TEST_F(OutputForms, GreedyTakesTheLowestOfEqualTokens) {
  std::vector<float> logits(100, 1.0f);
  EXPECT_EQ(made(draw({}, 0.9), logits).tokens[0], TokenId{0});
  EXPECT_EQ(made(draw({}, 0.9, {0u, 0xf0u, 0u, 0u}), logits).tokens[0], TokenId{36});
  DistributionRequest request = draw({.presence_penalty = 1.0}, 0.9);
  request.draw.history = {TokenId{0}, TokenId{1}};
  EXPECT_EQ(made(request, logits).tokens[0], TokenId{2});
}

TEST_F(OutputForms, LogitsThatAreNotFiniteAreAnErrorAlsoWhereTheMaskForbidsThem) {
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits(64, 1.0f);
    logits[40] = odd;
    const Words mask = {0xffu, 0u};
    DistributionRequest wanted;
    wanted.mask = std::make_shared<const Words>(mask);
    for (const DistributionRequest& request :
         {draw({.temperature = 1.0}, 0.5, mask), draw({.top_n_sigma = 1.0}, 0.5, mask), wanted}) {
      EXPECT_EQ(refused(request, logits).code(), ErrorCode::Internal);
    }
  }
}

}  // namespace
}  // namespace quire::inference
