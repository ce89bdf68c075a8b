#include "inference/models/low_rank.h"

#include <algorithm>

#include "base/divide_up.h"
#include "inference/kernels/scalar/decode.h"

namespace quire::inference {
namespace {

// Tiles of shrink(). Few rows share out the rank, since each row of A is read once; many rows are
// shared out themselves, so that the rank stays together and x is read once.
constexpr std::uint32_t kFewRows = 8;
constexpr std::uint32_t kRankTileOfFew = 4;
constexpr std::uint32_t kRowTile = 48;

struct RowRange {
  std::size_t begin;
  std::size_t end;
  std::uint32_t count() const { return static_cast<std::uint32_t>(end - begin); }
};

// The range of the adapter's rows that lie in [first, first + count).
RowRange rows_in(const AdapterRows& of, std::uint32_t first, std::uint32_t count) {
  const auto begin = std::ranges::lower_bound(of.rows, first);
  const auto end = std::lower_bound(begin, of.rows.end(), first + count);
  return {static_cast<std::size_t>(begin - of.rows.begin()),
          static_cast<std::size_t>(end - of.rows.begin())};
}

struct ShrinkTiles {
  std::uint32_t rank_tile;
  std::uint32_t rank_tiles;
  std::uint32_t row_tiles;

  ShrinkTiles(std::uint32_t rank, std::uint32_t row_count) {
    rank_tile = row_count <= kFewRows ? kRankTileOfFew : rank;
    rank_tiles = divide_up(rank, rank_tile);
    row_tiles = divide_up(row_count, kRowTile);
  }
  std::uint32_t count() const { return rank_tiles * row_tiles; }
};

// Calls visit(adapter, projection index, matrix, rows) for each product of the input, in order,
// until it returns true.
template <typename Visit>
void for_each_product(const ForwardPlan& plan, const LowRankInput& input, const Visit& visit) {
  for (const AdapterRows& of : plan.adapters) {
    const RowRange rows = rows_in(of, input.row_first, input.row_count);
    if (rows.count() == 0) continue;
    for (std::uint32_t i = 0; i < input.projections.size(); ++i) {
      const AdapterMatrix* matrix = of.adapter->find(input.layer, input.projections[i]);
      if (matrix != nullptr && visit(of, i, *matrix, rows)) return;
    }
  }
}

float* temporary_of(const AdapterRows& of, std::uint32_t projection, std::size_t row) {
  return of.temporary + (projection * of.rows.size() + row) * of.adapter->rank_max();
}

}  // namespace

void shrink(Worker& worker, const MatmulKernels& kernels, const ForwardPlan& plan,
            const LowRankInput& input, const float* x, std::size_t x_stride) {
  std::uint32_t tile_count = 0;
  for_each_product(
      plan, input,
      [&](const AdapterRows&, std::uint32_t, const AdapterMatrix& matrix, RowRange rows) {
        tile_count += ShrinkTiles(matrix.rank, rows.count()).count();
        return false;
      });
  if (tile_count == 0) return;
  worker.phase(tile_count, [&](std::uint32_t index) {
    for_each_product(plan, input,
                     [&](const AdapterRows& of, std::uint32_t projection,
                         const AdapterMatrix& matrix, RowRange rows) {
                       const ShrinkTiles tiles(matrix.rank, rows.count());
                       if (index >= tiles.count()) {
                         index -= tiles.count();
                         return false;
                       }
                       const std::uint32_t rank = index % tiles.rank_tiles * tiles.rank_tile;
                       const std::size_t first = rows.begin + index / tiles.rank_tiles * kRowTile;
                       kernels.adapter_shrink(
                           matrix.a_format,
                           {.a = matrix.a,
                            .a_stride = matrix.a_stride,
                            .column_count = matrix.input_count,
                            .rank_begin = rank,
                            .rank_end = std::min(matrix.rank, rank + tiles.rank_tile),
                            .scale = matrix.scale,
                            .x = x,
                            .x_stride = x_stride,
                            .rows = of.rows.data() + first,
                            .scales = of.scales.data() + first,
                            .row_count = static_cast<std::uint32_t>(
                                std::min<std::size_t>(kRowTile, rows.end - first)),
                            .row_first = input.row_first,
                            .out = temporary_of(of, projection, first),
                            .out_stride = of.adapter->rank_max()});
                       return true;
                     });
  });
}

void expand(const MatmulKernels& kernels, const ForwardPlan& plan, const LowRankInput& input,
            const LowRankTile& tile) {
  for (const AdapterRows& of : plan.adapters) {
    const AdapterMatrix* matrix = of.adapter->find(input.layer, input.projections[tile.projection]);
    if (matrix == nullptr) continue;
    const RowRange rows = rows_in(of, tile.row_first, tile.row_count);
    if (rows.count() == 0) continue;
    kernels.adapter_expand(matrix->b_format, {.b = matrix->b,
                                              .rank = matrix->rank,
                                              .output_begin = tile.output_begin,
                                              .output_end = tile.output_end,
                                              .t = temporary_of(of, tile.projection, rows.begin),
                                              .t_stride = of.adapter->rank_max(),
                                              .rows = of.rows.data() + rows.begin,
                                              .row_count = rows.count(),
                                              .row_first = tile.row_first,
                                              .y = tile.y,
                                              .y_stride = tile.y_stride});
  }
}

void embed_low_rank(const MatmulKernels& kernels, const ForwardPlan& plan, std::uint32_t row,
                    float* x) {
  const auto token = static_cast<std::size_t>(plan.rows[row].token);
  for (const AdapterRows& of : plan.adapters) {
    const AdapterMatrix* matrix = of.adapter->find(0, Projection::Embedding);
    if (matrix == nullptr) continue;
    const RowRange rows = rows_in(of, row, 1);
    if (rows.count() == 0) continue;
    float* t = temporary_of(of, 0, rows.begin);
    const std::size_t row_bytes =
        std::size_t{matrix->rank} * format_shape(matrix->a_format).block_bytes;
    decode_row(matrix->a_format, matrix->a + token * row_bytes, matrix->rank, t);
    const float scale = of.scales[rows.begin] * matrix->scale;
    for (std::uint32_t r = 0; r < matrix->rank; ++r) t[r] *= scale;
    kernels.adapter_expand(matrix->b_format, {.b = matrix->b,
                                              .rank = matrix->rank,
                                              .output_begin = 0,
                                              .output_end = matrix->output_count,
                                              .t = t,
                                              .t_stride = matrix->rank,
                                              .rows = &of.rows[rows.begin],
                                              .row_count = 1,
                                              .row_first = row,
                                              .y = x,
                                              .y_stride = 0});
  }
}

}  // namespace quire::inference
