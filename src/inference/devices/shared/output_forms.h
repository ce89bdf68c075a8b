#pragma once
// The form of a next-token distribution that a request wants, made from its logits: the same for
// every backend that has a softmax of its own.
//
// Thread   any; the scratch memory is the caller's, so that a steady state allocates little.
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "inference/api/batch.h"
#include "inference/devices/shared/fast_draw.h"
#include "inference/devices/shared/top_k.h"
#include "quire/draw_arithmetic.h"

namespace quire::inference {

struct OutputScratch {
  TopKScratch top_k;
  std::vector<std::uint32_t> indices;
  std::vector<float> logits;
  std::vector<std::uint32_t> history;
  DrawScratch draw;  // The candidates of a mask or of a rule that adjusts logits.
  FastDrawScratch fast_draw;
};

// In place: x[i] = exp(x[i] * inverse_temperature - max); returns their sum (kernels.h).
using SoftmaxNumerators = float (*)(float* x, std::uint32_t count, float inverse_temperature);

// Any kind but Vector; `logits` is overwritten. Internal: one of them is not finite.
// InvalidArgument: a temperature that is not above zero, for TopK. kNoTokenAllowed: the mask of
// TopK or Draw allows no token.
Result<Distribution> output_form(const DistributionRequest& request, std::span<float> logits,
                                 SoftmaxNumerators softmax, OutputScratch& scratch);

}  // namespace quire::inference
