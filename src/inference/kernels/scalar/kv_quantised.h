#pragma once
// Keys, values and queries in 8 bits (KvFormat::Q8), in plain C++: what every table does.
//
// A vector x becomes codes round(x / scale) with scale = max |x| / 127, rounded to nearest, ties to
// even. Keys and queries are turned first by a Hadamard matrix (of +1 and -1) over the largest
// power of two that divides head_dim, because a few dimensions of keys are many times larger than
// the others, and one scale would leave those without bits. The product of turned vectors is that
// of the vectors times the size of the matrix.
//
// A vector without a number above 1e-30 gets zeros; one with an infinity or not-a-number gets a
// scale that is not a number, so that whoever sees it is not finite either.
#include <cstdint>

namespace quire::inference::scalar {

// The largest power of two that divides head_dim: the size of the matrix.
std::uint32_t hadamard_size(std::uint32_t head_dim);

// In place. Sums of pairs that lie 1, 2, 4, ... apart.
void turn(std::uint32_t head_dim, float* x);

// Returns the scale.
float quantise_row(std::uint32_t count, const float* x, std::int8_t* codes);

}  // namespace quire::inference::scalar
