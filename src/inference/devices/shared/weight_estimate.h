#pragma once
// Estimates what candidates weigh in a draw: (p / p0)^(1 / temperature), p0 the largest probability,
// in f32 and several times as fast as sampling::weigh. fast_draw needs the sum of many weights, not
// each of them exactly.
//
// Thread   any.
#include <cstdint>
#include <span>

namespace quire::inference {

class WeightEstimator {
 public:
  // Below it the error would no longer be small. Few candidates have any weight then.
  static constexpr double kTemperatureMin = 0.01;
  // A weight that counts as zero is less than this.
  static constexpr double kUncountedMost = 0x1p-39;

  // `largest` is p0, above 0 and at most 1. A candidate's probability is its numerator / sum, and is
  // at most p0.
  WeightEstimator(float largest, float sum, double temperature);

  // The sum of the weights. Each that counts is off by a factor within 1 +- error(). One numerator
  // adds the same in any company.
  double estimate(std::span<const float> numerators) const;
  double error() const;

 private:
  static constexpr std::size_t kCount = 16;  // Side by side.
  void add(const float* numerators, double* sums) const;

  float sum_;
  std::int32_t exponent_;  // Of the largest probability,
  float mantissa_log_;     // and the base-2 logarithm of its mantissa.
  float inverse_temperature_;
};

}  // namespace quire::inference
