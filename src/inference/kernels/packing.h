#pragma once
// The layout of weights that `avx2` and `avx512` share, and its packing. Plain C++: nothing here is
// hot but pack_rows, which keeps up with a fast disk.
//
// Sixteen rows form a group; a group holds its blocks of 32 columns one behind the other:
//   nibbles   4 lines of 64 bytes, then 16 half scales, then 16 half minima where the format has
//             minima: 288 or 320 bytes. Line i holds columns 8i..8i+3 in its low nibbles and
//             8i+4..8i+7 in its high ones, four bytes a row.
//   bytes     8 lines, line i columns 4i..4i+3, four bytes a row, then 16 half scales, then 16 half
//             minima, or the scales of the other sixteen columns: 544 or 576 bytes.
//   floats    F32, F16 and BF16: column by column, sixteen numbers a column, as in the file.
// Rows that pad the last group have zero scales. Packed over file: Q4_0, Q4_1 and Q8_0 1.0, Q4_K
// 1.11, Q5_0 1.55, Q5_1 1.5, Q5_K 1.64, Q6_K 1.37, floats 1.0.
#include <cstddef>
#include <cstdint>

#include "inference/api/number_format.h"
#include "inference/kernels/kernels.h"
#include "inference/kernels/vector_set.h"

namespace quire::inference {

PackedKind packed_kind(NumberFormat format);

// Bytes of one group of sixteen rows.
std::size_t packed_group_bytes(NumberFormat format, std::uint32_t column_count);

// The functions of KernelTable of these names.
std::size_t vector_packed_bytes(NumberFormat format, std::uint32_t row_count,
                                std::uint32_t column_count);
void vector_pack_rows(NumberFormat format, std::uint32_t column_count, std::uint32_t row_first,
                      std::uint32_t count, const std::byte* source, std::byte* packed);
void vector_unpack_row(const PackedMatrix& matrix, std::uint32_t row, float* out);
std::size_t vector_activation_bytes(NumberFormat format, std::uint32_t column_count);

}  // namespace quire::inference
