#include "inference/models/feed_forward/dense.h"

#include <algorithm>

namespace quire::inference {
namespace {

using enum TensorRole;

constexpr Projection kGateUp[] = {Projection::Gate, Projection::Up};
constexpr Projection kDown[] = {Projection::Down};

}  // namespace

DenseFeedForward::DenseFeedForward(std::uint32_t layer, const RoleWeights& weights,
                                   const KernelTable& kernels)
    : layer_(layer),
      weights_(&weights),
      gate_up_(kernels.matmul,
               {&weights.matrices[FeedForwardGate], &weights.matrices[FeedForwardUp]}),
      down_(kernels.matmul, {&weights.matrices[FeedForwardDown]}) {}

void DenseFeedForward::forward(const Forward& forward) const {
  const std::uint32_t row_count = forward.row_count();
  const std::uint32_t step = forward.scratch.feed_row_count_max();
  for (std::uint32_t first = 0; first < row_count; first += step) {
    forward_rows(forward, first, std::min(step, row_count - first));
  }
}

void DenseFeedForward::forward_rows(const Forward& forward, std::uint32_t row_first,
                                    std::uint32_t row_count) const {
  const auto& matrices = weights_->matrices;
  const RowBuffer& gate = forward.scratch.gate;
  const RowBuffer& up = forward.scratch.up;

  const Activations normed = normed_rows(forward, gate_up_, {layer_, kGateUp, row_first, row_count},
                                         weights_->vectors[FeedForwardNorm]);
  const MatrixOut parts[] = {{&matrices[FeedForwardGate], nullptr, gate},
                             {&matrices[FeedForwardUp], nullptr, up}};
  multiply_both(
      forward, normed, parts, [&](std::uint32_t row, std::uint32_t begin, std::uint32_t end) {
        float* gated = gate[row] + begin;
        forward.kernels.elementwise.silu_multiply(gated, up[row] + begin, end - begin, gated);
      });

  const Activations hidden = rows_of(forward, down_, {layer_, kDown, row_first, row_count}, gate);
  multiply_and_add(forward, hidden, matrices[FeedForwardDown], nullptr,
                   weights_->vectors[FeedForwardPostNorm]);
}

}  // namespace quire::inference
