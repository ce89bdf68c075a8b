#pragma once
// Keys, values and queries in 8 bits (KvFormat::Q8), in plain C++. Every table does the same.
//
// A vector x becomes codes round(x / scale) with scale = max |x| / 127. Ties go to even. Keys and
// queries are turned first by a Hadamard matrix (of +1 and -1) over the largest power of two that
// divides head_dim. A few dimensions of keys are many times larger than the others, which would be
// left without bits by one scale. The product of turned vectors is that of the vectors times the
// size of the matrix.
//
// A vector without a number above 1e-30 gets zeros. The scale of a vector with an infinity or
// not-a-number is not a number, and a row that sees it is not finite either.
#include <cstdint>

namespace quire::inference::scalar {

// The largest power of two that divides head_dim: the size of the matrix.
std::uint32_t hadamard_size(std::uint32_t head_dim);

// In place. Sums of pairs that lie 1, 2, 4, ... apart.
void turn(std::uint32_t head_dim, float* x);

// Returns the scale.
float quantise_row(std::uint32_t count, const float* x, std::int8_t* codes);

}  // namespace quire::inference::scalar
