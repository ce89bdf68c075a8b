#pragma once
// AttentionMixer: the attention of a layer (Vaswani et al. 2017), with RoPE (Su et al. 2021), in
// groups of query heads that share keys and values (Ainslie et al. 2023). What a head attended to
// may be multiplied by a gate.
//
// Thread   forward() is called by every worker, in one order.
#include "inference/models/attention_phase.h"

namespace quire::inference {

class AttentionMixer {
 public:
  // Keeps what it is given. `angle_first`: where the angles of this layer's RoPE begin in a row of
  // ForwardScratch::cosine and sine. `window`: of ForwardPlan::windows.
  AttentionMixer(std::uint32_t layer, const AttentionSpec& spec, const RoleWeights& weights,
                 const KvLayout& kv, const KernelTable& kernels, std::uint32_t angle_first,
                 std::uint32_t window);

  // x += output(attend(qkv(x))), with the norms that the layer has. Writes the keys and values of
  // all rows.
  void forward(const Forward& forward) const;

  const Operand& input() const { return qkv_; }
  const Operand& heads() const { return output_; }

 private:
  void rotate_and_store(const Forward& forward, std::uint32_t row) const;
  // Moves the gates of a row's heads out of the queries, which then lie one after the other.
  void take_gates(const Forward& forward, std::uint32_t row) const;

  std::uint32_t layer_;
  const AttentionSpec* spec_;
  const RoleWeights* weights_;
  const KvLayout* kv_;
  std::uint32_t angle_first_;
  std::uint32_t window_;
  Operand qkv_;
  Operand output_;
};

}  // namespace quire::inference
