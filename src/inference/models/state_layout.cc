#include "inference/models/state_layout.h"

#include "base/divide_up.h"
#include "inference/models/forward_scratch.h"

namespace quire::inference {

LayerState::LayerState(const DeltaNetSpec& spec, std::size_t offset)
    : offset_(offset),
      tile_bytes_(std::size_t{spec.key_dim} * kDeltaColumns * sizeof(float)),
      row_bytes_(aligned_bytes(spec.channel_count() * sizeof(float))),
      column_blocks_(divide_up(spec.value_dim, kDeltaColumns)),
      tile_count_(spec.value_head_count * column_blocks_) {
  end_ = convolution_offset(spec.convolution_width - 1);
}

StateLayout::StateLayout(const ModelSpec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    const DeltaNetSpec* delta = layer.delta_net();
    layers_.push_back(delta == nullptr ? LayerState() : LayerState(*delta, output_offset_));
    if (delta != nullptr) output_offset_ = layers_.back().end();
  }
  if (!has_states(spec)) return;
  bytes_ = output_offset_ + aligned_bytes(spec.embedding_width * sizeof(float));
}

}  // namespace quire::inference
