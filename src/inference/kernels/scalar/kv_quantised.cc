#include "inference/kernels/scalar/kv_quantised.h"

#include <bit>
#include <limits>

namespace quire::inference::scalar {
namespace {

// To nearest, ties to even; |x| < 2^22.
float rounded(float x) {
  constexpr float kWhole = 0x1.8p23f;
  return (x + kWhole) - kWhole;
}

}  // namespace

std::uint32_t hadamard_size(std::uint32_t head_dim) {
  return head_dim & (~head_dim + 1);
}

void turn(std::uint32_t head_dim, float* x) {
  const std::uint32_t size = hadamard_size(head_dim);
  for (std::uint32_t apart = 1; apart < size; apart *= 2) {
    for (std::uint32_t first = 0; first < head_dim; first += 2 * apart) {
      for (std::uint32_t i = first; i < first + apart; ++i) {
        const float a = x[i], b = x[i + apart];
        x[i] = a + b;
        x[i + apart] = a - b;
      }
    }
  }
}

float quantise_row(std::uint32_t count, const float* x, std::int8_t* codes) {
  std::uint32_t largest = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  const auto magnitude = std::bit_cast<float>(largest);
  const bool is_finite = largest < 0x7f800000u;
  if (!is_finite || magnitude < 1e-30f) {
    for (std::uint32_t i = 0; i < count; ++i) codes[i] = 0;
    return is_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  }
  const float inverse = 127.0f / magnitude;
  for (std::uint32_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::int8_t>(rounded(x[i] * inverse));
  }
  return magnitude / 127.0f;
}

}  // namespace quire::inference::scalar
