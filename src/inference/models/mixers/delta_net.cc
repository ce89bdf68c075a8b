#include "inference/models/mixers/delta_net.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/divide_up.h"

namespace quire::inference {
namespace {

using enum TensorRole;

constexpr std::uint32_t kTasksPerWorker = 4;  // Few rows are cut so far.

// Calls work(row, begin, end) for all parts of the rows, each of which has `unit_count` units.
template <typename Work>
void for_row_parts(const Forward& forward, std::uint32_t unit_count, const Work& work) {
  const std::uint32_t rows = forward.row_count();
  const std::uint32_t wanted = divide_up(kTasksPerWorker * forward.worker.count(), rows);
  const std::uint32_t parts = std::clamp(wanted, 1u, unit_count);
  forward.worker.phase(rows * parts, [&](std::uint32_t index) {
    const std::uint32_t part = index % parts;
    work(index / parts, unit_count * part / parts, unit_count * (part + 1) / parts);
  });
}

const StatePass& pass_of(const Forward& forward, std::uint32_t row) {
  const std::vector<StatePass>& passes = forward.plan.states;
  const auto after = std::ranges::upper_bound(passes, row, {},
                                              [](const StatePass& each) { return each.row_first; });
  return *(after - 1);
}

const float* floats_at(const std::byte* state, std::size_t offset) {
  return reinterpret_cast<const float*>(state + offset);
}

}  // namespace

DeltaNetMixer::DeltaNetMixer(std::uint32_t layer, const DeltaNetSpec& spec,
                             const RoleWeights& weights, const LayerState& state,
                             const KernelTable& kernels)
    : layer_(layer),
      spec_(&spec),
      weights_(&weights),
      state_(state),
      query_scale_(1.0f / std::sqrt(static_cast<float>(spec.key_dim))),
      input_(kernels.matmul, {&weights.matrices[DeltaBeta], &weights.matrices[DeltaAlpha],
                              &weights.matrices[DeltaGate], &weights.matrices[DeltaQkv]}),
      output_(kernels.matmul, {&weights.matrices[DeltaOutput]}) {
  QUIRE_CHECK(spec.key_dim <= kKeyDimMax, "the keys of a delta rule fit a tile");
  QUIRE_CHECK(spec.convolution_width <= kConvolutionWidthMax, "a convolution has few rows");
  const std::uint32_t width = spec.convolution_width, channels = spec.channel_count();
  const std::vector<float>& stored = weights.vectors[DeltaConvolution];  // [channel][width]
  QUIRE_CHECK(stored.size() == std::size_t{width} * channels, "a convolution has its weights");
  for (std::uint32_t j = 0; j < width; ++j) {
    for (std::uint32_t c = 0; c < channels; ++c) {
      convolution_.push_back(stored[std::size_t{c} * width + j]);
    }
  }
}

void DeltaNetMixer::forward(const Forward& forward) const {
  project(forward);
  convolve(forward);
  change_states(forward);
  norm_heads(forward);
  const Activations heads =
      rows_of(forward, output_, {layer_, {}, 0, forward.row_count()}, forward.scratch.attended);
  multiply_and_add(forward, heads, weights_->matrices[DeltaOutput], nullptr,
                   weights_->vectors[AttentionPostNorm]);
}

void DeltaNetMixer::project(const Forward& forward) const {
  const auto& matrices = weights_->matrices;
  const ForwardScratch& scratch = forward.scratch;
  const std::uint32_t row_count = forward.row_count();
  const Activations normed =
      normed_rows(forward, input_, {layer_, {}, 0, row_count}, weights_->vectors[AttentionNorm]);
  const RowBuffer betas{scratch.decays.at + spec_->value_head_count, scratch.decays.stride};
  const MatrixOut parts[] = {{&matrices[DeltaBeta], nullptr, betas},
                             {&matrices[DeltaAlpha], nullptr, scratch.decays},
                             {&matrices[DeltaGate], nullptr, scratch.head_gates},
                             {&matrices[DeltaQkv], nullptr, scratch.qkv}};
  const MatmulTiles tiles(parts, row_count, input_.stride, forward.worker.count());
  forward.worker.phase(tiles.tile_count, [&](std::uint32_t index) {
    const MatmulTile tile = tiles.tile(index, parts);
    multiply_tile(forward, normed, parts[tile.part], tile.part, tile);
  });
}

// ---- the convolution ----

float* DeltaNetMixer::query(const Forward& forward, std::uint32_t head) const {
  return forward.scratch.convolved + std::size_t{forward.row_count()} * head * spec_->key_dim;
}

float* DeltaNetMixer::key(const Forward& forward, std::uint32_t head) const {
  return query(forward, spec_->key_head_count + head);
}

float* DeltaNetMixer::value(const Forward& forward, std::uint32_t head) const {
  return query(forward, 2 * spec_->key_head_count) +
         std::size_t{forward.row_count()} * head * spec_->value_dim;
}

void DeltaNetMixer::convolve(const Forward& forward) const {
  for_row_parts(forward, convolved_head_count(),
                [&](std::uint32_t row, std::uint32_t begin, std::uint32_t end) {
                  if (begin == 0) set_decays(forward, row);
                  convolve_row(forward, row, begin, end);
                });
}

void DeltaNetMixer::set_decays(const Forward& forward, std::uint32_t row) const {
  float* decay = forward.scratch.decays[row];
  forward.kernels.recurrent.decays({.bias = weights_->vectors[DeltaDecayBias].data(),
                                    .scale = weights_->vectors[DeltaDecay].data(),
                                    .head_count = spec_->value_head_count,
                                    .decay = decay,
                                    .beta = decay + spec_->value_head_count});
}

// The heads [head_begin, head_end) of a row. The inputs of the rows before it are those of its
// pass, and before these the state's.
void DeltaNetMixer::convolve_row(const Forward& forward, std::uint32_t row,
                                 std::uint32_t head_begin, std::uint32_t head_end) const {
  const RecurrentKernels& kernels = forward.kernels.recurrent;
  const StatePass& pass = pass_of(forward, row);
  const std::uint32_t kept = spec_->convolution_width - 1;
  const float* rows[kConvolutionWidthMax] = {};
  for (std::uint32_t j = 0; j <= kept; ++j) {
    const std::uint32_t back = kept - j, done = row - pass.row_first;
    if (back <= done) {
      rows[j] = forward.scratch.qkv[row - back];
    } else if (pass.from != nullptr) {
      rows[j] = floats_at(pass.from, state_.convolution_offset(j + done));
    }
  }
  const std::uint32_t key_heads = spec_->key_head_count, first_value = 2 * key_heads;
  for (std::uint32_t head = head_begin; head < head_end; ++head) {
    const bool is_value = head >= first_value;
    const std::uint32_t dim = is_value ? spec_->value_dim : spec_->key_dim;
    float* rows_of_head = is_value ? value(forward, head - first_value) : query(forward, head);
    float* out = rows_of_head + std::size_t{row} * dim;
    const std::uint32_t channel =
        is_value ? 2 * spec_->key_width() + (head - first_value) * dim : head * dim;
    kernels.convolve({.rows = rows,
                      .width = spec_->convolution_width,
                      .weights = convolution_.data(),
                      .weight_stride = spec_->channel_count(),
                      .channel_first = channel,
                      .channel_count = dim,
                      .out = out});
    if (is_value) continue;
    kernels.l2_norm(forward.spec.rms_epsilon, head < key_heads ? query_scale_ : 1.0f, dim, out);
  }
}

// ---- states ----

void DeltaNetMixer::change_states(const Forward& forward) const {
  const std::vector<StatePass>& passes = forward.plan.states;
  const std::uint32_t tiles = state_.tile_count();
  const auto pass_count = static_cast<std::uint32_t>(passes.size());
  forward.worker.phase(pass_count * (tiles + 1), [&](std::uint32_t index) {
    if (index < pass_count * tiles) {
      change_tile(forward, passes[index / tiles], index % tiles);
    } else {
      keep_inputs(forward, passes[index - pass_count * tiles]);
    }
  });
}

void DeltaNetMixer::change_tile(const Forward& forward, const StatePass& pass,
                                std::uint32_t tile) const {
  const ForwardScratch& scratch = forward.scratch;
  const std::uint32_t head = tile / state_.column_blocks();
  const std::uint32_t key_head = spec_->key_head_of(head);
  const std::uint32_t column = tile % state_.column_blocks() * kDeltaColumns;
  const std::size_t row = pass.row_first;
  const float* decay = scratch.decays[pass.row_first] + head;
  forward.kernels.recurrent.delta_rule(
      {.from = pass.from,
       .targets = forward.plan.state_targets.data() + pass.target_first,
       .target_count = pass.target_count,
       .tile_offset = state_.tile_offset(tile),
       .key_dim = spec_->key_dim,
       .column_count = std::min(kDeltaColumns, spec_->value_dim - column),
       .row_count = pass.row_count,
       .query = query(forward, key_head) + row * spec_->key_dim,
       .key = key(forward, key_head) + row * spec_->key_dim,
       .key_stride = spec_->key_dim,
       .value = value(forward, head) + row * spec_->value_dim + column,
       .value_stride = spec_->value_dim,
       .decay = decay,
       .beta = decay + spec_->value_head_count,
       .gate_stride = scratch.decays.stride,
       .out = scratch.attended[pass.row_first] + head * spec_->value_dim + column,
       .out_stride = scratch.attended.stride});
}

// Stores the last inputs of the convolution into the pass's targets.
void DeltaNetMixer::keep_inputs(const Forward& forward, const StatePass& pass) const {
  const std::uint32_t kept = spec_->convolution_width - 1;
  const std::size_t bytes = spec_->channel_count() * sizeof(float);
  const auto keep = [&](const StateTarget& target) {
    // In place, each row moves to the place of one before it, so the order is rising.
    for (std::uint32_t j = 0; j < kept; ++j) {
      std::byte* to = target.to + state_.convolution_offset(j);
      const std::uint32_t back = kept - j;  // Rows from the target's last, which has 1.
      if (back <= target.row_count) {
        std::memcpy(to, forward.scratch.qkv[pass.row_first + target.row_count - back], bytes);
      } else if (pass.from != nullptr) {
        std::memcpy(to, pass.from + state_.convolution_offset(j + target.row_count), bytes);
      } else {
        std::memset(to, 0, bytes);
      }
    }
  };
  const auto targets =
      std::span(forward.plan.state_targets).subspan(pass.target_first, pass.target_count);
  // The change in place is the last, because the others read the rows before it.
  for (const StateTarget& each : targets) {
    if (each.to != pass.from) keep(each);
  }
  for (const StateTarget& each : targets) {
    if (each.to == pass.from) keep(each);
  }
}

void DeltaNetMixer::norm_heads(const Forward& forward) const {
  const std::vector<float>& norm = weights_->vectors[DeltaNorm];
  const std::uint32_t dim = spec_->value_dim;
  for_row_parts(forward, spec_->value_head_count,
                [&](std::uint32_t row, std::uint32_t begin, std::uint32_t end) {
                  for (std::uint32_t head = begin; head < end; ++head) {
                    forward.kernels.recurrent.gated_norm(
                        norm.data(), forward.scratch.head_gates[row] + head * dim,
                        forward.spec.rms_epsilon, dim, forward.scratch.attended[row] + head * dim);
                  }
                });
}

}  // namespace quire::inference
