#include "inference/models/rope_angles.h"

#include <cmath>

namespace quire::inference {

SineCosine sine_cosine(double x) {
  // pi/2 in three parts of which the first two have 33 bits each, so that products with quadrants
  // below 2^20 are exact (Cody and Waite; the constants of fdlibm).
  constexpr double kTwoOverPi = 0.63661977236758134308;
  constexpr double kFirst = 1.57079632673412561417e+00;
  constexpr double kSecond = 6.07710050630396597660e-11;
  constexpr double kThird = 2.02226624879595063154e-21;
  constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52
  const double quadrant = (x * kTwoOverPi + kRounder) - kRounder;
  const double r = ((x - quadrant * kFirst) - quadrant * kSecond) - quadrant * kThird;
  const double z = r * r;
  // Taylor's series: the first term left out is below 1e-17 at pi/4.
  double s = -1.0 / 1307674368000.0;
  s = s * z + 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800.0;
  s = s * z + 1.0 / 362880.0;
  s = s * z - 1.0 / 5040.0;
  s = s * z + 1.0 / 120.0;
  s = s * z - 1.0 / 6.0;
  s = s * z * r + r;
  double c = 1.0 / 20922789888000.0;
  c = c * z - 1.0 / 87178291200.0;
  c = c * z + 1.0 / 479001600.0;
  c = c * z - 1.0 / 3628800.0;
  c = c * z + 1.0 / 40320.0;
  c = c * z - 1.0 / 720.0;
  c = c * z + 1.0 / 24.0;
  c = c * z - 0.5;
  c = c * z + 1.0;
  switch (static_cast<std::int64_t>(quadrant) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

RopeAngles::RopeAngles(const RopeSpec& rope, std::uint32_t head_dim) : frequencies_(head_dim / 2) {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    // libm's pow, once: its last bit does not survive the rounding to float.
    const double exponent = -2.0 * static_cast<double>(i) / head_dim;
    double frequency = std::pow(rope.theta, exponent);
    if (!rope.factors.empty()) frequency /= static_cast<double>(rope.factors[i]);
    frequencies_[i] = static_cast<float>(frequency);
  }
}

void RopeAngles::at(std::uint32_t position, float* cosine, float* sine) const {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const SineCosine pair = sine_cosine(double{frequencies_[i]} * position);
    cosine[i] = static_cast<float>(pair.cosine);
    sine[i] = static_cast<float>(pair.sine);
  }
}

}  // namespace quire::inference
