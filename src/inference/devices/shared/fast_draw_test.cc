// The fast draw beside the plain one: sort all, weigh all, add up all.
#include "inference/devices/shared/fast_draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/seeds.h"

namespace quire::inference {
namespace {

// All of a distribution in its order; sorted once for many draws.
class Plain {
 public:
  Plain(const std::vector<float>& numerators, float sum) : order_(numerators.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return numerators[a] > numerators[b];
    });
    for (const std::uint32_t each : order_) probabilities_.push_back(numerators[each] / sum);
  }
  std::size_t draw(const DrawRule& rule, double random) {
    return order_[sampling::draw_index(probabilities_, rule, random, scratch_)];
  }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<float> probabilities_;
  DrawScratch scratch_;
};

// Numerators of a softmax whose logits spread by `spread`, shaped in one of several ways.
std::vector<float> some_numerators(sampling::Random& random, std::size_t count) {
  std::vector<float> out(count);
  const double spread = std::exp2(1.0 + 6.0 * random.uniform());
  const std::uint64_t shape = random.next() % 5;
  for (float& each : out) {
    double logit = -spread * random.uniform();
    if (shape == 1) logit = -spread * std::sqrt(random.uniform());  // Most are improbable.
    if (shape == 2) logit = -spread * random.uniform() * random.uniform();
    if (shape == 3) logit = -static_cast<double>(random.next() % 6);  // Many are equal.
    each = logit < -87.0 ? 0.0f : static_cast<float>(std::exp(logit));
  }
  if (shape == 4) {  // Few hold nearly all.
    for (float& each : out) each *= 1e-6f;
    for (int i = 0; i < 20; ++i) {
      out[random.next() % count] = static_cast<float>(std::exp2(-8.0 * random.uniform()));
    }
  }
  out[random.next() % count] = 1.0f;
  return out;
}

float sum_of(const std::vector<float>& numerators) {
  double sum = 0;
  for (const float each : numerators) sum += static_cast<double>(each);
  return static_cast<float>(sum);
}

DrawRule some_rule(sampling::Random& random) {
  const double temperatures[] = {0.8, 1.0, 0.01, 0.3, 1.5, 5.0, 100.0, 0.005, 1e6};
  DrawRule rule{.temperature = temperatures[random.next() % 9]};
  if (random.next() % 3 == 0) rule.temperature = 0.2 + 1.5 * random.uniform();
  if (random.next() % 3 == 0) rule.top_p = random.uniform();
  if (random.next() % 8 == 0) rule.top_p = 1.0 - std::exp2(-60.0 * random.uniform());
  if (random.next() % 3 == 0) rule.min_p = std::exp2(-50.0 * random.uniform());
  if (random.next() % 3 == 0) {
    rule.xtc_probability = random.uniform();
    rule.xtc_threshold = random.next() % 4 == 0 ? 0.0 : 0.5 * std::exp2(-20.0 * random.uniform());
  }
  if (random.next() % 10 == 0) rule.top_k = static_cast<std::uint32_t>(random.next() % 9000);
  if (random.next() % 20 == 0) rule.typical_p = random.uniform();
  return rule;
}

double some_random(sampling::Random& random) {
  if (random.next() % 16 == 0) return 0.0;
  if (random.next() % 16 == 0) return 1.0 - 0x1p-53;
  return random.uniform();
}

SumOfPowers sum_of_powers_of(std::uint64_t seed) {
  const auto tables = supported_kernels();
  return tables[seed % tables.size()]->elementwise.sum_of_powers;
}

void compare(std::uint64_t seed) {
  constexpr int kDraws = 1000;
  sampling::Random random(seed);
  FastDrawScratch scratch;
  scratch.sum_of_powers = sum_of_powers_of(seed);
  const std::size_t counts[] = {4096, 5000, 8191, 12000, 24577, 49152};
  const std::vector<float> numerators = some_numerators(random, counts[random.next() % 6]);
  const float sum = random.next() % 4 == 0 ? 1.0f : sum_of(numerators);
  Plain plain(numerators, sum);
  for (int draw = 0; draw < kDraws; ++draw) {
    const DrawRule rule = some_rule(random);
    const double number = some_random(random);
    ASSERT_EQ(draw_unsorted(numerators, sum, rule, number, scratch), plain.draw(rule, number))
        << "seed " << seed << " draw " << draw << " temperature " << rule.temperature << " top_p "
        << rule.top_p << " min_p " << rule.min_p << " xtc " << rule.xtc_probability << " "
        << rule.xtc_threshold << " random " << number;
  }
}

TEST(FastDraw, DrawsWhatThePlainWayDraws) {
  constexpr std::uint64_t kSeedCount = 48;  // A thousand draws each.
  for (const std::uint64_t seed : campaign_seeds(kSeedCount)) compare(seed);
}

TEST(FastDraw, OddNumeratorsGiveWhatThePlainWayGives) {
  sampling::Random random(3);
  FastDrawScratch scratch;
  const float odd[] = {0.0f, std::numeric_limits<float>::denorm_min(), 1e-38f, 3.4e38f, 1.0f};
  for (int round = 0; round < 200; ++round) {
    scratch.sum_of_powers = sum_of_powers_of(static_cast<std::uint64_t>(round));
    std::vector<float> numerators(4096 + random.next() % 2000, odd[random.next() % 5]);
    for (std::size_t i = 0; i < random.next() % 3000; ++i) {
      numerators[random.next() % numerators.size()] = odd[random.next() % 5];
    }
    const float sums[] = {1.0f, 1e20f, 3.4e38f};
    const float sum = sums[random.next() % 3];
    const DrawRule rule = some_rule(random);
    const double number = some_random(random);
    ASSERT_EQ(draw_unsorted(numerators, sum, rule, number, scratch),
              Plain(numerators, sum).draw(rule, number))
        << round;
  }
}

TEST(FastDraw, FewCandidatesAndOneAreDrawnToo) {
  FastDrawScratch scratch;
  const std::vector<float> one = {1.0f};
  EXPECT_EQ(draw_unsorted(one, 1.0f, {.temperature = 0.8}, 0.99, scratch), 0u);
  const std::vector<float> two = {0.25f, 1.0f};
  EXPECT_EQ(draw_unsorted(two, 1.25f, {.temperature = 1.0}, 0.79, scratch), 1u);
  EXPECT_EQ(draw_unsorted(two, 1.25f, {.temperature = 1.0}, 0.81, scratch), 0u);
  EXPECT_EQ(draw_unsorted(two, 1.25f, {}, 0.99, scratch), 1u);
}

}  // namespace
}  // namespace quire::inference
