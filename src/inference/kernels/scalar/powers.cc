// Sums of powers in F32. Conditions are masks of bits, because g++ makes vector instructions only
// of loops without branches: 4 times as fast.
#include <algorithm>
#include <bit>

#include "inference/kernels/scalar/scalar.h"

namespace quire::inference::scalar {
namespace {

constexpr std::size_t kCount = 16;  // Side by side.
constexpr float kScale = 0x1p64f;   // Probabilities may be denormal; times 2^64 they are not.
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

void add_powers(const float* numerators, const PowerScale& scale, double* sums) {
  const float sum_of_all = scale.sum, mantissa_log_of_largest = scale.mantissa_log;
  const float inverse_temperature = scale.inverse_temperature;
  const std::int32_t exponent_of_largest = scale.exponent;
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

}  // namespace

double sum_of_powers(const float* numerators, std::size_t count, const PowerScale& scale) {
  double sums[kCount] = {};
  std::size_t done = 0;
  for (; done + kCount <= count; done += kCount) add_powers(numerators + done, scale, sums);
  float rest[kCount] = {};
  std::copy(numerators + done, numerators + count, rest);
  add_powers(rest, scale, sums);
  double sum = 0.0;
  for (const double each : sums) sum += each;
  return sum;
}

}  // namespace quire::inference::scalar
