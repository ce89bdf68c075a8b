#pragma once
// The arithmetic that models need, as one table of functions for each instruction set.
//
// `scalar` defines every operation in F32 (weights decoded exactly, activations F32). `avx2`,
// `avxvnni` and `avx512` use 8-bit activations where weights are quantised (integer dot products),
// and F32 elsewhere. scalar/quantised.h defines those 8-bit operations in plain C++, and the tables
// match it exactly.
//
// Batch invariance. Each output number is computed in one fixed order of operations, whatever else
// is in the call, and however rows and tokens are split over calls and threads. Matrices are split
// by output row, never along the sum. Attention folds spans of 256 logical slots left to right from
// slot 0. It does not matter which task computes a span, or whether its partial lay in memory in
// between. Lanes have 16 slots, whatever the page size. Invisible slots are selected out, never
// multiplied by zero, because recycled memory may hold NaN. No function of libm decides bits.
//
// Thread   any; functions keep no state. Memory is the caller's; 64-byte aligned where said.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "inference/api/number_format.h"
#include "inference/api/types.h"
#include "inference/kernels/kernel_types.h"

namespace quire::inference {

// A weight matrix [row_count][column_count] in the layout that one table wants.
struct PackedMatrix {
  NumberFormat format{};        // As in the file.
  std::uint32_t row_count = 0;  // Output rows.
  std::uint32_t column_count = 0;
  const std::byte* bytes =
      nullptr;  // 64-byte aligned; packed_bytes() of them, and 512 readable beyond.
};

// Activations of `token_count` tokens, prepared for matrices of a class of formats. [token][stride]
struct PreparedActivations {
  const std::byte* bytes = nullptr;  // 64-byte aligned
  std::size_t stride_bytes = 0;
  std::uint32_t token_count = 0;
};

// Attention of some query rows of one sequence over one kv head. Layout of a page: per layer and kv
// head, keys [head_dim][page_size] then values [page_size][head_dim], in kv_format.
struct AttentionTask {
  std::span<const PageView> pages;
  // Spans of kSpanSlots slots in which a page has a visible slot, rising: no other is looked at, so
  // that what was dropped costs nothing.
  std::span<const std::uint32_t> spans;
  std::uint32_t page_size = 16;  // 8, 16 or 32.
  std::uint32_t visible_slot_end = 0;
  std::size_t head_offset = 0;  // Bytes from a page's base to this layer's and head's keys.
  KvFormat kv_format = KvFormat::F16;
  std::uint32_t head_dim = 0;     // A multiple of 16, at most 256.
  std::uint32_t group_count = 1;  // Query heads that share this kv head; at most 16.
  float scale = 1.0f;             // Multiplies queries first.
  std::span<const QueryRow> rows;
  std::uint32_t mask_slot_count = 0;  // Slots that a mask has bits for; beyond is invisible.
  const float* query = nullptr;       // [row][query_stride]; group g at + g * head_dim.
  std::size_t query_stride = 0;       // In floats.
  float* out = nullptr;               // [row][out_stride], as query. No visible slot: zeros.
  std::size_t out_stride = 0;
  // Row i has its query and output at row_of[i] in place of i. So rows of sequences that share
  // pages make one task.
  const std::uint32_t* row_of = nullptr;
  AttentionPartials partials;
};

struct KernelTable {
  const char* name;         // "scalar", "avx2", "avxvnni", "avx512"
  const char* numerics_id;  // Changes whenever any bit of any result may.

  // Weights. Rows are packed in groups of kRowGroup; pack_rows takes rows [row_first, row_first +
  // count) in the file's layout, row_first a multiple of kRowGroup, count too unless it is the end.
  std::size_t (*packed_bytes)(NumberFormat format, std::uint32_t row_count,
                              std::uint32_t column_count);
  void (*pack_rows)(NumberFormat format, std::uint32_t column_count, std::uint32_t row_first,
                    std::uint32_t count, const std::byte* source, std::byte* packed);
  void (*unpack_row)(const PackedMatrix& matrix, std::uint32_t row, float* out);  // [column_count]

  // Activations: bytes for one token, and their preparation. `format` is that of the matrix.
  std::size_t (*activation_bytes)(NumberFormat format, std::uint32_t column_count);
  void (*prepare)(NumberFormat format, std::uint32_t column_count, const float* x, std::byte* out);

  // out[token * out_stride + row] for rows [row_begin, row_end), row_begin a multiple of kRowGroup.
  void (*matmul)(const PackedMatrix& matrix, const PreparedActivations& x, std::uint32_t row_begin,
                 std::uint32_t row_end, float* out, std::size_t out_stride);

  // out[i] = x[i] * weight[i] / sqrt(mean(x^2) + epsilon). In place is allowed.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, std::uint32_t count,
                   float* out);
  void (*add)(const float* x, std::uint32_t count, float* into);  // into += x
  void (*silu_multiply)(const float* gate, const float* up, std::uint32_t count, float* out);
  // Rotates pairs in place: (x[i], x[i + half]) by cos/sin[i], half = rotary_dim / 2 (NeoX order).
  void (*rope)(const float* cosine, const float* sine, std::uint32_t half, float* x);

  // Writes one slot of one head: key[d] to keys[d][slot], value to values[slot][d].
  void (*store_kv)(KvFormat format, std::uint32_t head_dim, std::uint32_t page_size,
                   std::uint32_t slot, const float* key, const float* value, std::byte* head);
  void (*attend)(const AttentionTask& task);

  // Products with an adapter's matrices, in F32. Numbers are F32, F16 or BF16, and lie as in
  // AdapterMatrix. The same bits in every table, "scalar" among them.
  void (*adapter_shrink)(NumberFormat format, const ShrinkTask& task);
  void (*adapter_expand)(NumberFormat format, const ExpandTask& task);

  // In place: x[i] = exp(x[i] * inverse_temperature - max), returns their sum in a fixed order.
  // Softmax probabilities are x[i] / sum. Not-a-number anywhere gives NaN.
  float (*softmax_numerators)(float* x, std::uint32_t count, float inverse_temperature);

  // The sum, in double, of the power of each numerator; weight_estimate.cc says how far off each
  // one may be. One numerator adds the same in any company.
  double (*sum_of_powers)(const float* numerators, std::size_t count, const PowerScale& scale);
};

inline constexpr std::uint32_t kRowGroup = 16;
inline constexpr std::size_t kPackedSlackBytes = 512;

// Every table this machine can run, slowest first. The first is always "scalar".
std::span<const KernelTable* const> supported_kernels();

// The table named, or the fastest for "auto". NotSupported lists what this machine has.
Result<const KernelTable*> choose_kernels(std::string_view name);

}  // namespace quire::inference
