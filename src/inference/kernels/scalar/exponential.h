#pragma once
// exp in plain multiplications and additions, so that its bits are the same on every machine.
//
// 2^n times a polynomial of degree 7 in r = x - n ln 2, |r| <= ln(2) / 2 (Cephes' coefficients);
// relative error below 2e-7. Below -87 the result is 0, above 88 infinity; NaN stays NaN. There are
// no branches, so that loops over it vectorise.
#include <bit>
#include <cstdint>

namespace quire::inference::scalar {

inline float exponential(float x) {
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number.
  const float shifted = x * 1.44269504f + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // The low bits of `shifted` are n as an integer; the exponent field of 2^n is n + 127.
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;
  float result = p * std::bit_cast<float>(exponent);
  result = x < -87.0f ? 0.0f : result;
  result = x > 88.0f ? std::bit_cast<float>(0x7f800000u) : result;
  return x != x ? x : result;
}

}  // namespace quire::inference::scalar
