#pragma once
// Operations on the numbers of a row.
//
// Thread   any; functions keep no state. Memory is the caller's.
#include <cstddef>
#include <cstdint>

#include "inference/kernels/kernel_types.h"

namespace quire::inference {

struct ElementwiseKernels {
  // out[i] = x[i] * weight[i] / sqrt(mean(x^2) + epsilon). In place is allowed.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, std::uint32_t count,
                   float* out);
  void (*add)(const float* x, std::uint32_t count, float* into);  // into += x
  void (*silu_multiply)(const float* gate, const float* up, std::uint32_t count, float* out);
  // Rotates pairs in place: (x[i], x[i + half]) by cos/sin[i], half = rotary_dim / 2 (NeoX order).
  void (*rope)(const float* cosine, const float* sine, std::uint32_t half, float* x);

  // In place: x[i] = exp(x[i] * inverse_temperature - max), returns their sum in a fixed order.
  // Softmax probabilities are x[i] / sum. Not-a-number anywhere gives NaN.
  float (*softmax_numerators)(float* x, std::uint32_t count, float inverse_temperature);

  // The sum, in double, of the power of each numerator; weight_estimate.cc says how far off each
  // one may be. One numerator adds the same in any company.
  double (*sum_of_powers)(const float* numerators, std::size_t count, const PowerScale& scale);
};

}  // namespace quire::inference
