#include "quire/sampling.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "sampling_cases.h"

namespace quire {
namespace {

const std::vector<float> kFour = {0.4f, 0.3f, 0.2f, 0.1f};

std::map<std::size_t, int> counts_of_draws(SamplerOptions options, int draw_count,
                                           const std::vector<float>& probabilities = kFour) {
  Sampler sampler(options);
  std::map<std::size_t, int> counts;
  for (int i = 0; i < draw_count; ++i) counts[sampler.draw_index(probabilities)] += 1;
  return counts;
}

TEST(Sampling, GivesTheDrawsThatEveryMachineGives) {
  EXPECT_EQ(test::digest_of_many_draws(), test::kDigestOfManyDraws);
}

TEST(Sampling, Log2AndExp2AgreeWithLibmToTheLastPlaces) {
  sampling::Random random(3);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::exp2(-300.0 * random.uniform()) * (1.0 + random.uniform());
    const double exact = std::log2(value);
    ASSERT_NEAR(sampling::log2(value), exact, 4e-16 * (1.0 + std::abs(exact))) << value;
    const double power = -1022.0 * random.uniform();
    ASSERT_NEAR(sampling::exp2(power) / std::exp2(power), 1.0, 1e-15) << power;
  }
  EXPECT_EQ(sampling::log2(1.0), 0.0);
  EXPECT_EQ(sampling::exp2(0.0), 1.0);
  EXPECT_EQ(sampling::exp2(-std::numeric_limits<double>::infinity()), 0.0);
}

TEST(Sampling, TemperatureZeroTakesTheFirstTokenAndUsesNoRandomNumber) {
  Sampler sampler({.temperature = 0.0, .seed = 5});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sampler.draw_index(kFour), 0u);
  EXPECT_EQ(sampler.top_k_wanted(), 1u);
}

TEST(Sampling, TemperatureOneDrawsEachTokenAsOftenAsItsProbabilitySays) {
  auto counts = counts_of_draws({.temperature = 1.0, .seed = 1}, 100000);
  for (std::size_t i = 0; i < kFour.size(); ++i) EXPECT_NEAR(counts[i] / 1e5, kFour[i], 0.006) << i;
}

TEST(Sampling, TemperatureHalfSquaresTheProbabilities) {
  auto counts = counts_of_draws({.temperature = 0.5, .seed = 1}, 100000);
  for (std::size_t i = 0; i < kFour.size(); ++i) {
    EXPECT_NEAR(counts[i] / 1e5, kFour[i] * kFour[i] / 0.30, 0.006) << i;
  }
}

TEST(Sampling, TopKKeepsTheMostProbable) {
  auto counts = counts_of_draws({.temperature = 1.0, .top_k = 2, .seed = 1}, 50000);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[0] / 5e4, 4.0 / 7.0, 0.01);
}

TEST(Sampling, TopPKeepsTheFewestTokensThatHoldTheShare) {
  EXPECT_EQ(counts_of_draws({.temperature = 1.0, .top_p = 0.5, .seed = 1}, 2000).size(), 2u);
  EXPECT_EQ(counts_of_draws({.temperature = 1.0, .top_p = 0.35, .seed = 1}, 2000).size(), 1u);
  EXPECT_EQ(counts_of_draws({.temperature = 1.0, .top_p = 0.0, .seed = 1}, 2000).size(), 1u);
  EXPECT_EQ(counts_of_draws({.temperature = 1.0, .top_p = 1.0, .seed = 1}, 2000).size(), 4u);
}

TEST(Sampling, MinPKeepsTokensOfAtLeastAShareOfTheFirst) {
  EXPECT_EQ(counts_of_draws({.temperature = 1.0, .min_p = 0.45, .seed = 1}, 2000).size(), 3u);
  EXPECT_EQ(counts_of_draws({.temperature = 1.0, .min_p = 1.0, .seed = 1}, 2000).size(), 1u);
}

