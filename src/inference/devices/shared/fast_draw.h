#pragma once
// Draws a token from probabilities that are not sorted: the token that sampling::draw_index draws
// from the sorted ones, bit for bit, mostly without sorting or weighing all of a vocabulary.
//
// Thread   any; the scratch memory is the caller's.
#include <cstdint>
#include <span>
#include <vector>

#include "inference/devices/shared/top_k.h"
#include "inference/devices/shared/weight_estimate.h"
#include "quire/draw_arithmetic.h"

namespace quire::inference {

struct FastDrawScratch {
  SumOfPowers sum_of_powers = scalar::sum_of_powers;  // The same tokens, whichever it is.
  TopKScratch top_k;
  std::vector<std::uint32_t> order;
  std::vector<float> numerators;  // Of those that were weighed last,
  std::vector<float> probabilities;
  DrawScratch draw;
};

// The index of the drawn token, whose probability is numerators[index] / sum. Tokens are ranked by
// falling numerator, ties by rising index. Requires: at least one numerator, none of them NaN or
// negative. Only a sum of at least each of them makes it fast.
std::size_t draw_unsorted(std::span<const float> numerators, float sum, const DrawRule& rule,
                          double random, FastDrawScratch& scratch);

}  // namespace quire::inference
