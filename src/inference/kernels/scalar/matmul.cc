// Matrix times activations in F32: weights decoded exactly, one accumulator for each output,
// columns added in order.
//
// Layout. Sixteen rows side by side: [group][block][row of 16][block bytes], the file's own blocks,
// so that packed weights take the file's bytes. Rows beyond the end are zero bytes.
// Loops.  Row group > tokens by kTokensMax > tiles of kTileColumns > token > column. A tile is
//         decoded to [column][16] floats (16 KiB, in L1) once for all its tokens; sixteen rows are
//         four vectors, and two tokens share each load of weights.
// Cost.   A token alone pays for decoding (about 1.5 ns a weight); from 64 tokens on it is noise.
#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "inference/kernels/scalar/decode.h"
#include "inference/kernels/scalar/scalar.h"

namespace quire::inference::scalar {
namespace {

constexpr std::uint32_t kTileColumns = 256;
constexpr std::uint32_t kTokensMax = 128;
constexpr std::uint32_t kQuads = kRowGroup / 4;
using Quad = float __attribute__((vector_size(16)));

struct GroupLayout {
  FormatShape shape;
  std::size_t block_bytes;  // Of sixteen rows.
  std::size_t group_bytes;
};

GroupLayout layout_of(NumberFormat format, std::uint32_t column_count) {
  const FormatShape shape = format_shape(format);
  const std::size_t block_bytes = std::size_t{shape.block_bytes} * kRowGroup;
  return {shape, block_bytes, block_bytes * (column_count / shape.block_values)};
}

Quad load(const float* from) {
  Quad quad;
  std::memcpy(&quad, from, sizeof(quad));
  return quad;
}

// Four rows of four, `stride` floats apart, to four columns, kRowGroup floats apart.
void transpose(const float* from, std::size_t stride, float* to) {
  const Quad a = load(from);
  const Quad b = load(from + stride);
  const Quad c = load(from + 2 * stride);
  const Quad d = load(from + 3 * stride);
  const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Quad columns[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                           __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                           __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                           __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (std::size_t i = 0; i < 4; ++i) std::memcpy(to + i * kRowGroup, &columns[i], sizeof(Quad));
}

// Columns [first, first + count) of one group as [column][16] floats; count in whole blocks.
void decode_tile(const GroupLayout& layout, NumberFormat format, const std::byte* group,
                 std::uint32_t first, std::uint32_t count, float* tile) {
  const std::uint32_t values = layout.shape.block_values;
  const std::byte* block = group + first / values * layout.block_bytes;
  if (values == 1) {  // Already [column][16]: one long row.
    decode_row(format, block, count * kRowGroup, tile);
    return;
  }
  for (std::uint32_t column = 0; column < count; column += values, block += layout.block_bytes) {
    alignas(16) float rows[kRowGroup][kTileColumns];
    for (std::uint32_t row = 0; row < kRowGroup; ++row) {
      decode_row(format, block + row * layout.shape.block_bytes, values, rows[row]);
    }
    for (std::uint32_t k = 0; k < values; k += 4) {
      for (std::uint32_t row = 0; row < kRowGroup; row += 4) {
        transpose(rows[row] + k, kTileColumns, tile + (column + k) * kRowGroup + row);
      }
    }
  }
}

// sum[token][16] += tile[column][16] * x[token][column], columns in order, kTokens at a time.
template <std::uint32_t kTokens>
void accumulate(const float* tile, std::uint32_t count, const float* const* x, float* sum) {
  Quad acc[kTokens][kQuads];
  for (std::uint32_t t = 0; t < kTokens; ++t) {
    for (std::uint32_t q = 0; q < kQuads; ++q) acc[t][q] = load(sum + t * kRowGroup + q * 4);
  }
  for (std::uint32_t column = 0; column < count; ++column) {
    Quad weights[kQuads];
    for (std::uint32_t q = 0; q < kQuads; ++q) weights[q] = load(tile + column * kRowGroup + q * 4);
    for (std::uint32_t t = 0; t < kTokens; ++t) {
      const float value = x[t][column];
      const Quad spread = {value, value, value, value};
      for (std::uint32_t q = 0; q < kQuads; ++q) acc[t][q] += weights[q] * spread;
    }
  }
  for (std::uint32_t t = 0; t < kTokens; ++t) {
    for (std::uint32_t q = 0; q < kQuads; ++q) {
      std::memcpy(sum + t * kRowGroup + q * 4, &acc[t][q], sizeof(Quad));
    }
  }
}

void accumulate_all(const float* tile, std::uint32_t count, const float* const* x,
                    std::uint32_t token_count, float* sum) {
  std::uint32_t t = 0;
  for (; t + 2 <= token_count; t += 2) accumulate<2>(tile, count, x + t, sum + t * kRowGroup);
  if (t < token_count) accumulate<1>(tile, count, x + t, sum + t * kRowGroup);
}

// One group of rows for tokens [token_first, token_first + token_count): sum[token][16].
void group_sums(const PackedMatrix& matrix, const GroupLayout& layout, const std::byte* group,
                const PreparedActivations& x, std::uint32_t token_first, std::uint32_t token_count,
                float* sum) {
  alignas(64) float tile[kTileColumns * kRowGroup];
  const float* columns[kTokensMax];
  std::fill(sum, sum + std::size_t{token_count} * kRowGroup, 0.0f);
  for (std::uint32_t first = 0; first < matrix.column_count; first += kTileColumns) {
    const std::uint32_t count = std::min(kTileColumns, matrix.column_count - first);
    for (std::uint32_t t = 0; t < token_count; ++t) {
      const std::byte* token = x.bytes + (token_first + t) * x.stride_bytes;
      columns[t] = reinterpret_cast<const float*>(token) + first;
    }
    const float* weights = tile;
    if (matrix.format == NumberFormat::F32) {
      weights = reinterpret_cast<const float*>(group) + std::size_t{first} * kRowGroup;
    } else {
      decode_tile(layout, matrix.format, group, first, count, tile);
    }
    accumulate_all(weights, count, columns, token_count, sum);
  }
}

}  // namespace

std::size_t packed_bytes(NumberFormat format, std::uint32_t row_count, std::uint32_t column_count) {
  const std::size_t group_count = (std::size_t{row_count} + kRowGroup - 1) / kRowGroup;
  return group_count * layout_of(format, column_count).group_bytes;
}

void pack_rows(NumberFormat format, std::uint32_t column_count, std::uint32_t row_first,
               std::uint32_t count, const std::byte* source, std::byte* packed) {
  const GroupLayout layout = layout_of(format, column_count);
  const std::size_t bytes = layout.shape.block_bytes;
  const std::size_t block_count = column_count / layout.shape.block_values;
  const std::size_t row_bytes = block_count * bytes;
  for (std::uint32_t begin = 0; begin < count; begin += kRowGroup) {
    std::byte* group = packed + (row_first + begin) / kRowGroup * layout.group_bytes;
    const std::uint32_t rows = std::min(kRowGroup, count - begin);
    if (rows < kRowGroup) std::memset(group, 0, layout.group_bytes);
    for (std::size_t block = 0; block < block_count; ++block) {
      for (std::uint32_t row = 0; row < rows; ++row) {
        std::memcpy(group + block * layout.block_bytes + row * bytes,
                    source + (begin + row) * row_bytes + block * bytes, bytes);
      }
    }
  }
}

void unpack_row(const PackedMatrix& matrix, std::uint32_t row, float* out) {
  const GroupLayout layout = layout_of(matrix.format, matrix.column_count);
  const std::uint32_t values = layout.shape.block_values;
  const std::byte* from = matrix.bytes + row / kRowGroup * layout.group_bytes +
                          row % kRowGroup * layout.shape.block_bytes;
  for (std::uint32_t column = 0; column < matrix.column_count; column += values) {
    decode_row(matrix.format, from, values, out + column);
    from += layout.block_bytes;
  }
}

std::size_t activation_bytes(NumberFormat, std::uint32_t column_count) {
  return std::size_t{column_count} * sizeof(float);
}

void prepare(NumberFormat, std::uint32_t column_count, const float* x, std::byte* out) {
  std::memcpy(out, x, std::size_t{column_count} * sizeof(float));
}

void matmul(const PackedMatrix& matrix, const PreparedActivations& x, std::uint32_t row_begin,
            std::uint32_t row_end, float* out, std::size_t out_stride) {
  const GroupLayout layout = layout_of(matrix.format, matrix.column_count);
  alignas(64) float sum[kTokensMax * kRowGroup];
  for (std::uint32_t row = row_begin; row < row_end; row += kRowGroup) {
    const std::byte* group = matrix.bytes + row / kRowGroup * layout.group_bytes;
    const std::uint32_t rows = std::min(kRowGroup, row_end - row);
    for (std::uint32_t first = 0; first < x.token_count; first += kTokensMax) {
      const std::uint32_t count = std::min(kTokensMax, x.token_count - first);
      group_sums(matrix, layout, group, x, first, count, sum);
      for (std::uint32_t t = 0; t < count; ++t) {
        std::memcpy(out + (first + t) * out_stride + row, sum + t * kRowGroup,
                    rows * sizeof(float));
      }
    }
  }
}

}  // namespace quire::inference::scalar
