#pragma once
// StateLayout: where the state of each recurrent layer lies in the bytes of a state (api/batch.h).
//
// A layer has its tiles, [value head][column block][key_dim][kDeltaColumns], and then the inputs of
// its convolution of the last convolution_width - 1 rows, [row][channel_count], the oldest first.
// After all layers comes the output of the last row, [embedding_width]. All numbers are F32, all
// parts begin on a cache line.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "inference/kernels/recurrent_kernels.h"
#include "inference/weights/model_spec.h"

namespace quire::inference {

// The state of one layer; offsets are from the begin of all of the state.
class LayerState {
 public:
  LayerState() = default;
  LayerState(const DeltaNetSpec& spec, std::size_t offset);

  std::uint32_t column_blocks() const { return column_blocks_; }  // Of a value head.
  std::uint32_t tile_count() const { return tile_count_; }
  std::size_t tile_offset(std::uint32_t tile) const { return offset_ + tile * tile_bytes_; }
  // `row` counts from the oldest.
  std::size_t convolution_offset(std::uint32_t row) const {
    return offset_ + tile_count_ * tile_bytes_ + row * row_bytes_;
  }
  std::size_t end() const { return end_; }

 private:
  std::size_t offset_ = 0;
  std::size_t tile_bytes_ = 0;
  std::size_t row_bytes_ = 0;
  std::size_t end_ = 0;
  std::uint32_t column_blocks_ = 0;
  std::uint32_t tile_count_ = 0;
};

class StateLayout {
 public:
  explicit StateLayout(const ModelSpec& spec);

  std::size_t bytes() const { return bytes_; }  // 0: the model has no states.
  const LayerState& layer(std::uint32_t layer) const { return layers_[layer]; }
  std::size_t output_offset() const { return output_offset_; }

 private:
  std::vector<LayerState> layers_;  // Empty ones for layers without a state.
  std::size_t output_offset_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace quire::inference
