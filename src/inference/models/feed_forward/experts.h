#pragma once
// ExpertsFeedForward: a mixture of experts (Shazeer et al. 2017), of which each row goes through a
// few, and one that all rows go through if the layer has a shared one.
//
// Rows are gathered by expert, so that the weights of an expert are read once for all of its rows.
// A row's outputs are added in the order of its choices, the shared expert last, by one worker. So
// the bits of a row do not depend on the rows beside it.
//
// Thread   forward() is called by every worker, in one order.
#include "inference/models/feed_forward/expert_scratch.h"
#include "inference/models/matmul_phase.h"

namespace quire::inference {

class ExpertsFeedForward {
 public:
  // Keeps what it is given; `scratch` is set before the first forward().
  ExpertsFeedForward(std::uint32_t layer, const ExpertsSpec& spec, const RoleWeights& weights,
                     const KernelTable& kernels);
  void set_scratch(ExpertScratch* scratch) { scratch_ = scratch; }

  // x += the weighted sum of the experts of each row, with the norms that the layer has.
  void forward(const Forward& forward) const;

  const Operand& input() const { return input_; }
  std::uint32_t choice_count() const { return spec_->used_count + (spec_->has_shared() ? 1 : 0); }
  // Logits of a row: those of the router, and of the shared expert.
  std::size_t router_width() const { return shared_logit_at() + (spec_->has_shared() ? 1 : 0); }
  // Bytes of a row as an expert's products read it, and its floats between them.
  std::size_t operand_bytes() const { return operand_bytes_; }
  std::size_t expert_width() const { return expert_width_; }

 private:
  struct Expert {
    const PackedMatrix *gate, *up, *down;
  };
  struct Tile {
    const ExpertBlock* block;
    std::uint32_t row_begin, row_end;  // Outputs of the matrix.
  };

  std::size_t shared_logit_at() const { return aligned_floats(spec_->expert_count); }
  void choose(const Forward& forward, std::uint32_t row) const;
  void group() const;
  void route(const Forward& forward, const Activations& normed) const;
  template <typename Work>
  void for_each_tile(const Forward& forward, const PackedMatrix* Expert::* matrix,
                     const Work& work) const;
  void gate_up(const Forward& forward, const Activations& normed) const;
  void down(const Forward& forward) const;
  void add_outputs(const Forward& forward) const;

  std::uint32_t layer_;
  const ExpertsSpec* spec_;
  const RoleWeights* weights_;
  std::vector<Expert> experts_;  // The shared one last.
  Operand input_;
  std::size_t operand_bytes_ = 0;
  std::size_t expert_width_ = 0;
  ExpertScratch* scratch_ = nullptr;
};

}  // namespace quire::inference
