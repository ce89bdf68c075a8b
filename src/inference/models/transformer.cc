#include "inference/models/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/divide_up.h"

namespace quire::inference {
namespace {

using enum TensorRole;

constexpr std::uint32_t kAloneRows = 8;    // Up to so many rows, each worker prepares all of them.
constexpr std::uint32_t kRowsPerTile = 8;  // Of steps that treat rows one by one.
constexpr std::uint32_t kTilesPerWorker = 32;  // Tiles grow while there are so many.
constexpr std::uint32_t kTokensToCut = 4;  // Fewer want 64 rows at once: four streams of memory.
constexpr std::uint32_t kGroupsMax = 16;   // Query heads of one attention task.
constexpr std::size_t kTokenTileBytes = std::size_t{512} << 10;  // Activations that stay in L2.
// Fewer tokens would unpack weights too often. Kernels cut wider activations into slices.
constexpr std::uint32_t kTokensPerTile = 128;
constexpr std::size_t kFeedBytes = std::size_t{16} << 20;  // Gate and up of one step.

// Projections that share an input, in the order of their parts.
constexpr Projection kQkv[] = {Projection::Query, Projection::Key, Projection::Value};
constexpr Projection kAttentionOutput[] = {Projection::AttentionOutput};
constexpr Projection kGateUp[] = {Projection::Gate, Projection::Up};
constexpr Projection kDown[] = {Projection::Down};

std::size_t aligned_floats(std::size_t count) {
  return (count + 15) / 16 * 16;
}
std::size_t aligned_bytes(std::size_t count) {
  return (count + 63) / 64 * 64;
}
}  // namespace

// ---- Construction ----

Transformer::Transformer(const ModelWeights& weights, const KernelTable& kernels,
                         const TransformerOptions& options)
    : weights_(&weights),
      spec_(&weights.spec),
      kernels_(&kernels),
      options_(options),
      attention_(std::get<AttentionSpec>(weights.spec.layers.front().mixer)),
      angles_(weights.spec.ropes.front(), attention_.head_dim),
      query_width_(attention_.query_width()),
      kv_width_(attention_.kv_width()),
      width_stride_(aligned_floats(weights.spec.embedding_width)),
      qkv_stride_(query_width_ + std::size_t{2} * kv_width_),
      feed_stride_(
          aligned_floats(std::get<DenseSpec>(weights.spec.layers.front().feed_forward).width)) {
  const std::size_t fit = kFeedBytes / (2 * sizeof(float) * feed_stride_) / 16 * 16;
  feed_rows_max_ = static_cast<std::uint32_t>(
      std::min<std::size_t>(options.row_count_max, std::max<std::size_t>(64, fit)));
}

Result<Transformer> Transformer::create(const ModelWeights& weights, const KernelTable& kernels,
                                        const TransformerOptions& options) {
  Transformer transformer(weights, kernels, options);
  for (const RoleWeights& layer : weights.layers) {
    transformer.operands_.push_back({
        .qkv = transformer.operand(layer, {AttentionQ, AttentionK, AttentionV}),
        .attention_output = transformer.operand(layer, {AttentionOutput}),
        .gate_up = transformer.operand(layer, {FeedForwardGate, FeedForwardUp}),
        .down = transformer.operand(layer, {FeedForwardDown}),
    });
  }
  transformer.head_operand_ = transformer.operand(weights.shared, {Output});
  TRY(transformer.reserve());
  return transformer;
}

Transformer::Operand Transformer::operand(const RoleWeights& weights,
                                          std::initializer_list<TensorRole> roles) const {
  Operand operand;
  for (const TensorRole role : roles) {
    const PackedMatrix& matrix = weights.matrices[role];
    operand.column_count = matrix.column_count;
    NumberFormat* end = operand.formats + operand.count;
    if (std::find(operand.formats, end, matrix.format) != end) continue;
    operand.formats[operand.count] = matrix.format;
    operand.offsets[operand.count++] = operand.stride;
    operand.stride += aligned_bytes(kernels_->activation_bytes(matrix.format, matrix.column_count));
  }
  return operand;
}

Transformer::Part Transformer::part(const RoleWeights& weights, TensorRole role,
                                    const Operand& operand, const std::vector<float>& bias,
                                    float* out) const {
  const PackedMatrix& matrix = weights.matrices[role];
  return {&matrix, operand.offset_of(matrix.format), &bias, out};
}

std::size_t Transformer::Operand::offset_of(NumberFormat format) const {
  const NumberFormat* found = std::find(formats, formats + count, format);
  QUIRE_CHECK(found != formats + count, "an operand is prepared for its matrices");
  return offsets[found - formats];
}

Result<void> Transformer::reserve() {
  std::size_t prepared = kLogitsRowsMax * head_operand_.stride;
  operand_stride_ = head_operand_.stride;
  for (const LayerOperands& layer : operands_) {
    for (const Operand* each : {&layer.qkv, &layer.attention_output, &layer.gate_up, &layer.down}) {
      const std::size_t rows = each == &layer.down ? feed_rows_max_ : options_.row_count_max;
      prepared = std::max(prepared, rows * each->stride);
      operand_stride_ = std::max(operand_stride_, each->stride);
    }
  }
  private_stride_ = aligned_bytes(kAloneRows * operand_stride_) +
                    aligned_bytes((1 + kAloneRows) * width_stride_ * sizeof(float)) + 64;

  const std::size_t rows = options_.row_count_max;
  const std::size_t half = angles_.half();
  std::size_t bytes = 0;
  const auto place = [&bytes](std::size_t length) {
    return std::exchange(bytes, bytes + aligned_bytes(length) + 64);
  };
  const std::size_t partial_floats =
      attention_.head_count * (std::size_t{attention_.head_dim} + kPartialTail);
  place(kPartialCountMax * partial_floats * sizeof(float));  // First: partials().
  const std::size_t x_at = place(rows * width_stride_ * sizeof(float));
  const std::size_t qkv_at = place(rows * qkv_stride_ * sizeof(float));
  const std::size_t attended_at = place(rows * query_width_ * sizeof(float));
  const std::size_t projected_at = place(rows * width_stride_ * sizeof(float));
  const std::size_t gate_at = place(feed_rows_max_ * feed_stride_ * sizeof(float));
  const std::size_t up_at = place(feed_rows_max_ * feed_stride_ * sizeof(float));
  const std::size_t cosine_at = place(rows * half * sizeof(float));
  const std::size_t sine_at = place(rows * half * sizeof(float));
  const std::size_t prepared_at = place(prepared);
  const std::size_t private_at = place(options_.worker_count * private_stride_);
  scratch_ = TRY(MappedMemory::create(bytes));
  const auto floats = [this](std::size_t at) {
    return reinterpret_cast<float*>(scratch_.data() + at);
  };
  x_ = floats(x_at);
  qkv_ = floats(qkv_at);
  attended_ = floats(attended_at);
  projected_ = floats(projected_at);
  gate_ = floats(gate_at);
  up_ = floats(up_at);
  cosine_ = floats(cosine_at);
  sine_ = floats(sine_at);
  prepared_ = scratch_.data() + prepared_at;
  private_ = scratch_.data() + private_at;
  return {};
}

// ---- Tiles ----

Transformer::Tiling Transformer::tiling(std::span<const Part> parts, std::uint32_t token_count,
                                        std::size_t stride, std::uint32_t worker_count) const {
  Tiling tiling;
  tiling.part_count = static_cast<std::uint32_t>(parts.size());
  tiling.token_count = token_count;
  const auto fit = static_cast<std::uint32_t>(kTokenTileBytes / stride / 16 * 16);
  tiling.token_tile = std::min(token_count, std::max(kTokensPerTile, fit));
  std::uint32_t rows = 0;
  for (const Part& part : parts) rows += part.matrix->row_count;
  const std::uint32_t tokens = divide_up(token_count, tiling.token_tile);
  while (tiling.row_tile > kRowGroup &&
         divide_up(rows, tiling.row_tile) * tokens < worker_count * 2) {
    tiling.row_tile /= 2;
  }
  while (tiling.row_tile < 512 &&
         divide_up(rows, tiling.row_tile * 2) * tokens >= worker_count * kTilesPerWorker) {
    tiling.row_tile *= 2;
  }
  std::uint32_t end = 0;
  for (std::uint32_t i = 0; i < tiling.part_count; ++i) {
    const std::uint32_t part_rows = parts[i].matrix->row_count;
    const bool is_last = i + 1 == tiling.part_count;
    const bool is_cut =
        is_last && worker_count > 1 && token_count >= kTokensToCut && tiling.row_tile > kRowGroup;
    const std::uint32_t halved = is_cut ? worker_count * tiling.row_tile : 0;
    const std::uint32_t whole = (part_rows - std::min(halved, part_rows)) / tiling.row_tile;
    end += halved == 0
               ? divide_up(part_rows, tiling.row_tile)
               : whole + divide_up(part_rows - whole * tiling.row_tile, tiling.row_tile / 2);
    tiling.row_tile_ends[i] = end;
    tiling.whole_tiles = halved == 0 ? end : whole;
  }
  tiling.tile_count = end * tokens;
  return tiling;
}

// Tiles of one block of tokens follow one another, so that its activations stay in the cache. The
// last rows of the last part are cut into halves, so that workers finish at about the same time.
Transformer::Tile Transformer::Tiling::tile(std::uint32_t index,
                                            std::span<const Part> parts) const {
  const std::uint32_t row_tiles = row_tile_ends[part_count - 1];
  std::uint32_t row_index = index % row_tiles;
  Tile tile{};
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

PreparedActivations Transformer::tokens_of(const std::byte* prepared, const Operand& operand,
                                           const Part& part, const Tile& tile) const {
  return {prepared + tile.token_first * operand.stride + part.operand_offset, operand.stride,
          tile.token_count};
}

// Prepares input(row, temporary) of each row. Gives the bytes to multiply with: this worker's own,
// or those that all share.
template <typename Input>
const std::byte* Transformer::prepare_rows(Worker& worker, const Operand& operand,
                                           std::uint32_t row_count, const Input& input) {
  std::byte* own = private_of(worker);
  auto* temporary = reinterpret_cast<float*>(own + aligned_bytes(kAloneRows * operand_stride_));
  const auto prepare = [&](std::uint32_t row, std::byte* out) {
    const float* values = input(row, temporary);
    for (std::uint32_t i = 0; i < operand.count; ++i) {
      kernels_->prepare(operand.formats[i], operand.column_count, values, out + operand.offsets[i]);
    }
  };
  if (row_count <= kAloneRows) {
    for (std::uint32_t row = 0; row < row_count; ++row) prepare(row, own + row * operand.stride);
    return own;
  }
  worker.phase(divide_up(row_count, kRowsPerTile), [&](std::uint32_t tile) {
    const std::uint32_t end = std::min(row_count, (tile + 1) * kRowsPerTile);
    for (std::uint32_t row = tile * kRowsPerTile; row < end; ++row) {
      prepare(row, prepared_ + row * operand.stride);
    }
  });
  return prepared_;
}

// The place where the norms of rows are kept as F32 for adapters. If each worker prepares all rows,
// it is this worker's own; else it is the memory of project(), which runs later. Null if no adapter
// acts.
float* Transformer::normed_of(Worker& worker, const ForwardPlan& plan,
                              std::uint32_t row_count) const {
  if (plan.adapters.empty()) return nullptr;
  if (row_count > kAloneRows) return projected_;
  std::byte* temporary = private_of(worker) + aligned_bytes(kAloneRows * operand_stride_);
  return reinterpret_cast<float*>(temporary) + width_stride_;
}

// ---- The body ----

void Transformer::embed(const ForwardPlan& plan, std::uint32_t row) {
  const ForwardRow& from = plan.rows[row];
  if (from.embed != nullptr) {
    std::memcpy(x(row), from.embed, spec_->embedding_width * sizeof(float));
  } else {
    kernels_->unpack_row(weights_->shared.matrices[TokenEmbedding],
                         static_cast<std::uint32_t>(from.token), x(row));
    if (!plan.adapters.empty()) embed_low_rank(*kernels_, plan, row, x(row));
  }
  const std::size_t half = angles_.half();
  angles_.at(from.position, cosine_ + row * half, sine_ + row * half);
}

void Transformer::rotate_and_store(const ForwardPlan& plan, std::uint32_t layer,
                                   std::uint32_t row) {
  const RoleWeights& weights = weights_->layers[layer];
  const std::uint32_t dim = attention_.head_dim;
  const std::uint32_t half = angles_.half();
  const float* cosine = cosine_ + std::size_t{row} * half;
  const float* sine = sine_ + std::size_t{row} * half;
  const auto turn = [&](float* head, const std::vector<float>& norm) {
    if (!norm.empty()) kernels_->rms_norm(head, norm.data(), spec_->rms_epsilon, dim, head);
    kernels_->rope(cosine, sine, half, head);
  };
  float* query = qkv(row);
  for (std::uint32_t h = 0; h < attention_.head_count; ++h)
    turn(query + h * dim, weights.vectors[AttentionQNorm]);
  const ForwardRow& to = plan.rows[row];
  if (to.page == nullptr) return;
  float* key = query + query_width_;
  const float* value = key + kv_width_;
  for (std::uint32_t h = 0; h < attention_.kv_head_count; ++h) {
    turn(key + h * dim, weights.vectors[AttentionKNorm]);
    kernels_->store_kv(options_.kv.format, dim, options_.kv.page_size, to.page_slot, key + h * dim,
                       value + h * dim, to.page + options_.kv.head_offset(layer, h));
  }
}

void Transformer::attention_input(Worker& worker, const ForwardPlan& plan, std::uint32_t layer) {
  const RoleWeights& weights = weights_->layers[layer];
  const Operand& operand = operands_[layer].qkv;
  const auto row_count = static_cast<std::uint32_t>(plan.rows.size());
  const LowRankInput low_rank{layer, kQkv, 0, row_count};
  float* normed = normed_of(worker, plan, row_count);
  const std::byte* prepared =
      prepare_rows(worker, operand, row_count, [&](std::uint32_t row, float* temporary) {
        float* to = normed == nullptr ? temporary : normed + row * width_stride_;
        kernels_->rms_norm(x(row), weights.vectors[AttentionNorm].data(), spec_->rms_epsilon,
                           spec_->embedding_width, to);
        return to;
      });
  if (normed != nullptr) shrink(worker, *kernels_, plan, low_rank, normed, width_stride_);
  const Part parts[] = {
      part(weights, AttentionQ, operand, weights.vectors[AttentionQBias], qkv_),
      part(weights, AttentionK, operand, weights.vectors[AttentionKBias], qkv_ + query_width_),
      part(weights, AttentionV, operand, weights.vectors[AttentionVBias],
           qkv_ + query_width_ + kv_width_),
  };
  const Tiling tiles = tiling(parts, row_count, operand.stride, worker.count());
  const auto multiply = [&](std::uint32_t index) {
    const Tile tile = tiles.tile(index, parts);
    const Part& part = parts[tile.part];
    float* out = part.out + tile.token_first * qkv_stride_;
    kernels_->matmul(*part.matrix, tokens_of(prepared, operand, part, tile), tile.row_begin,
                     tile.row_end, out, qkv_stride_);
    if (!part.bias->empty()) {
      for (std::uint32_t t = 0; t < tile.token_count; ++t) {
        kernels_->add(part.bias->data() + tile.row_begin, tile.row_end - tile.row_begin,
                      out + t * qkv_stride_ + tile.row_begin);
      }
    }
    if (normed == nullptr) return;
    expand(*kernels_, plan, low_rank,
           {tile.part, tile.row_begin, tile.row_end, tile.token_first, tile.token_count, out,
            qkv_stride_});
  };
  if (row_count <= kAloneRows) {
    worker.phase_then(tiles.tile_count, multiply, [&] {
      for (std::uint32_t row = 0; row < row_count; ++row) rotate_and_store(plan, layer, row);
    });
    return;
  }
  worker.phase(tiles.tile_count, multiply);
  worker.phase(divide_up(row_count, kRowsPerTile), [&](std::uint32_t tile) {
    const std::uint32_t end = std::min(row_count, (tile + 1) * kRowsPerTile);
    for (std::uint32_t row = tile * kRowsPerTile; row < end; ++row) {
      rotate_and_store(plan, layer, row);
    }
  });
}

// The common part of all tasks of a kv head; query and output of its query head `group`.
AttentionTask Transformer::attention_task(std::uint32_t layer, std::uint32_t head,
                                          std::uint32_t group, std::uint32_t group_count) const {
  const std::uint32_t query_head =
      head * (attention_.head_count / attention_.kv_head_count) + group;
  const std::size_t column = std::size_t{query_head} * attention_.head_dim;
  const std::size_t partial_floats = attention_.head_dim + kPartialTail;
  AttentionTask task;
  task.page_size = options_.kv.page_size;
  task.head_offset = options_.kv.head_offset(layer, head);
  task.kv_format = options_.kv.format;
  task.head_dim = attention_.head_dim;
  task.group_count = group_count;
  task.scale = attention_.scale();
  task.query = qkv_ + column;
  task.query_stride = qkv_stride_;
  task.out = attended_ + column;
  task.out_stride = query_width_;
  task.partials.at = partials() + query_head * partial_floats;
  task.partials.stride = attention_.head_count * partial_floats;
  return task;
}

void Transformer::attend_partials(Worker& worker, const ForwardPlan& plan, std::uint32_t layer) {
  const std::uint32_t groups = attention_.head_count / attention_.kv_head_count;
  const std::uint32_t parts = divide_up(groups, kGroupsMax);
  const std::uint32_t groups_per_part = divide_up(groups, parts);
  const std::uint32_t heads = attention_.kv_head_count;
  const auto count = static_cast<std::uint32_t>(plan.partial_tasks.size());
  worker.phase(count * heads * parts, [&](std::uint32_t index) {
    const PartialRows& rows = plan.partial_tasks[index / (heads * parts)];
    const std::uint32_t group = index % parts * groups_per_part;
    AttentionTask task = attention_task(layer, index / parts % heads, group,
                                        std::min(groups_per_part, groups - group));
    task.pages = rows.pages;
    task.spans = rows.spans;
    task.visible_slot_end = rows.visible_slot_end;
    task.rows = std::span(plan.partial_query_rows).subspan(rows.row_first, rows.row_count);
    task.row_of = plan.partial_row_of.data() + rows.row_first;
    task.partials.use = rows.use;
    task.partials.offset = rows.partial_offset;
    kernels_->attend(task);
  });
}

void Transformer::attend(Worker& worker, const ForwardPlan& plan, std::uint32_t layer) {
  if (!plan.partial_tasks.empty()) attend_partials(worker, plan, layer);
  const std::uint32_t groups = attention_.head_count / attention_.kv_head_count;
  const auto chunk_count = static_cast<std::uint32_t>(plan.attention.size());
  const std::uint32_t heads = attention_.kv_head_count;
  const std::uint32_t parts = divide_up(groups, kGroupsMax);
  const std::uint32_t task_count = chunk_count * heads * parts;
  // If there are few tasks, those that do not divide evenly are split by query head: their keys are
  // read again for each, but all workers share them.
  const std::uint32_t odd = task_count < 4 * worker.count() ? task_count % worker.count() : 0;
  const std::uint32_t whole = task_count - odd;
  const std::uint32_t groups_per_part = divide_up(groups, parts);
  worker.phase(whole + odd * groups_per_part, [&](std::uint32_t index) {
    const std::uint32_t single = index < whole ? 0 : (index - whole) % groups_per_part;
    if (index >= whole) index = whole + (index - whole) / groups_per_part;
    const AttentionRows& rows = plan.attention[index / (heads * parts)];
    const std::uint32_t first = index % parts * groups_per_part;
    const std::uint32_t group = first + single;
    if (group >= groups) return;
    const std::uint32_t group_count = index < whole ? std::min(groups_per_part, groups - group) : 1;
    AttentionTask task = attention_task(layer, index / parts % heads, group, group_count);
    task.pages = rows.pages;
    task.spans = rows.spans;
    task.visible_slot_end = rows.visible_slot_end;
    task.rows = std::span(plan.query_rows).subspan(rows.row_first, rows.row_count);
    task.mask_slot_count = rows.mask_slot_count;
    task.query += rows.row_first * qkv_stride_;
    task.out += std::size_t{rows.row_first} * query_width_;
    if (task.rows[0].partial_count > 0) task.partials.use = PartialUse::Read;
    kernels_->attend(task);
  });
}

// x[row_first ...] += matrix times prepared rows, and what adapters add.
void Transformer::project(Worker& worker, const ForwardPlan& plan, const Operand& operand,
                          const std::byte* prepared, const Part& part,
                          const LowRankInput& low_rank) {
  const std::span<const Part> parts(&part, 1);
  const Tiling tiles = tiling(parts, low_rank.row_count, operand.stride, worker.count());
  worker.phase(tiles.tile_count, [&](std::uint32_t index) {
    const Tile tile = tiles.tile(index, parts);
    float* out = projected_ + tile.token_first * width_stride_;
    kernels_->matmul(*part.matrix, tokens_of(prepared, operand, part, tile), tile.row_begin,
                     tile.row_end, out, width_stride_);
    const std::uint32_t count = tile.row_end - tile.row_begin;
    const std::uint32_t row_first = low_rank.row_first + tile.token_first;
    if (!part.bias->empty()) {
      for (std::uint32_t t = 0; t < tile.token_count; ++t) {
        kernels_->add(part.bias->data() + tile.row_begin, count,
                      out + t * width_stride_ + tile.row_begin);
      }
    }
    if (!plan.adapters.empty()) {
      expand(*kernels_, plan, low_rank,
             {0, tile.row_begin, tile.row_end, row_first, tile.token_count, out, width_stride_});
    }
    for (std::uint32_t t = 0; t < tile.token_count; ++t) {
      kernels_->add(out + t * width_stride_ + tile.row_begin, count,
                    x(row_first + t) + tile.row_begin);
    }
  });
}

void Transformer::feed_forward(Worker& worker, const ForwardPlan& plan, std::uint32_t layer,
                               std::uint32_t row_first, std::uint32_t row_count) {
  static const std::vector<float> kNoBias;
  const RoleWeights& weights = weights_->layers[layer];
  const Operand& in = operands_[layer].gate_up;
  const LowRankInput gate_up{layer, kGateUp, row_first, row_count};
  float* normed = normed_of(worker, plan, row_count);
  const std::byte* prepared =
      prepare_rows(worker, in, row_count, [&](std::uint32_t row, float* temporary) {
        float* to = normed == nullptr ? temporary : normed + row * width_stride_;
        kernels_->rms_norm(x(row_first + row), weights.vectors[FeedForwardNorm].data(),
                           spec_->rms_epsilon, spec_->embedding_width, to);
        return to;
      });
  if (normed != nullptr) shrink(worker, *kernels_, plan, gate_up, normed, width_stride_);
  const Part gate = part(weights, FeedForwardGate, in, kNoBias, gate_);
  const Part up = part(weights, FeedForwardUp, in, kNoBias, up_);
  const std::span<const Part> parts(&gate, 1);
  const Tiling tiles = tiling(parts, row_count, in.stride, worker.count());
  worker.phase(tiles.tile_count, [&](std::uint32_t index) {
    const Tile tile = tiles.tile(index, parts);
    const std::size_t at = tile.token_first * feed_stride_;
    for (const Part* part : {&gate, &up}) {
      kernels_->matmul(*part->matrix, tokens_of(prepared, in, *part, tile), tile.row_begin,
                       tile.row_end, part->out + at, feed_stride_);
      if (normed == nullptr) continue;
      expand(*kernels_, plan, gate_up,
             {part == &gate ? 0u : 1u, tile.row_begin, tile.row_end, row_first + tile.token_first,
              tile.token_count, part->out + at, feed_stride_});
    }
    for (std::uint32_t t = 0; t < tile.token_count; ++t) {
      float* gated = gate_ + at + t * feed_stride_ + tile.row_begin;
      kernels_->silu_multiply(gated, up_ + at + t * feed_stride_ + tile.row_begin,
                              tile.row_end - tile.row_begin, gated);
    }
  });
  const Operand& out = operands_[layer].down;
  prepared = prepare_rows(worker, out, row_count,
                          [&](std::uint32_t row, float*) { return gate_ + row * feed_stride_; });
  const Part down = part(weights, FeedForwardDown, out, kNoBias, nullptr);
  const LowRankInput low_rank{layer, kDown, row_first, row_count};
  if (normed != nullptr) shrink(worker, *kernels_, plan, low_rank, gate_, feed_stride_);
  project(worker, plan, out, prepared, down, low_rank);
}

void Transformer::forward(Worker& worker, const ForwardPlan& plan) {
  const auto row_count = static_cast<std::uint32_t>(plan.rows.size());
  if (row_count == 0) return;
  worker.phase(row_count, [&](std::uint32_t row) { embed(plan, row); });
  for (std::uint32_t layer = 0; layer < spec_->layer_count(); ++layer) {
    attention_input(worker, plan, layer);
    attend(worker, plan, layer);
    const RoleWeights& weights = weights_->layers[layer];
    const Operand& operand = operands_[layer].attention_output;
    const std::byte* prepared = prepare_rows(
        worker, operand, row_count, [&](std::uint32_t row, float*) { return attended(row); });
    const Part output =
        part(weights, AttentionOutput, operand, weights.vectors[AttentionOutputBias], nullptr);
    const LowRankInput low_rank{layer, kAttentionOutput, 0, row_count};
    if (!plan.adapters.empty()) {
      shrink(worker, *kernels_, plan, low_rank, attended_, query_width_);
    }
    project(worker, plan, operand, prepared, output, low_rank);
    for (std::uint32_t first = 0; first < row_count; first += feed_rows_max_) {
      feed_forward(worker, plan, layer, first, std::min(feed_rows_max_, row_count - first));
    }
  }
}

void Transformer::hidden(std::uint32_t row, float* out) const {
  kernels_->rms_norm(x(row), weights_->shared.vectors[OutputNorm].data(), spec_->rms_epsilon,
                     spec_->embedding_width, out);
}

void Transformer::logits(Worker& worker, std::span<const float* const> vectors, float* out) {
  const auto count = static_cast<std::uint32_t>(vectors.size());
  const std::byte* prepared = prepare_rows(worker, head_operand_, count,
                                           [&](std::uint32_t row, float*) { return vectors[row]; });
  const PackedMatrix& matrix = weights_->shared.matrices[Output];
  const Part part{&matrix, 0, nullptr, out};
  const std::span<const Part> parts(&part, 1);
  const Tiling tiles = tiling(parts, count, head_operand_.stride, worker.count());
  worker.phase(tiles.tile_count, [&](std::uint32_t index) {
    const Tile tile = tiles.tile(index, parts);
    kernels_->matmul(matrix, tokens_of(prepared, head_operand_, part, tile), tile.row_begin,
                     tile.row_end, out + std::size_t{tile.token_first} * spec_->vocabulary_size,
                     spec_->vocabulary_size);
  });
}

}  // namespace quire::inference
