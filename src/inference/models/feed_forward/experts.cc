#include "inference/models/feed_forward/experts.h"

#include <algorithm>
#include <cstring>

#include "base/divide_up.h"

namespace quire::inference {
namespace {

using enum TensorRole;

constexpr std::uint32_t kTileRowsMax = 512;
constexpr std::uint32_t kExpertTilesPerWorker = 16;  // Tiles grow while there are so many.

// The columns of a row that one worker adds at a time.
constexpr std::uint32_t kAddedColumns = 512;

// The rows of a block, one after the other and ready to be multiplied.
struct Gather {
  const ExpertBlock* block = nullptr;
  NumberFormat format{};
  PreparedActivations rows;
};

}  // namespace

ExpertsFeedForward::ExpertsFeedForward(std::uint32_t layer, const ExpertsSpec& spec,
                                       const RoleWeights& weights, const KernelTable& kernels)
    : layer_(layer), spec_(&spec), weights_(&weights) {
  for (std::uint32_t i = 0; i < spec.expert_count; ++i) {
    experts_.push_back({&weights.experts[ExpertGate][i], &weights.experts[ExpertUp][i],
                        &weights.experts[ExpertDown][i]});
  }
  std::vector<const PackedMatrix*> inputs = {&weights.matrices[Router]};
  if (spec.has_shared()) {
    experts_.push_back({&weights.matrices[SharedExpertGate], &weights.matrices[SharedExpertUp],
                        &weights.matrices[SharedExpertDown]});
    inputs.push_back(&weights.matrices[SharedExpertRouter]);
  }
  for (const Expert& each : experts_) {
    inputs.push_back(each.gate);
    inputs.push_back(each.up);
    for (const PackedMatrix* matrix : {each.gate, each.up, each.down}) {
      operand_bytes_ = std::max(operand_bytes_, activation_stride(kernels.matmul, *matrix));
    }
    expert_width_ = std::max<std::size_t>(expert_width_, each.gate->row_count);
  }
  input_ = Operand(kernels.matmul, inputs);
}

void ExpertsFeedForward::forward(const Forward& forward) const {
  const Activations normed = normed_rows(forward, input_, {layer_, {}, 0, forward.row_count()},
                                         weights_->vectors[FeedForwardNorm]);
  route(forward, normed);
  gate_up(forward, normed);
  down(forward);
  add_outputs(forward);
}

// ---- the router ----

void ExpertsFeedForward::route(const Forward& forward, const Activations& normed) const {
  const RowBuffer& logits = scratch_->logits;
  MatrixOut parts[] = {{&weights_->matrices[Router], nullptr, logits},
                       {&weights_->matrices[SharedExpertRouter],
                        nullptr,
                        {logits.at + shared_logit_at(), logits.stride}}};
  const std::span<const MatrixOut> used(parts, spec_->has_shared() ? 2 : 1);
  const std::uint32_t row_count = forward.row_count();
  const MatmulTiles tiles(used, row_count, input_.stride, forward.worker.count());
  const auto work = [&](std::uint32_t index) {
    const MatmulTile tile = tiles.tile(index, used);
    multiply_tile(forward, normed, used[tile.part], tile.part, tile);
  };
  if (row_count <= kAloneRows) {
    forward.worker.phase_then(tiles.tile_count, work, [&] {
      scratch_->rows.begin(row_count, choice_count());
      for (std::uint32_t row = 0; row < row_count; ++row) choose(forward, row);
      group();
    });
    return;
  }
  forward.worker.phase_then(tiles.tile_count, work,
                            [&] { scratch_->rows.begin(row_count, choice_count()); });
  forward.worker.phase_then(
      row_count, [&](std::uint32_t row) { choose(forward, row); }, [&] { group(); });
}

void ExpertsFeedForward::choose(const Forward& forward, std::uint32_t row) const {
  const ElementwiseKernels& kernels = forward.kernels.elementwise;
  float* logits = scratch_->logits[row];
  const std::span<ExpertChoice> choices = scratch_->rows.choices(row);
  const float sum = kernels.softmax_numerators(logits, spec_->expert_count, 1.0f);
  choose_experts({logits, spec_->expert_count}, sum, spec_->is_renormalised, spec_->weight_scale,
                 choices.first(spec_->used_count));
  if (!spec_->has_shared()) return;
  // The sigmoid of a logit is the first of the softmax of itself and 0.
  float pair[] = {logits[shared_logit_at()], 0.0f};
  const float pair_sum = kernels.softmax_numerators(pair, 2, 1.0f);
  choices.back() = {.expert = spec_->expert_count, .weight = pair[0] / pair_sum};
}

void ExpertsFeedForward::group() const {
  scratch_->rows.group(static_cast<std::uint32_t>(experts_.size()));
}

// ---- the experts ----

// The outputs of one matrix of each block's expert, in tiles of output rows.
template <typename Work>
void ExpertsFeedForward::for_each_tile(const Forward& forward, const PackedMatrix* Expert::* matrix,
                                       const Work& work) const {
  const std::span<const ExpertBlock> blocks = scratch_->rows.blocks();
  const auto rows_of = [&](const ExpertBlock& block) {
    return (experts_[block.expert].*matrix)->row_count;
  };
  std::uint32_t rows_per_tile = kTileRowsMax;
  const auto count = [&] {
    std::uint32_t tiles = 0;
    for (const ExpertBlock& each : blocks) tiles += divide_up(rows_of(each), rows_per_tile);
    return tiles;
  };
  std::uint32_t tile_count = count();
  while (rows_per_tile > kRowGroup && tile_count < forward.worker.count() * kExpertTilesPerWorker) {
    rows_per_tile /= 2;
    tile_count = count();
  }
  // A worker claims rising tiles, so its block only moves on.
  std::size_t at = 0;
  std::uint32_t first = 0;
  forward.worker.phase(tile_count, [&](std::uint32_t index) {
    while (index - first >= divide_up(rows_of(blocks[at]), rows_per_tile)) {
      first += divide_up(rows_of(blocks[at++]), rows_per_tile);
    }
    const std::uint32_t begin = (index - first) * rows_per_tile;
    work(Tile{&blocks[at], begin, std::min(begin + rows_per_tile, rows_of(blocks[at]))});
  });
}

void ExpertsFeedForward::gate_up(const Forward& forward, const Activations& normed) const {
  const MatmulKernels& kernels = forward.kernels.matmul;
  std::byte* own = scratch_->own_operands(forward.worker.index());
  Gather gathered;
  const auto gather = [&](const ExpertBlock& block, const PackedMatrix& matrix) {
    if (gathered.block == &block && gathered.format == matrix.format) return gathered.rows;
    const std::size_t bytes = activation_stride(kernels, matrix);
    const std::byte* from = normed.bytes + input_.offset_of(matrix.format);
    for (std::uint32_t i = 0; i < block.count; ++i) {
      const std::uint32_t row = scratch_->rows.row_at(block.place_first + i);
      std::memcpy(own + i * bytes, from + row * input_.stride, bytes);
    }
    gathered = {&block, matrix.format, {own, bytes, block.count}};
    return gathered.rows;
  };
  for_each_tile(forward, &Expert::gate, [&](const Tile& tile) {
    const Expert& expert = experts_[tile.block->expert];
    const std::uint32_t first = tile.block->place_first;
    const RowBuffer& gate = scratch_->gate;
    const RowBuffer& up = scratch_->up;
    kernels.multiply(*expert.gate, gather(*tile.block, *expert.gate), tile.row_begin, tile.row_end,
                     gate[first], gate.stride);
    kernels.multiply(*expert.up, gather(*tile.block, *expert.up), tile.row_begin, tile.row_end,
                     up[first], up.stride);
    for (std::uint32_t place = first; place < first + tile.block->count; ++place) {
      float* gated = gate[place] + tile.row_begin;
      forward.kernels.elementwise.silu_multiply(gated, up[place] + tile.row_begin,
                                                tile.row_end - tile.row_begin, gated);
    }
  });
}

void ExpertsFeedForward::down(const Forward& forward) const {
  const MatmulKernels& kernels = forward.kernels.matmul;
  std::byte* own = scratch_->own_operands(forward.worker.index());
  Gather prepared;
  for_each_tile(forward, &Expert::down, [&](const Tile& tile) {
    const PackedMatrix& matrix = *experts_[tile.block->expert].down;
    const std::uint32_t first = tile.block->place_first;
    if (prepared.block != tile.block) {
      const std::size_t bytes = activation_stride(kernels, matrix);
      for (std::uint32_t i = 0; i < tile.block->count; ++i) {
        kernels.prepare(matrix.format, matrix.column_count, scratch_->gate[first + i],
                        own + i * bytes);
      }
      prepared = {tile.block, matrix.format, {own, bytes, tile.block->count}};
    }
    kernels.multiply(matrix, prepared.rows, tile.row_begin, tile.row_end, scratch_->outputs[first],
                     scratch_->outputs.stride);
  });
}

void ExpertsFeedForward::add_outputs(const Forward& forward) const {
  const std::uint32_t width = forward.spec.embedding_width;
  const std::vector<float>& norm = weights_->vectors[FeedForwardPostNorm];
  const std::uint32_t columns = norm.empty() ? std::min(width, kAddedColumns) : width;
  const std::uint32_t parts = divide_up(width, columns);
  float* sum = scratch_->own_row(forward.worker.index());
  forward.worker.phase(forward.row_count() * parts, [&](std::uint32_t index) {
    const std::uint32_t row = index / parts;
    const std::uint32_t begin = index % parts * columns;
    const std::uint32_t count = std::min(columns, width - begin);
    std::memset(sum, 0, count * sizeof(float));
    for (const ExpertChoice& each : scratch_->rows.choices(row)) {
      const float* output = scratch_->outputs[each.place] + begin;
      for (std::uint32_t i = 0; i < count; ++i) sum[i] += each.weight * output[i];
    }
    if (!norm.empty()) {
      forward.kernels.elementwise.rms_norm(sum, norm.data(), forward.spec.rms_epsilon, width, sum);
    }
    forward.kernels.elementwise.add(sum, count, forward.scratch.x[row] + begin);
  });
}

}  // namespace quire::inference
