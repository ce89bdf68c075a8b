#include "inference/models/matmul_phase.h"

#include <algorithm>

#include "base/check.h"
#include "base/divide_up.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kTilesPerWorker = 32;  // Tiles grow while there are so many.
constexpr std::uint32_t kTokensToCut = 4;  // Fewer want 64 rows at once: four streams of memory.
constexpr std::size_t kTokenTileBytes = std::size_t{512} << 10;  // Activations that stay in L2.
// Fewer tokens would unpack weights too often. Kernels cut wider activations into slices.
constexpr std::uint32_t kTokensPerTile = 128;

// Prepares input(row) of each row. Gives the bytes to multiply with: this worker's own, or those
// that all share.
template <typename Input>
const std::byte* prepare_rows(const Forward& forward, const Operand& operand,
                              std::uint32_t row_count, const Input& input) {
  const auto prepare = [&](std::uint32_t row, std::byte* out) {
    const float* values = input(row);
    for (std::uint32_t i = 0; i < operand.count; ++i) {
      forward.kernels.matmul.prepare(operand.formats[i], operand.column_count, values,
                                     out + operand.offsets[i]);
    }
  };
  if (row_count <= kAloneRows) {
    std::byte* own = forward.scratch.own_prepared(forward.worker.index());
    for (std::uint32_t row = 0; row < row_count; ++row) prepare(row, own + row * operand.stride);
    return own;
  }
  std::byte* shared = forward.scratch.prepared;
  for_each_row(forward, row_count,
               [&](std::uint32_t row) { prepare(row, shared + row * operand.stride); });
  return shared;
}

// The place where the norms of rows are kept as F32 for adapters. If each worker prepares all rows,
// it is this worker's own; else it is the memory of multiply_and_add(), which runs later.
RowBuffer normed_of(const Forward& forward, std::uint32_t row_count) {
  const ForwardScratch& scratch = forward.scratch;
  if (row_count > kAloneRows) return scratch.projected;
  return {scratch.own_rows(forward.worker.index()), scratch.x.stride};
}

}  // namespace

Operand::Operand(const MatmulKernels& kernels, std::span<const PackedMatrix* const> matrices) {
  for (const PackedMatrix* matrix : matrices) {
    column_count = matrix->column_count;
    NumberFormat* end = formats + count;
    if (std::find(formats, end, matrix->format) != end) continue;
    QUIRE_CHECK(count < kFormatCountMax, "matrices of one input have few formats");
    formats[count] = matrix->format;
    offsets[count++] = stride;
    stride += activation_stride(kernels, *matrix);
  }
}

std::size_t Operand::offset_of(NumberFormat format) const {
  const NumberFormat* found = std::find(formats, formats + count, format);
  QUIRE_CHECK(found != formats + count, "an operand is prepared for its matrices");
  return offsets[found - formats];
}

Activations normed_rows(const Forward& forward, const Operand& operand, const LowRankInput& input,
                        const std::vector<float>& norm) {
  if (norm.empty()) {
    const RowBuffer& x = forward.scratch.x;
    return rows_of(forward, operand, input, {x[input.row_first], x.stride});
  }
  const bool has_adapters = !forward.plan.adapters.empty();
  const RowBuffer kept = normed_of(forward, input.row_count);
  float* temporary = forward.scratch.own_row(forward.worker.index());
  const std::byte* bytes = prepare_rows(forward, operand, input.row_count, [&](std::uint32_t row) {
    float* to = has_adapters ? kept[row] : temporary;
    forward.kernels.elementwise.rms_norm(forward.scratch.x[input.row_first + row], norm.data(),
                                         forward.spec.rms_epsilon, forward.spec.embedding_width,
                                         to);
    return to;
  });
  if (has_adapters) {
    shrink(forward.worker, forward.kernels.matmul, forward.plan, input, kept.at, kept.stride);
  }
  return {&operand, bytes, input};
}

Activations rows_of(const Forward& forward, const Operand& operand, const LowRankInput& input,
                    const RowBuffer& rows) {
  const std::byte* bytes =
      prepare_rows(forward, operand, input.row_count, [&](std::uint32_t row) { return rows[row]; });
  if (!forward.plan.adapters.empty()) {
    shrink(forward.worker, forward.kernels.matmul, forward.plan, input, rows.at, rows.stride);
  }
  return {&operand, bytes, input};
}

Activations vectors_of(const Forward& forward, const Operand& operand,
                       std::span<const float* const> vectors) {
  const auto count = static_cast<std::uint32_t>(vectors.size());
  const std::byte* bytes =
      prepare_rows(forward, operand, count, [&](std::uint32_t row) { return vectors[row]; });
  return {&operand, bytes, {.projections = {}, .row_count = count}};
}

// ---- tiles ----

