#pragma once
// RopeAngles: cosines and sines of positions, the same bits on every machine.
//
// angle = position * frequency, in double, where the frequency of a pair was rounded to float once,
// when the model was loaded; sine and cosine are our own polynomials. No table is kept: 32 pairs
// take about 0.5 us, against milliseconds for the token's pass.
#include <cstdint>
#include <vector>

#include "inference/weights/model_spec.h"

namespace quire::inference {

// Within 1e-15 for |x| up to a million; beyond, the error grows as x * 1e-21. Polynomials after
// reduction to [-pi/4, pi/4].
struct SineCosine {
  double sine;
  double cosine;
};
SineCosine sine_cosine(double x);

class RopeAngles {
 public:
  RopeAngles(const RopeSpec& rope, std::uint32_t head_dim);
  std::uint32_t half() const { return static_cast<std::uint32_t>(frequencies_.size()); }
  // cosine and sine: [half()]
  void at(std::uint32_t position, float* cosine, float* sine) const;

 private:
  std::vector<float> frequencies_;
};

}  // namespace quire::inference
