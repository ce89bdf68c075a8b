#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace quire {
namespace {

std::vector<std::uint64_t> log_uniform_values(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  // From 2 to 7.9e11, and the last edge is 8e11.
  std::uniform_real_distribution<double> exponent(0.4, 11.9);
  std::vector<std::uint64_t> values(count);
  for (std::uint64_t& each : values) {
    each = static_cast<std::uint64_t>(std::pow(10.0, exponent(random)));
  }
  return values;
}

TEST(Histogram, CountsWhatIsAtMostAnEdgeExactly) {
  const std::vector<std::uint64_t> values = log_uniform_values(1, 5000);
  Histogram histogram;
  std::uint64_t sum = 0;
  for (const std::uint64_t each : values) {
    histogram.observe(each);
    sum += each;
  }
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.sum(), sum);
  for (const std::uint64_t edge : Histogram::edges()) {
    const auto expected =
        std::count_if(values.begin(), values.end(), [&](auto each) { return each <= edge; });
    EXPECT_EQ(histogram.count_at_most(edge), static_cast<std::uint64_t>(expected)) << edge;
  }
}

TEST(Histogram, EstimatesQuantilesWithinItsError) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::uint64_t> values = log_uniform_values(seed, 1 + seed * 200);
    Histogram histogram;
    for (const std::uint64_t each : values) histogram.observe(each);
    std::sort(values.begin(), values.end());
    for (const double q : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank = std::max(std::ceil(q * static_cast<double>(values.size())), 1.0);
      const auto exact = static_cast<double>(values[static_cast<std::size_t>(rank) - 1]);
      const auto estimate = static_cast<double>(histogram.quantile(q));
      EXPECT_LE(estimate, exact * (1 + Histogram::kQuantileError) + 0.5) << seed << " " << q;
      EXPECT_GE(estimate, exact / (1 + Histogram::kQuantileError) - 0.5) << seed << " " << q;
    }
  }
}

TEST(Histogram, SumsLikeOneThatSawAllValues) {
  Histogram one, other, both;
  for (const std::uint64_t each : log_uniform_values(7, 1000)) {
    (each % 2 == 0 ? one : other).observe(each, 3);
    for (int i = 0; i < 3; ++i) both.observe(each);
  }
  one += other;
  EXPECT_TRUE(one == both);
}

TEST(Histogram, TakesTheSmallestAndTheLargestValue) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  histogram.observe(0);
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  histogram.observe(UINT64_MAX, 1);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.count_at_most(Histogram::edges().back()), 1u);
  EXPECT_EQ(histogram.quantile(1.0), Histogram::edges().back());
}

}  // namespace
}  // namespace quire
