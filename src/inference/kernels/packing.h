#pragma once
// The layout of weights that the vector sets share, and its packing. Plain C++: nothing here is
// hot but pack_rows, which keeps up with a fast disk.
//
// Sixteen rows form a group; a group holds its units one after the other, each of 32 columns, in
// the K formats of 256. A unit takes the bytes of its rows in the file. A line is 64 bytes: four
// codes of each row, or what completes them.
//   4 bits    4 lines; line i holds columns 8i .. 8i+3 in its low nibbles, 8i+4 .. 8i+7 in its high
//             ones.
//   5 bits    Nibbles, then one line: bit i of a byte is the fifth bit of columns 4i .. 4i+3.
//   6 bits    Nibbles, then two lines: bits 2j and 2j+1 of line i are the high bits of columns
//             16i+4j .. 16i+4j+3.
//   8 bits    8 lines, line i columns 4i .. 4i+3.
//   Q*_0, Q*_1  The codes of 32 columns, 16 half scales, and of Q*_1 16 half minima.
//   Q4_K, Q5_K  16 halves d, 16 halves -dmin. For each of eight blocks 16 bytes, whose low 6 bits
//             are the scale and whose high 2 bits those of the minimum. For each pair of blocks 16
//             bytes of the minima's low nibbles. The codes of each block.
//   Q6_K      16 halves d; 16 times 16 signed scales, one for each 16 columns; the codes.
//   floats    F32, F16 and BF16: column by column, sixteen numbers a column, as in the file.
// Rows that pad the last group have zero scales.
#include <cstddef>
#include <cstdint>

#include "inference/api/number_format.h"
#include "inference/kernels/matmul_kernels.h"
#include "inference/kernels/vector_set.h"

namespace quire::inference {

PackedKind packed_kind(NumberFormat format);

// Bytes of one group of sixteen rows.
std::size_t packed_group_bytes(NumberFormat format, std::uint32_t column_count);

// The functions of MatmulKernels of these names.
std::size_t vector_packed_bytes(NumberFormat format, std::uint32_t row_count,
                                std::uint32_t column_count);
void vector_pack_rows(NumberFormat format, std::uint32_t column_count, std::uint32_t row_first,
                      std::uint32_t count, const std::byte* source, std::byte* packed);
void vector_unpack_row(const PackedMatrix& matrix, std::uint32_t row, float* out);
std::size_t vector_activation_bytes(NumberFormat format, std::uint32_t column_count);

}  // namespace quire::inference
