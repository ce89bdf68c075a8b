#pragma once
// The 8-bit operations, defined in plain C++. `avx2`, `avxvnni` and `avx512` match these functions
// bit for bit.
//
// Activations are quantised each row alone, in blocks of 32 columns with a scale each (blocks of 64
// cost SmolLM2 twice as much likelihood). Weights keep the codes of their file, unsigned, and its
// scales: halves, or in the K formats the product of a half and a small integer, which F32 holds
// exactly.
//
// A dot product goes through the blocks in order. Dots of codes are exact integers, so the order of
// blocks alone decides the bits:
//   symmetric:         acc = fma(float(dot - zero * sum), d * a, acc)
//   with minima:       acc = fma(float(dot), d * a, acc); acc = fma(m, a * sum, acc)
//   two half scales:   the symmetric rule for the first sixteen columns, then for the last sixteen
//
// Here a is the scale of the activations, and d and m are the scale and the minimum of the weights.
#include <cstddef>
#include <cstdint>

#include "inference/api/number_format.h"
#include "inference/kernels/vector_set.h"

namespace quire::inference {

inline constexpr std::uint32_t kQuantisedBlock = 32;

// Blocks whose largest magnitude lies below this are zeros: 127 / magnitude must stay finite.
inline constexpr float kQuantisedMagnitudeMin = 1e-30f;

// One block: scale = largest magnitude / 127, value = x * (127 / largest magnitude) rounded to
// nearest, ties to even. A block that holds an infinity or not-a-number has the scale NaN and zero
// values, so that whatever is made of it is NaN.
void quantise_activations(std::uint32_t column_count, const float* x, ActivationBlock* out);

// 32 columns of one row as the 8-bit operations see them, whatever the format of the file.
struct WeightBlock {
  std::uint32_t codes[8];  // Four unsigned codes each, first column lowest.
  // `second` is the minimum, or the scale of the other sixteen columns. Each is a half times a
  // factor, which is 1 but in the K formats.
  std::uint16_t scale_half;
  std::uint16_t second_half;
  std::int8_t scale_factor;
  std::int8_t second_factor;

  float scale() const;
  float second() const;
};

// This says what `second` means and how codes are centered.
struct QuantisedShape {
  PackedKind kind;
  std::int32_t zero;  // value = scale * (code - zero), or scale * code + minimum.
  bool has_minimum;
  bool has_half_scales;
};
QuantisedShape quantised_shape(NumberFormat format);

// Block `block` of 32 columns of a row in the file's layout.
WeightBlock weight_block(NumberFormat format, const std::byte* row, std::uint32_t block);

// The product of one row of weights in the file's layout with one row of activations.
float quantised_dot(NumberFormat format, std::uint32_t column_count, const std::byte* row,
                    const ActivationBlock* x);

}  // namespace quire::inference
