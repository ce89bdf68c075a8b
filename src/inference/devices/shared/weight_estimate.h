#pragma once
// Estimates the weights of candidates in a draw: (p / p0)^(1 / temperature), p0 the largest
// probability. It works in f32, many times as fast as sampling::weigh. The caller, fast_draw, needs
// the sum of many weights, not each of them exactly.
//
// Thread   any.
#include <cstdint>
#include <span>

#include "inference/kernels/scalar/scalar.h"

namespace quire::inference {

// A function of a KernelTable.
using SumOfPowers = double (*)(const float* numerators, std::size_t count, const PowerScale& scale);

class WeightEstimator {
 public:
  // Below it the error would no longer be small. Few candidates have any weight then.
  static constexpr double kTemperatureMin = 0.01;
  // A weight that counts as zero is less than this.
  static constexpr double kUncountedMost = 0x1p-39;

  // `largest` is p0, above 0 and at most 1. A candidate's probability is its numerator / sum, and
  // is at most p0.
  WeightEstimator(float largest, float sum, double temperature,
                  SumOfPowers sum_of_powers = scalar::sum_of_powers);

  // The sum of the weights. Each that counts is off by a factor within 1 +- error(). One numerator
  // adds the same in any company.
  double estimate(std::span<const float> numerators) const;
  double error() const;

 private:
  SumOfPowers sum_of_powers_;
  PowerScale scale_;
};

}  // namespace quire::inference
