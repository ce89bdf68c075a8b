#pragma once
// ForwardScratch: the memory that one forward pass at a time works in.
//
// Owns     one mapping.
// Thread   any; who writes what is up to the phases (matmul_phase.h).
// Errors   Unavailable when memory cannot be reserved.
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "inference/memory/mapped_memory.h"

namespace quire::inference {

// Up to so many rows, each worker prepares all of them for itself, which costs less than a barrier.
inline constexpr std::uint32_t kAloneRows = 8;

// Rounded up to whole cache lines.
inline std::size_t aligned_bytes(std::size_t count) {
  return (count + 63) / 64 * 64;
}

inline std::size_t aligned_floats(std::size_t count) {
  return (count + 15) / 16 * 16;
}

// The largest of all layers; widths in floats.
struct ForwardSizes {
  std::uint32_t row_count_max = 512;
  std::uint32_t worker_count = 1;
  std::uint32_t feed_row_count_max = 0;  // Rows of one feed-forward step.
  std::size_t embedding_width = 0;
  std::size_t query_width = 0;
  std::size_t qkv_width = 0;  // q, k and v of all heads.
  std::size_t feed_forward_width = 0;
  std::size_t head_gate_width = 0;  // What multiplies the heads of a mixer, if anything does.
  std::size_t convolved_width = 0;  // Of a delta rule, as the next.
  std::size_t decay_width = 0;
  std::size_t angle_count = 0;     // Pairs of a head that RoPE turns.
  std::size_t partial_width = 0;   // Of one partial: [head_count][head_dim + kPartialTail].
  std::size_t prepared_bytes = 0;  // Activations of all rows, for the matrices that want the most.
  std::size_t operand_bytes = 0;   // Those of one row.
};

// So many rows that gate and up of one step stay small.
std::uint32_t feed_row_count_max(std::uint32_t row_count_max, std::size_t feed_forward_width);

// Rows of floats.
struct RowBuffer {
  float* at = nullptr;
  std::size_t stride = 0;
  float* operator[](std::uint32_t row) const { return at + row * stride; }
};

class ForwardScratch {
 public:
  static Result<ForwardScratch> create(const ForwardSizes& sizes);

  // [row_count_max] rows, but gate and up. A width is 0 if no layer has such numbers.
  RowBuffer x;                    // The residual stream: [embedding_width]
  RowBuffer qkv;                  // [qkv_width]
  RowBuffer attended;             // [query_width]
  RowBuffer projected;            // [embedding_width]
  RowBuffer head_gates;           // [head_gate_width]
  RowBuffer decays;               // The decays of value heads, then their betas: [decay_width]
  float* convolved = nullptr;     // [head][row][numbers of the head]: [convolved_width] in a row
  RowBuffer gate, up;             // [feed_row_count_max] rows of [feed_forward_width]
  RowBuffer cosine, sine;         // [angle_count]
  float* partials = nullptr;      // [kPartialCountMax][partial_width]
  std::byte* prepared = nullptr;  // [prepared_bytes]

  std::uint32_t feed_row_count_max() const { return feed_row_count_max_; }
  // One worker has activations of kAloneRows rows; one row of floats; kAloneRows rows of floats.
  std::byte* own_prepared(std::uint32_t worker) const { return own_ + worker * own_stride_; }
  float* own_row(std::uint32_t worker) const {
    return reinterpret_cast<float*>(own_prepared(worker) + own_rows_at_);
  }
  float* own_rows(std::uint32_t worker) const { return own_row(worker) + x.stride; }

 private:
  MappedMemory memory_;
  std::byte* own_ = nullptr;
  std::size_t own_stride_ = 0;  // In bytes, as the next.
  std::size_t own_rows_at_ = 0;
  std::uint32_t feed_row_count_max_ = 0;
};

}  // namespace quire::inference
