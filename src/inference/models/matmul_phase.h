#pragma once
// How rows are multiplied with matrices: in phases that all workers of a pool run at once.
//
// A phase has two parts. Rows become Activations, which are prepared once in the formats of the
// matrices that share them. Then the outputs are cut into tiles by output row and by token, never
// along the sum, so that no tile's bits depend on another. What adapters add is made beside both
// (low_rank.h).
//
// Few rows (decoding): each worker prepares all rows for itself, which costs less than a barrier.
// Many rows: preparing is cut into tiles, too.
//
// Thread   all functions that take a Forward are called by every worker, in one order.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/models/forward_scratch.h"
#include "inference/models/low_rank.h"
#include "inference/models/packed_weights.h"

namespace quire::inference {

// One worker's part in a forward pass.
struct Forward {
  Worker& worker;
  const KernelTable& kernels;
  const ModelSpec& spec;
  const ForwardPlan& plan;
  const ForwardScratch& scratch;

  std::uint32_t row_count() const { return static_cast<std::uint32_t>(plan.rows.size()); }
};

// Bytes of one row's activations for a matrix, in whole cache lines.
inline std::size_t activation_stride(const MatmulKernels& kernels, const PackedMatrix& matrix) {
  return aligned_bytes(kernels.activation_bytes(matrix.format, matrix.column_count));
}

// The distinct formats of matrices that share an input, and where each one's activations lie in the
// bytes of a row.
struct Operand {
  static constexpr std::uint32_t kFormatCountMax = 6;
  std::uint32_t count = 0;
  NumberFormat formats[kFormatCountMax] = {};
  std::size_t offsets[kFormatCountMax] = {};
  std::size_t stride = 0;
  std::uint32_t column_count = 0;

  Operand() = default;
  Operand(const MatmulKernels& kernels, std::span<const PackedMatrix* const> matrices);
  Operand(const MatmulKernels& kernels, std::initializer_list<const PackedMatrix*> matrices)
      : Operand(kernels, std::span(matrices.begin(), matrices.size())) {}
  std::size_t offset_of(NumberFormat format) const;
};

// Rows that are ready to be multiplied.
struct Activations {
  const Operand* operand = nullptr;
  const std::byte* bytes = nullptr;
  LowRankInput input;  // Which rows of the plan they are, and the projections that take them.
};

// Rows [row_first, row_first + row_count) of the residual stream under an RMS norm; as they are if
// `norm` is empty.
Activations normed_rows(const Forward& forward, const Operand& operand, const LowRankInput& input,
                        const std::vector<float>& norm);
// Rows of a buffer whose row 0 is row input.row_first of the plan.
Activations rows_of(const Forward& forward, const Operand& operand, const LowRankInput& input,
                    const RowBuffer& rows);
// Vectors, for matrices that no adapter changes.
Activations vectors_of(const Forward& forward, const Operand& operand,
                       std::span<const float* const> vectors);

// A matrix, and where its outputs go: output 0 of the first row is at out[0].
struct MatrixOut {
  const PackedMatrix* matrix = nullptr;
  const std::vector<float>* bias = nullptr;  // Null or empty: none.
  RowBuffer out;
};

// ---- tiles ----

struct MatmulTile {
  std::uint32_t part, row_begin, row_end, token_first, token_count;
};

struct MatmulTiles {
  static constexpr std::uint32_t kPartCountMax = 4;
  std::uint32_t row_tile = 64;
  std::uint32_t token_tile = 1;
  std::uint32_t token_count = 1;
  std::uint32_t row_tile_ends[kPartCountMax] = {};  // Running counts over parts.
  std::uint32_t whole_tiles = 0;  // Of the last part; the others have half the rows.
  std::uint32_t part_count = 0;
  std::uint32_t tile_count = 0;

  MatmulTiles(std::span<const MatrixOut> parts, std::uint32_t token_count, std::size_t stride,
              std::uint32_t worker_count);
  MatmulTile tile(std::uint32_t index, std::span<const MatrixOut> parts) const;
};

// Outputs of one tile of one part: product, bias, and what adapters add.
void multiply_tile(const Forward& forward, const Activations& activations, const MatrixOut& part,
                   std::uint32_t projection, const MatmulTile& tile);

// ---- phases ----

// Each part has tiles of its own. Calls finished(row, begin, end) for outputs [begin, end) of the
// row-th of the rows, once they are there.
template <typename Finished>
void multiply(const Forward& forward, const Activations& activations, const MatrixOut& part,
              const Finished& finished) {
  const std::span<const MatrixOut> parts(&part, 1);
  const MatmulTiles tiles(parts, activations.input.row_count, activations.operand->stride,
                          forward.worker.count());
  forward.worker.phase(tiles.tile_count, [&](std::uint32_t index) {
    const MatmulTile tile = tiles.tile(index, parts);
    multiply_tile(forward, activations, part, 0, tile);
    for (std::uint32_t row = tile.token_first; row < tile.token_first + tile.token_count; ++row) {
      finished(row, tile.row_begin, tile.row_end);
    }
  });
}

// As multiply, of two matrices of one shape: finished() comes once both have the outputs.
template <typename Finished>
void multiply_both(const Forward& forward, const Activations& activations,
                   std::span<const MatrixOut, 2> parts, const Finished& finished) {
  const std::span<const MatrixOut> first(parts.data(), 1);
  const MatmulTiles tiles(first, activations.input.row_count, activations.operand->stride,
                          forward.worker.count());
  forward.worker.phase(tiles.tile_count, [&](std::uint32_t index) {
    const MatmulTile tile = tiles.tile(index, first);
    multiply_tile(forward, activations, parts[0], 0, tile);
    multiply_tile(forward, activations, parts[1], 1, tile);
    for (std::uint32_t row = tile.token_first; row < tile.token_first + tile.token_count; ++row) {
      finished(row, tile.row_begin, tile.row_end);
    }
  });
}

// Calls each(row) for all rows, shared out among the workers.
template <typename Each>
void for_each_row(const Forward& forward, std::uint32_t row_count, const Each& each) {
  constexpr std::uint32_t kRowsPerTile = 8;
  forward.worker.phase((row_count + kRowsPerTile - 1) / kRowsPerTile, [&](std::uint32_t tile) {
    const std::uint32_t end = std::min(row_count, (tile + 1) * kRowsPerTile);
    for (std::uint32_t row = tile * kRowsPerTile; row < end; ++row) each(row);
  });
}

// Calls then(row) for each row once all outputs of all rows are there.
template <typename Then>
void multiply_all(const Forward& forward, const Activations& activations,
                  std::span<const MatrixOut> parts, const Then& then) {
  const std::uint32_t row_count = activations.input.row_count;
  const MatmulTiles tiles(parts, row_count, activations.operand->stride, forward.worker.count());
  const auto work = [&](std::uint32_t index) {
    const MatmulTile tile = tiles.tile(index, parts);
    multiply_tile(forward, activations, parts[tile.part], tile.part, tile);
  };
  if (row_count <= kAloneRows) {
    forward.worker.phase_then(tiles.tile_count, work, [&] {
      for (std::uint32_t row = 0; row < row_count; ++row) then(row);
    });
    return;
  }
  forward.worker.phase(tiles.tile_count, work);
  for_each_row(forward, row_count, then);
}

// x += norm(matrix times rows); without a norm if that is empty.
void multiply_and_add(const Forward& forward, const Activations& activations,
                      const PackedMatrix& matrix, const std::vector<float>* bias,
                      const std::vector<float>& norm);

}  // namespace quire::inference
