#pragma once
// The offer of one instruction set: plain arguments, matrix products, and a constant table of the
// other functions.
//
// avx2/, avxvnni/ and avx512/ implement it; vector_tables.cc turns it into a KernelTable. Like
// kernel_types.h this holds plain data only, so that instruction-set files may include it.
#include <cstddef>
#include <cstdint>

#include "inference/kernels/kernel_types.h"
#include "inference/kernels/recurrent_kernels.h"

namespace quire::inference {

// Activations of 32 columns as the 8-bit operations read them; scalar/quantised.h says how they
// are made. One row's blocks lie one after the other.
struct ActivationBlock {
  std::int8_t values[32];         // -127 .. 127
  float scale;                    // x is close to scale * value.
  float scaled_sum;               // scale * (sum of values)
  std::int32_t negative_sum;      // -(sum of values)
  std::int32_t negative_sum_low;  // -(sum of the first sixteen values)
};
static_assert(sizeof(ActivationBlock) == 48);

// How a packed matrix lies in memory; packing.h has the details.
enum class PackedKind : std::uint8_t {
  Nibble,     // 4-bit codes, scale; value = d * (code - 8)
  NibbleMin,  // 4-bit codes, scale and minimum; value = d * code + m
  NibbleK,    // The same, with the scales of 256 columns as integers of 6 bits
  Five,       // 5-bit codes; value = d * (code - 16)
  FiveMin,    // 5-bit codes, scale and minimum
  FiveK,      // The same, with integer scales
  SixK,       // 6-bit codes, an integer scale per 16 columns; value = d * (code - 32)
  Byte,       // 8-bit codes; value = d * (code - 128)
  F32,
  F16,
  BF16,
};
inline constexpr int kPackedKindCount = 11;

enum class VectorElement : std::uint8_t { F32, F16, BF16, Q8 };

struct MatmulArguments {
  PackedKind kind;
  const std::byte* weights;  // Of the first row group wanted.
  std::size_t group_bytes;   // From one group of 16 rows to the next.
  std::uint32_t column_count;
  std::uint32_t row_count;        // Rows wanted; of the last group perhaps only some.
  const std::byte* activations;   // ActivationBlocks, or F32 for matrices that are not quantised.
  std::size_t activation_stride;  // Bytes from one token to the next.
  std::uint32_t token_count;
  float* out;              // [token][out_stride]
  std::size_t out_stride;  // In floats.
};

struct AttendArguments {
  const PageView* pages;
  std::size_t page_count;
  const std::uint32_t* spans;
  std::size_t span_count;
  std::uint32_t page_size;
  std::uint32_t visible_slot_end;
  std::size_t head_offset;
  VectorElement element;
  std::uint32_t head_dim;
  std::uint32_t group_count;
  float scale;
  const QueryRow* rows;
  std::size_t row_count;
  std::uint32_t mask_slot_count;
  const float* query;
  std::size_t query_stride;
  float* out;
  std::size_t out_stride;
  const std::uint32_t* row_of;
  AttentionPartials partials;
};

struct VectorSet {
  void (*attend)(const AttendArguments& arguments);
  void (*adapter_shrink)(VectorElement element, const ShrinkTask& task);
  void (*adapter_expand)(VectorElement element, const ExpandTask& task);
  void (*quantise)(std::uint32_t column_count, const float* x, ActivationBlock* out);
  void (*rms_norm)(const float* x, const float* weight, float epsilon, std::uint32_t count,
                   float* out);
  void (*add)(const float* x, std::uint32_t count, float* into);
  void (*silu_multiply)(const float* gate, const float* up, std::uint32_t count, float* out);
  void (*rope)(const float* cosine, const float* sine, std::uint32_t half, float* x);
  void (*store_kv)(VectorElement element, std::uint32_t head_dim, std::uint32_t page_size,
                   std::uint32_t slot, const float* key, const float* value, std::byte* head);
  float (*softmax_numerators)(float* x, std::uint32_t count, float inverse_temperature);
  double (*sum_of_powers)(const float* numerators, std::size_t count, const PowerScale& scale);
  RecurrentKernels recurrent;
};

// A set's own matrix products. avxvnni has the other functions of avx2.
namespace avx2 {
extern const VectorSet kVectorSet;
void matmul(const MatmulArguments& arguments);
}  // namespace avx2
namespace avxvnni {
void matmul(const MatmulArguments& arguments);
}  // namespace avxvnni
namespace avx512 {
extern const VectorSet kVectorSet;
void matmul(const MatmulArguments& arguments);
}  // namespace avx512

}  // namespace quire::inference
