#pragma once
// Plain data that kernels read. Instruction-set files include this header, so it holds no function,
// no template and no standard container: nothing that a compiler could emit as a weak symbol.
#include <cstddef>
#include <cstdint>

namespace quire::inference {

// One page as the attention of one sequence sees it.
struct PageView {
  const std::byte* base = nullptr;           // Null: a hole.
  const std::uint32_t* positions = nullptr;  // [page_size]; meaningful where visible.
  std::uint32_t visible = 0;                 // Bit per slot.
};

// One query row of an attention task.
struct QueryRow {
  std::uint32_t position = 0;
  std::uint32_t own_slot_end = 0;       // Keys of equal position are seen below this slot.
  const std::uint64_t* mask = nullptr;  // Bit per logical slot, or null: the rule about positions.
  std::uint32_t position_first = 0;  // Keys of earlier positions are not seen (a sliding window).
};

// What sum_of_powers raises a numerator to: (numerator / sum / p0)^inverse_temperature. The base-2
// logarithm of p0 * 2^64 is exponent + mantissa_log.
struct PowerScale {
  float sum = 1.0f;
  std::int32_t exponent = 0;
  float mantissa_log = 0.0f;
  float inverse_temperature = 1.0f;
};

// Powers below 2^kLowestPower count as zero in sum_of_powers.
inline constexpr float kLowestPower = -40.0f;

}  // namespace quire::inference
