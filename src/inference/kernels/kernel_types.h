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
  std::uint32_t partial_first = 0;   // The row's partials, of AttentionTask::partials.
  std::uint32_t partial_count = 0;
};

// The use that an attention task makes of partials: the results of some spans, before the division.
enum class PartialUse : std::uint8_t {
  None,
  WriteEach,  // A partial for each span of the task, and no output.
  WriteOne,   // One for all its spans, which begin with the first span of each row.
  Read,       // The row's partials are folded, in order, before the spans of the task.
};

// The place where an attention task writes or reads partials.
struct AttentionPartials {
  PartialUse use = PartialUse::None;
  std::uint32_t offset = 0;  // From a row's first partial to the first that is written.
  float* at = nullptr;       // [partial][stride]; group g at + g * (head_dim + kPartialTail).
  std::size_t stride = 0;    // In floats.
};

// A partial of one query has the head_dim sums of values, then the largest score, then the sum of
// weights, which is 0 if the query sees no slot. So many floats follow the values.
inline constexpr std::size_t kPartialTail = 16;

// The power of a numerator in sum_of_powers: (numerator / sum / p0)^inverse_temperature. The base-2
// logarithm of p0 * 2^64 is exponent + mantissa_log.
struct PowerScale {
  float sum = 1.0f;
  std::int32_t exponent = 0;
  float mantissa_log = 0.0f;
  float inverse_temperature = 1.0f;
};

// Powers below 2^kLowestPower count as zero in sum_of_powers.
inline constexpr float kLowestPower = -40.0f;

// out[k][r] = scales[k] * scale * (row r of A . x of row rows[k]), for r in [rank_begin, rank_end).
// Rows lie anywhere: that of number rows[k] begins at x + (rows[k] - row_first) * x_stride.
struct ShrinkTask {
  const void* a;         // [rank][a_stride], zeros beyond column_count.
  std::size_t a_stride;  // Numbers: column_count, rounded up to 16.
  std::uint32_t column_count;
  std::uint32_t rank_begin;
  std::uint32_t rank_end;
  float scale;  // Of the matrix.
  const float* x;
  std::size_t x_stride;  // In floats, as the strides below.
  const std::uint32_t* rows;
  const float* scales;  // One for each of `rows`.
  std::uint32_t row_count;
  std::uint32_t row_first;
  float* out;
  std::size_t out_stride;
};

// y of row rows[k] += B t[k], for outputs [output_begin, output_end); output_begin is a multiple of
// 16, and output_end too unless it is the last output.
struct ExpandTask {
  const void* b;  // [group of 16 outputs][rank][16], zeros beyond the last output.
  std::uint32_t rank;
  std::uint32_t output_begin;
  std::uint32_t output_end;
  const float* t;
  std::size_t t_stride;
  const std::uint32_t* rows;
  std::uint32_t row_count;
  std::uint32_t row_first;
  float* y;
  std::size_t y_stride;
};

}  // namespace quire::inference
