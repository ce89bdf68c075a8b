// The error. With y = log2(p / p0) / temperature:
//   - the logarithm is off by less than 2^-21 + 2^-24 + |log2(p / p0)| * 2^-24: the series stops at
//     s^7, which leaves 2^-24, and its f32 operations add 2^-22;
//   - so y is off by less than 5.4e-7 / temperature + |y| * 1.8e-7, and for y >= -40 the weight by a
//     factor within 1 +- (3.8e-7 / temperature + 5.1e-6);
//   - 2^y is off by less than 2^-21: seven terms leave 2^-27, and f32 operations add 2^-22.
// Together that is less than kErrorFixed + kErrorPerInverse / temperature. Where y < -40, the weight
// counts as zero: its true value is below 2^-39.
#include "inference/devices/shared/weight_estimate.h"

#include <algorithm>
#include <bit>

#include "quire/sampling.h"

namespace quire::inference {
namespace {

constexpr double kErrorFixed = 1e-5;
constexpr double kErrorPerInverse = 1e-6;
constexpr float kLowestPower = -40.0f;
constexpr float kScale = 0x1p64f;  // Probabilities may be denormal; times 2^64 they are not.
constexpr std::int32_t kMantissaBits = 23;
constexpr std::uint32_t kHalfRootBits = 0x3f35'04f3u;  // Of sqrt(1/2).

// A number as 2^exponent * mantissa, with a mantissa around 1: from sqrt(1/2) to sqrt(2).
std::int32_t exponent_of(std::uint32_t bits) {
  return static_cast<std::int32_t>(bits - kHalfRootBits) >> kMantissaBits;
}
float mantissa_of(std::uint32_t bits, std::int32_t exponent) {
  return std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << kMantissaBits));
}

std::uint32_t all_bits_if(bool condition) {
  return 0u - static_cast<std::uint32_t>(condition);
}

}  // namespace

WeightEstimator::WeightEstimator(float largest, float sum, double temperature)
    : sum_(sum), inverse_temperature_(static_cast<float>(1.0 / temperature)) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(largest * kScale);
  exponent_ = exponent_of(bits);
  const auto mantissa = static_cast<double>(mantissa_of(bits, exponent_));
  mantissa_log_ = static_cast<float>(sampling::log2(mantissa));
}

double WeightEstimator::error() const {
  return kErrorFixed + kErrorPerInverse * static_cast<double>(inverse_temperature_);
}

// Conditions are masks of bits, because g++ makes vector instructions only of loops without
// branches: 4 times as fast.
void WeightEstimator::add(const float* numerators, double* sums) const {
  const float sum_of_all = sum_, mantissa_log_of_largest = mantissa_log_;
  const float inverse_temperature = inverse_temperature_;
  const std::int32_t exponent_of_largest = exponent_;
  float probability[kCount], power[kCount], weight[kCount];
  for (std::size_t i = 0; i < kCount; ++i) probability[i] = numerators[i] / sum_of_all;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(probability[i] * kScale);
    const std::int32_t exponent = exponent_of(bits);
    const float mantissa = mantissa_of(bits, exponent);
    const float s = (mantissa - 1.0f) / (mantissa + 1.0f);
    const float s2 = s * s;
    const float series = ((s2 * (1.0f / 7) + 1.0f / 5) * s2 + 1.0f / 3) * s2 + 1.0f;
    const float mantissa_log = s * series * 2.88539008f;  // 2 / ln 2
    const float log = static_cast<float>(exponent - exponent_of_largest) +
                      (mantissa_log - mantissa_log_of_largest);
    power[i] = log * inverse_temperature;
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint32_t counts = all_bits_if(power[i] >= kLowestPower);
    const float within = std::bit_cast<float>(std::bit_cast<std::uint32_t>(power[i]) & counts);
    const std::int32_t whole = static_cast<std::int32_t>(within - 0.5f);
    const float x = (within - static_cast<float>(whole)) * 0.693147181f;
    float sum = 1.0f / 5040;
    sum = sum * x + 1.0f / 720;
    sum = sum * x + 1.0f / 120;
    sum = sum * x + 1.0f / 24;
    sum = sum * x + 1.0f / 6;
    sum = sum * x + 0.5f;
    sum = sum * x + 1.0f;
    sum = sum * x + 1.0f;
    const float two_to_whole =
        std::bit_cast<float>(static_cast<std::uint32_t>(whole + 127) << kMantissaBits);
    const std::uint32_t is_some = all_bits_if(probability[i] > 0.0f) & counts;
    weight[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum * two_to_whole) & is_some);
  }
  for (std::size_t i = 0; i < kCount; ++i) sums[i] += static_cast<double>(weight[i]);
}

double WeightEstimator::estimate(std::span<const float> numerators) const {
  double sums[kCount] = {};
  std::size_t done = 0;
  for (; done + kCount <= numerators.size(); done += kCount) add(numerators.data() + done, sums);
  float rest[kCount] = {};
  std::copy(numerators.begin() + static_cast<std::ptrdiff_t>(done), numerators.end(), rest);
  add(rest, sums);
  double sum = 0.0;
  for (const double each : sums) sum += each;
  return sum;
}

}  // namespace quire::inference
