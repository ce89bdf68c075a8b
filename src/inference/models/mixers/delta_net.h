#pragma once
// DeltaNetMixer: a layer with the gated delta rule (Yang et al. 2024), as DeltaNetSpec says it.
//
// The rows of a pass change its state one after the other. A task has one tile of a state for all
// rows of a pass, so that the tile stays in the first-level cache. Tiles do not depend on each
// other. So workers share out the tiles, and a row's bits depend neither on the rows of its pass
// nor on the tasks. Adapters do not act on these projections.
//
// Thread   forward() is called by every worker, in one order.
#include "inference/models/matmul_phase.h"
#include "inference/models/state_layout.h"

namespace quire::inference {

class DeltaNetMixer {
 public:
  // Keeps what it is given.
  DeltaNetMixer(std::uint32_t layer, const DeltaNetSpec& spec, const RoleWeights& weights,
                const LayerState& state, const KernelTable& kernels);

  // x += output(norm(delta_rule(x)) * gate(x)), with the norms that the layer has. Stores the
  // layer's part of the states that the plan wants.
  void forward(const Forward& forward) const;

  const Operand& input() const { return input_; }
  const Operand& heads() const { return output_; }

 private:
  // The convolved heads of all rows: a head's rows lie one after the other.
  float* query(const Forward& forward, std::uint32_t head) const;
  float* key(const Forward& forward, std::uint32_t head) const;
  float* value(const Forward& forward, std::uint32_t head) const;

  void project(const Forward& forward) const;
  void convolve(const Forward& forward) const;
  void convolve_row(const Forward& forward, std::uint32_t row, std::uint32_t head_begin,
                    std::uint32_t head_end) const;
  void set_decays(const Forward& forward, std::uint32_t row) const;
  void change_states(const Forward& forward) const;
  void change_tile(const Forward& forward, const StatePass& pass, std::uint32_t tile) const;
  void keep_inputs(const Forward& forward, const StatePass& pass) const;
  void norm_heads(const Forward& forward) const;

  // Heads whose channels are convolved: those of q, of k and of v.
  std::uint32_t convolved_head_count() const {
    return 2 * spec_->key_head_count + spec_->value_head_count;
  }

  std::uint32_t layer_;
  const DeltaNetSpec* spec_;
  const RoleWeights* weights_;
  LayerState state_;
  std::vector<float> convolution_;  // [convolution_width][channel_count]
  float query_scale_;
  Operand input_;
  Operand output_;
};

}  // namespace quire::inference
