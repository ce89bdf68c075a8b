#pragma once
// DenseFeedForward: down(silu(gate(x)) * up(x)), as Llama has it (SwiGLU, Shazeer 2020).
//
// Thread   forward() is called by every worker, in one order.
#include "inference/models/matmul_phase.h"

namespace quire::inference {

class DenseFeedForward {
 public:
  // Keeps `weights`.
  DenseFeedForward(std::uint32_t layer, const RoleWeights& weights, const KernelTable& kernels);

  // x += down(silu(gate(x)) * up(x)) for all rows, with the norms that the layer has.
  void forward(const Forward& forward) const;

  const Operand& input() const { return gate_up_; }
  const Operand& hidden() const { return down_; }  // Of ForwardScratch::feed_row_count_max() rows.

 private:
  void forward_rows(const Forward& forward, std::uint32_t row_first, std::uint32_t row_count) const;

  std::uint32_t layer_;
  const RoleWeights* weights_;
  Operand gate_up_;
  Operand down_;
};

}  // namespace quire::inference
