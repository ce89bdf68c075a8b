// The error. With y = log2(p / p0) / temperature:
//   - the logarithm is off by less than 2^-21 + 2^-24 + |log2(p / p0)| * 2^-24: the series stops at
//     s^7, which leaves 2^-24, and its f32 operations add 2^-22;
//   - so y is off by less than 5.4e-7 / temperature + |y| * 1.8e-7, and for y >= -40 the weight by a
//     factor within 1 +- (3.8e-7 / temperature + 5.1e-6);
//   - 2^y is off by less than 2^-21: seven terms leave 2^-27, and f32 operations add 2^-22.
// Fused operations round once where these round twice, so that the limits hold for them as well.
// Together that is less than kErrorFixed + kErrorPerInverse / temperature. Where y < -40, the weight
// counts as zero: its true value is below 2^-39.
#include "inference/devices/shared/weight_estimate.h"

#include <bit>

#include "quire/sampling.h"

namespace quire::inference {
namespace {

constexpr double kErrorFixed = 1e-5;
constexpr double kErrorPerInverse = 1e-6;
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

}  // namespace

WeightEstimator::WeightEstimator(float largest, float sum, double temperature,
                                 SumOfPowers sum_of_powers)
    : sum_of_powers_(sum_of_powers) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(largest * kScale);
  const std::int32_t exponent = exponent_of(bits);
  const auto mantissa = static_cast<double>(mantissa_of(bits, exponent));
  scale_ = {.sum = sum,
            .exponent = exponent,
            .mantissa_log = static_cast<float>(sampling::log2(mantissa)),
            .inverse_temperature = static_cast<float>(1.0 / temperature)};
}

double WeightEstimator::error() const {
  return kErrorFixed + kErrorPerInverse * static_cast<double>(scale_.inverse_temperature);
}

double WeightEstimator::estimate(std::span<const float> numerators) const {
  return sum_of_powers_(numerators.data(), numerators.size(), scale_);
}

}  // namespace quire::inference