MatmulTiles::MatmulTiles(std::span<const MatrixOut> parts, std::uint32_t tokens_all,
                         std::size_t stride, std::uint32_t worker_count)
    : token_count(tokens_all), part_count(static_cast<std::uint32_t>(parts.size())) {
  const auto fit = static_cast<std::uint32_t>(kTokenTileBytes / stride / 16 * 16);
  token_tile = std::min(token_count, std::max(kTokensPerTile, fit));
  std::uint32_t rows = 0;
  for (const MatrixOut& part : parts) rows += part.matrix->row_count;
  const std::uint32_t tokens = divide_up(token_count, token_tile);
  while (row_tile > kRowGroup && divide_up(rows, row_tile) * tokens < worker_count * 2) {
    row_tile /= 2;
  }
  while (row_tile < 512 &&
         divide_up(rows, row_tile * 2) * tokens >= worker_count * kTilesPerWorker) {
    row_tile *= 2;
  }
  std::uint32_t end = 0;
  for (std::uint32_t i = 0; i < part_count; ++i) {
    const std::uint32_t part_rows = parts[i].matrix->row_count;
    const bool is_last = i + 1 == part_count;
    const bool is_cut =
        is_last && worker_count > 1 && token_count >= kTokensToCut && row_tile > kRowGroup;
    const std::uint32_t halved = is_cut ? worker_count * row_tile : 0;
    const std::uint32_t whole = (part_rows - std::min(halved, part_rows)) / row_tile;
    end += halved == 0 ? divide_up(part_rows, row_tile)
                       : whole + divide_up(part_rows - whole * row_tile, row_tile / 2);
    row_tile_ends[i] = end;
    whole_tiles = halved == 0 ? end : whole;
  }
  tile_count = end * tokens;
}

// Tiles of one block of tokens follow one another, so that its activations stay in the cache. The
// last rows of the last part are cut into halves, so that workers finish at about the same time.
MatmulTile MatmulTiles::tile(std::uint32_t index, std::span<const MatrixOut> parts) const {
  const std::uint32_t row_tiles = row_tile_ends[part_count - 1];
  std::uint32_t row_index = index % row_tiles;
  MatmulTile tile{};
  while (row_index >= row_tile_ends[tile.part]) ++tile.part;
  if (tile.part > 0) row_index -= row_tile_ends[tile.part - 1];
  std::uint32_t row_count = row_tile;
  tile.row_begin = row_index * row_tile;
  if (tile.part + 1 == part_count && row_index >= whole_tiles) {
    row_count = row_tile / 2;
    tile.row_begin = whole_tiles * row_tile + (row_index - whole_tiles) * row_count;
  }
  tile.row_end = std::min(tile.row_begin + row_count, parts[tile.part].matrix->row_count);
  tile.token_first = index / row_tiles * token_tile;
  tile.token_count = std::min(token_tile, token_count - tile.token_first);
  return tile;
}

void multiply_tile(const Forward& forward, const Activations& activations, const MatrixOut& part,
                   std::uint32_t projection, const MatmulTile& tile) {
  const KernelTable& kernels = forward.kernels;
  const Operand& operand = *activations.operand;
  float* out = part.out[tile.token_first];
  const PreparedActivations tokens{activations.bytes + tile.token_first * operand.stride +
                                       operand.offset_of(part.matrix->format),
                                   operand.stride, tile.token_count};
  kernels.matmul.multiply(*part.matrix, tokens, tile.row_begin, tile.row_end, out, part.out.stride);
  if (part.bias != nullptr && !part.bias->empty()) {
    for (std::uint32_t t = 0; t < tile.token_count; ++t) {
      kernels.elementwise.add(part.bias->data() + tile.row_begin, tile.row_end - tile.row_begin,
                              out + t * part.out.stride + tile.row_begin);
    }
  }
  if (forward.plan.adapters.empty() || activations.input.projections.empty()) return;
  expand(kernels.matmul, forward.plan, activations.input,
         {projection, tile.row_begin, tile.row_end, activations.input.row_first + tile.token_first,
          tile.token_count, out, part.out.stride});
}

void multiply_and_add(const Forward& forward, const Activations& activations,
                      const PackedMatrix& matrix, const std::vector<float>* bias,
                      const std::vector<float>& norm) {
  const RowBuffer& projected = forward.scratch.projected;
  const MatrixOut part{&matrix, bias, projected};
  if (!norm.empty()) {
    const std::uint32_t width = forward.spec.embedding_width;
    return multiply_all(forward, activations, std::span(&part, 1), [&](std::uint32_t row) {
      forward.kernels.elementwise.rms_norm(projected[row], norm.data(), forward.spec.rms_epsilon,
                                           width, projected[row]);
      forward.kernels.elementwise.add(projected[row], width,
                                      forward.scratch.x[activations.input.row_first + row]);
    });
  }
  multiply(forward, activations, part,
           [&](std::uint32_t row, std::uint32_t begin, std::uint32_t end) {
             forward.kernels.elementwise.add(
                 projected[row] + begin, end - begin,
                 forward.scratch.x[activations.input.row_first + row] + begin);
           });
}

}  // namespace quire::inference
