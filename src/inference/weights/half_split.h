#pragma once
// The stored place of a row of a head, in files that store rows for interleaved RoPE (GGUF's
// llama); inside of Quire rows are in half-split order.
#include <cstdint>

namespace quire::inference {

// The stored row of a head that is row `row` of it in half-split order: 2 row below half of
// head_dim, and 2 (row - half) + 1 above.
constexpr std::uint32_t interleaved_row(std::uint32_t row, std::uint32_t head_dim) {
  const std::uint32_t half = head_dim / 2;
  return row < half ? 2 * row : 2 * (row - half) + 1;
}

}  // namespace quire::inference
