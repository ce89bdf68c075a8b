#include "inference/models/mixers/attention.h"

#include <cstring>

namespace quire::inference {
namespace {

using enum TensorRole;

// Projections that share an input.
constexpr Projection kQkv[] = {Projection::Query, Projection::Key, Projection::Value};
constexpr Projection kOutput[] = {Projection::AttentionOutput};

}  // namespace

AttentionMixer::AttentionMixer(std::uint32_t layer, const AttentionSpec& spec,
                               const RoleWeights& weights, const KvLayout& kv,
                               const KernelTable& kernels, std::uint32_t angle_first,
                               std::uint32_t window)
    : layer_(layer),
      spec_(&spec),
      weights_(&weights),
      kv_(&kv),
      angle_first_(angle_first),
      window_(window),
      qkv_(kernels.matmul, {&weights.matrices[AttentionQ], &weights.matrices[AttentionK],
                            &weights.matrices[AttentionV]}),
      output_(kernels.matmul, {&weights.matrices[TensorRole::AttentionOutput]}) {}

void AttentionMixer::forward(const Forward& forward) const {
  const auto& matrices = weights_->matrices;
  const auto& vectors = weights_->vectors;
  const RowBuffer& qkv = forward.scratch.qkv;
  const std::uint32_t query_width = spec_->projected_query_width();
  const std::uint32_t row_count = forward.row_count();

  const Activations normed =
      normed_rows(forward, qkv_, {layer_, kQkv, 0, row_count}, vectors[AttentionNorm]);
  const MatrixOut parts[] = {
      {&matrices[AttentionQ], &vectors[AttentionQBias], qkv},
      {&matrices[AttentionK], &vectors[AttentionKBias], {qkv.at + query_width, qkv.stride}},
      {&matrices[AttentionV],
       &vectors[AttentionVBias],
       {qkv.at + query_width + spec_->kv_width(), qkv.stride}},
  };
  multiply_all(forward, normed, parts, [&](std::uint32_t row) {
    if (spec_->has_gate) take_gates(forward, row);
    rotate_and_store(forward, row);
  });

  attend(forward, {*spec_, *kv_, layer_, window_});

  if (spec_->has_gate) {
    for_each_row(forward, row_count, [&](std::uint32_t row) {
      forward.kernels.recurrent.sigmoid_multiply(
          forward.scratch.head_gates[row], spec_->query_width(), forward.scratch.attended[row]);
    });
  }

  const Activations heads =
      rows_of(forward, output_, {layer_, kOutput, 0, row_count}, forward.scratch.attended);
  multiply_and_add(forward, heads, matrices[TensorRole::AttentionOutput],
                   &vectors[AttentionOutputBias], vectors[AttentionPostNorm]);
}

void AttentionMixer::take_gates(const Forward& forward, std::uint32_t row) const {
  const std::uint32_t dim = spec_->head_dim;
  float* query = forward.scratch.qkv[row];
  float* gates = forward.scratch.head_gates[row];
  for (std::uint32_t h = 0; h < spec_->head_count; ++h) {
    const float* head = query + std::size_t{2} * h * dim;  // Its query, then its gate.
    std::memcpy(gates + h * dim, head + dim, dim * sizeof(float));
    std::memmove(query + h * dim, head, dim * sizeof(float));
  }
}

void AttentionMixer::rotate_and_store(const Forward& forward, std::uint32_t row) const {
  const KernelTable& kernels = forward.kernels;
  const std::uint32_t dim = spec_->head_dim;
  const float* cosine = forward.scratch.cosine[row] + angle_first_;
  const float* sine = forward.scratch.sine[row] + angle_first_;
  const auto norm_width = [&](float* all, std::uint32_t width, const std::vector<float>& norm) {
    if (spec_->qk_norm != QkNorm::WholeWidth) return;
    kernels.elementwise.rms_norm(all, norm.data(), forward.spec.rms_epsilon, width, all);
  };
  const auto turn = [&](float* head, const std::vector<float>& norm) {
    if (spec_->qk_norm == QkNorm::EachHead) {
      kernels.elementwise.rms_norm(head, norm.data(), forward.spec.rms_epsilon, dim, head);
    }
    if (spec_->rope) kernels.elementwise.rope(cosine, sine, spec_->turned_dim() / 2, head);
  };
  float* query = forward.scratch.qkv[row];
  norm_width(query, spec_->query_width(), weights_->vectors[AttentionQNorm]);
  for (std::uint32_t h = 0; h < spec_->head_count; ++h) {
    turn(query + h * dim, weights_->vectors[AttentionQNorm]);
  }
  const ForwardRow& to = forward.plan.rows[row];
  if (to.page == nullptr) return;
  float* key = query + spec_->projected_query_width();
  const float* value = key + spec_->kv_width();
  norm_width(key, spec_->kv_width(), weights_->vectors[AttentionKNorm]);
  for (std::uint32_t h = 0; h < spec_->kv_head_count; ++h) {
    turn(key + h * dim, weights_->vectors[AttentionKNorm]);
    kernels.attention.store_kv(kv_->format(), dim, kv_->page_size(), to.page_slot, key + h * dim,
                               value + h * dim, to.page + kv_->head_offset(layer_, h));
  }
}

}  // namespace quire::inference