TEST(Sampling, OneSeedGivesOneSequenceAndAnotherSeedAnother) {
  Sampler first({.temperature = 1.0, .seed = 9});
  Sampler same({.temperature = 1.0, .seed = 9});
  Sampler other({.temperature = 1.0, .seed = 10});
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::size_t drawn = first.draw_index(kFour);
    EXPECT_EQ(drawn, same.draw_index(kFour));
    differs |= drawn != other.draw_index(kFour);
  }
  EXPECT_TRUE(differs);
}

TEST(Sampling, AWholeVocabularyIsWeighedAsEachOfItsTokens) {
  sampling::Random random(8);
  std::vector<float> probabilities(1003);
  for (float& each : probabilities)
    each = std::exp2(-140.0f * static_cast<float>(random.uniform()));
  const float odd[] = {0.0f,
                       -1.0f,
                       std::numeric_limits<float>::denorm_min(),
                       std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::max()};
  for (std::size_t i = 0; i < std::size(odd); ++i) probabilities[37 * (i + 1)] = odd[i];
  for (const double temperature : {1e-300, 1e-9, 0.05, 0.7, 1.0, 1.3, 1e6}) {
    for (const double largest : {0.9, 1e-40}) {
      std::vector<double> weights(probabilities.size());
      sampling::weigh(probabilities, largest, temperature, weights.data());
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double alone = sampling::weight(probabilities[i], largest, temperature);
        ASSERT_EQ(std::bit_cast<std::uint64_t>(weights[i]), std::bit_cast<std::uint64_t>(alone))
            << probabilities[i] << " " << largest << " " << temperature;
      }
    }
  }
}

TEST(Sampling, ATopKOfNoLimitAsksForTheWholeVocabulary) {
  EXPECT_EQ(Sampler({.temperature = 0.5}).top_k_wanted(), Sampler::kWholeVocabulary);
  EXPECT_EQ(Sampler({.temperature = 0.5, .top_k = 3}).top_k_wanted(), 3u);
  const std::vector<float> even(1000, 0.001f);
  const auto counts = counts_of_draws({.temperature = 1.0, .seed = 4}, 20000, even);
  EXPECT_GT(counts.size(), 990u);
}

TEST(Sampling, NumbersOutOfTheirRangeAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<SamplerOptions, const char*> wrong[] = {{{.temperature = -0.5}, "temperature"},
                                                          {{.temperature = 2e6}, "temperature"},
                                                          {{.temperature = nan}, "temperature"},
                                                          {{.top_p = -0.1}, "top_p"},
                                                          {{.top_p = 1.5}, "top_p"},
                                                          {{.top_p = nan}, "top_p"},
                                                          {{.min_p = 2.0}, "min_p"},
                                                          {{.min_p = nan}, "min_p"}};
  for (const auto& [options, name] : wrong) {
    ASSERT_TRUE(sampling::out_of_range(options).has_value()) << name;
    EXPECT_STREQ(sampling::out_of_range(options)->name, name);
  }
  EXPECT_FALSE(sampling::out_of_range(SamplerOptions{}).has_value());
  EXPECT_FALSE(
      sampling::out_of_range(SamplerOptions{.temperature = 1e6, .top_p = 0.0, .min_p = 1.0})
          .has_value());
}

TEST(Sampling, NumbersThatAreNoProbabilitiesNeverLeadOutOfTheList) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<std::vector<float>> lists = {
      {},         {nan}, {0.0f, 0.0f}, {nan, 0.5f}, {infinite, 1.0f}, {tiny, 1e38f}, {-1.0f, 2.0f},
      {0.5f, nan}};
  const double odd[] = {0.0, -1.0, 1e-300, 1e300, nan, infinite, 0.5};
  for (const auto& list : lists) {
    for (double temperature : odd) {
      for (double share : odd) {
        Sampler sampler({.temperature = temperature, .top_p = share, .min_p = share, .seed = 1});
        for (int i = 0; i < 20; ++i) {
          ASSERT_LT(sampler.draw_index(list), std::max<std::size_t>(list.size(), 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace quire
