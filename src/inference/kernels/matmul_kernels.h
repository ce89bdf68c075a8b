#pragma once
// Products of activations with weight matrices, and with the low-rank matrices of adapters.
//
// Thread   any; functions keep no state. Memory is the caller's; 64-byte aligned where said.
#include <cstddef>
#include <cstdint>

#include "inference/api/number_format.h"
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

inline constexpr std::uint32_t kRowGroup = 16;
inline constexpr std::size_t kPackedSlackBytes = 512;

struct MatmulKernels {
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
  void (*multiply)(const PackedMatrix& matrix, const PreparedActivations& x,
                   std::uint32_t row_begin, std::uint32_t row_end, float* out,
                   std::size_t out_stride);

  // Products with an adapter's matrices, in F32. Numbers are F32, F16 or BF16, and lie as in
  // AdapterMatrix. The same bits in every table, "scalar" among them.
  void (*adapter_shrink)(NumberFormat format, const ShrinkTask& task);
  void (*adapter_expand)(NumberFormat format, const ExpandTask& task);
};

}  // namespace quire::inference
