#include "inference/weights/tensor_roles.h"

#include "base/check.h"

namespace quire::inference {
namespace {

using Shape = std::optional<TensorShape>;

Shape when(bool is_there, TensorShape shape) {
  return is_there ? Shape(shape) : std::nullopt;
}

Shape embedding(const ModelSpec& spec, const LayerSpec&) {
  return TensorShape{spec.vocabulary_size, spec.embedding_width};
}
Shape output(const ModelSpec& spec, const LayerSpec&) {
  return when(!spec.tied_embeddings, {spec.vocabulary_size, spec.embedding_width});
}
Shape norm(const ModelSpec& spec, const LayerSpec&) {
  return TensorShape{1, spec.embedding_width};
}

Shape norm_before(const ModelSpec& spec, const LayerSpec& layer) {
  return when(layer.norms == NormPlace::Before, {1, spec.embedding_width});
}
Shape norm_after(const ModelSpec& spec, const LayerSpec& layer) {
  return when(layer.norms == NormPlace::After, {1, spec.embedding_width});
}

// ---- of attention ----

Shape query(const ModelSpec& spec, const LayerSpec& layer) {
  const AttentionSpec* attention = layer.attention();
  if (attention == nullptr) return std::nullopt;
  return TensorShape{attention->projected_query_width(), spec.embedding_width};
}
Shape key(const ModelSpec& spec, const LayerSpec& layer) {
  const AttentionSpec* attention = layer.attention();
  if (attention == nullptr) return std::nullopt;
  return TensorShape{attention->kv_width(), spec.embedding_width};
}
Shape attention_output(const ModelSpec& spec, const LayerSpec& layer) {
  const AttentionSpec* attention = layer.attention();
  if (attention == nullptr) return std::nullopt;
  return TensorShape{spec.embedding_width, attention->query_width()};
}
Shape query_bias(const ModelSpec&, const LayerSpec& layer) {
  const AttentionSpec* attention = layer.attention();
  if (attention == nullptr) return std::nullopt;
  return when(attention->has_qkv_bias, {1, attention->projected_query_width()});
}
Shape key_bias(const ModelSpec&, const LayerSpec& layer) {
  const AttentionSpec* attention = layer.attention();
  if (attention == nullptr) return std::nullopt;
  return when(attention->has_qkv_bias, {1, attention->kv_width()});
}
Shape attention_output_bias(const ModelSpec& spec, const LayerSpec& layer) {
  const AttentionSpec* attention = layer.attention();
  if (attention == nullptr) return std::nullopt;
  return when(attention->has_output_bias, {1, spec.embedding_width});
}
Shape norm_of(QkNorm kind, std::uint32_t head_dim, std::uint32_t width) {
  if (kind == QkNorm::None) return std::nullopt;
  return TensorShape{1, kind == QkNorm::EachHead ? head_dim : width};
}
Shape query_norm(const ModelSpec&, const LayerSpec& layer) {
  const AttentionSpec* attention = layer.attention();
  if (attention == nullptr) return std::nullopt;
  return norm_of(attention->qk_norm, attention->head_dim, attention->query_width());
}
Shape key_norm(const ModelSpec&, const LayerSpec& layer) {
  const AttentionSpec* attention = layer.attention();
  if (attention == nullptr) return std::nullopt;
  return norm_of(attention->qk_norm, attention->head_dim, attention->kv_width());
}

// ---- of a dense feed-forward part ----

Shape gate(const ModelSpec& spec, const LayerSpec& layer) {
  const DenseSpec* dense = layer.dense();
  if (dense == nullptr) return std::nullopt;
  return TensorShape{dense->width, spec.embedding_width};
}
Shape down(const ModelSpec& spec, const LayerSpec& layer) {
  const DenseSpec* dense = layer.dense();
  if (dense == nullptr) return std::nullopt;
  return TensorShape{spec.embedding_width, dense->width};
}

// ---- of experts ----

Shape router(const ModelSpec& spec, const LayerSpec& layer) {
  const ExpertsSpec* experts = layer.experts();
  if (experts == nullptr) return std::nullopt;
  return TensorShape{experts->expert_count, spec.embedding_width};
}
Shape expert_gate(const ModelSpec& spec, const LayerSpec& layer) {
  const ExpertsSpec* experts = layer.experts();
  if (experts == nullptr) return std::nullopt;
  return TensorShape{experts->width, spec.embedding_width};
}
Shape expert_down(const ModelSpec& spec, const LayerSpec& layer) {
  const ExpertsSpec* experts = layer.experts();
  if (experts == nullptr) return std::nullopt;
  return TensorShape{spec.embedding_width, experts->width};
}
Shape shared_router(const ModelSpec& spec, const LayerSpec& layer) {
  const ExpertsSpec* experts = layer.experts();
  return when(experts != nullptr && experts->has_shared(), {1, spec.embedding_width});
}
Shape shared_gate(const ModelSpec& spec, const LayerSpec& layer) {
  const ExpertsSpec* experts = layer.experts();
  if (experts == nullptr || !experts->has_shared()) return std::nullopt;
  return TensorShape{experts->shared_width, spec.embedding_width};
}
Shape shared_down(const ModelSpec& spec, const LayerSpec& layer) {
  const ExpertsSpec* experts = layer.experts();
  if (experts == nullptr || !experts->has_shared()) return std::nullopt;
  return TensorShape{spec.embedding_width, experts->shared_width};
}

// ---- of a delta rule ----

Shape delta_qkv(const ModelSpec& spec, const LayerSpec& layer) {
  const DeltaNetSpec* delta = layer.delta_net();
  if (delta == nullptr) return std::nullopt;
  return TensorShape{delta->channel_count(), spec.embedding_width};
}
Shape delta_gate(const ModelSpec& spec, const LayerSpec& layer) {
  const DeltaNetSpec* delta = layer.delta_net();
  if (delta == nullptr) return std::nullopt;
  return TensorShape{delta->value_width(), spec.embedding_width};
}
Shape delta_heads(const ModelSpec& spec, const LayerSpec& layer) {
  const DeltaNetSpec* delta = layer.delta_net();
  if (delta == nullptr) return std::nullopt;
  return TensorShape{delta->value_head_count, spec.embedding_width};
}
Shape delta_convolution(const ModelSpec&, const LayerSpec& layer) {
  const DeltaNetSpec* delta = layer.delta_net();
  if (delta == nullptr) return std::nullopt;
  return TensorShape{delta->channel_count(), delta->convolution_width};
}
Shape delta_of_heads(const ModelSpec&, const LayerSpec& layer) {
  const DeltaNetSpec* delta = layer.delta_net();
  if (delta == nullptr) return std::nullopt;
  return TensorShape{1, delta->value_head_count};
}
Shape delta_norm(const ModelSpec&, const LayerSpec& layer) {
  const DeltaNetSpec* delta = layer.delta_net();
  if (delta == nullptr) return std::nullopt;
  return TensorShape{1, delta->value_dim};
}
Shape delta_output(const ModelSpec& spec, const LayerSpec& layer) {
  const DeltaNetSpec* delta = layer.delta_net();
  if (delta == nullptr) return std::nullopt;
  return TensorShape{spec.embedding_width, delta->value_width()};
}

constexpr auto kModel = TensorPlace::Model;
constexpr auto kLayer = TensorPlace::Layer;
constexpr auto kMatrix = TensorKind::Matrix;
constexpr auto kVector = TensorKind::Vector;
constexpr auto kTable = TensorKind::Table;
constexpr auto kExact = TensorKind::ExactMatrix;
constexpr auto kExpert = TensorPlace::Expert;
using enum TensorRole;

constexpr TensorRow kRows[kTensorRoleCount] = {
    {TokenEmbedding, "token_embedding", "token_embd.weight", "model.embed_tokens.weight", kModel,
     kMatrix, false, embedding},
    {Output, "output", "output.weight", "lm_head.weight", kModel, kMatrix, false, output},
    {OutputNorm, "output_norm", "output_norm.weight", "model.norm.weight", kModel, kVector, false,
     norm},
    {AttentionNorm, "attention_norm", "attn_norm.weight", "input_layernorm.weight", kLayer, kVector,
     false, norm_before},
    {AttentionQ, "attention_q", "attn_q.weight", "self_attn.q_proj.weight", kLayer, kMatrix, true,
     query},
    {AttentionK, "attention_k", "attn_k.weight", "self_attn.k_proj.weight", kLayer, kMatrix, true,
     key},
    {AttentionV, "attention_v", "attn_v.weight", "self_attn.v_proj.weight", kLayer, kMatrix, false,
     key},
    {AttentionOutput, "attention_output", "attn_output.weight", "self_attn.o_proj.weight", kLayer,
     kMatrix, false, attention_output},
    {AttentionQBias, "attention_q_bias", "attn_q.bias", "self_attn.q_proj.bias", kLayer, kVector,
     true, query_bias},
    {AttentionKBias, "attention_k_bias", "attn_k.bias", "self_attn.k_proj.bias", kLayer, kVector,
     true, key_bias},
    {AttentionVBias, "attention_v_bias", "attn_v.bias", "self_attn.v_proj.bias", kLayer, kVector,
     false, key_bias},
    {AttentionOutputBias, "attention_output_bias", "attn_output.bias", "self_attn.o_proj.bias",
     kLayer, kVector, false, attention_output_bias},
    {AttentionQNorm, "attention_q_norm", "attn_q_norm.weight", "self_attn.q_norm.weight", kLayer,
     kVector, false, query_norm},
    {AttentionKNorm, "attention_k_norm", "attn_k_norm.weight", "self_attn.k_norm.weight", kLayer,
     kVector, false, key_norm},
    {AttentionPostNorm, "attention_post_norm", "post_attention_norm.weight",
     "post_attention_layernorm.weight", kLayer, kVector, false, norm_after},
    {FeedForwardNorm, "feed_forward_norm", "ffn_norm.weight", "post_attention_layernorm.weight",
     kLayer, kVector, false, norm_before},
    {FeedForwardGate, "feed_forward_gate", "ffn_gate.weight", "mlp.gate_proj.weight", kLayer,
     kMatrix, false, gate},
    {FeedForwardUp, "feed_forward_up", "ffn_up.weight", "mlp.up_proj.weight", kLayer, kMatrix,
     false, gate},
    {FeedForwardDown, "feed_forward_down", "ffn_down.weight", "mlp.down_proj.weight", kLayer,
     kMatrix, false, down},
    {FeedForwardPostNorm, "feed_forward_post_norm", "post_ffw_norm.weight",
     "post_feedforward_layernorm.weight", kLayer, kVector, false, norm_after},
    {Router, "router", "ffn_gate_inp.weight", "mlp.gate.weight", kLayer, kExact, false, router},
    {ExpertGate, "expert_gate", "ffn_gate_exps.weight", "mlp.experts.*.gate_proj.weight", kExpert,
     kMatrix, false, expert_gate, "ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj", 0, 2},
    {ExpertUp, "expert_up", "ffn_up_exps.weight", "mlp.experts.*.up_proj.weight", kExpert, kMatrix,
     false, expert_gate, "ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj", 1, 2},
    {ExpertDown, "expert_down", "ffn_down_exps.weight", "mlp.experts.*.down_proj.weight", kExpert,
     kMatrix, false, expert_down, nullptr, "mlp.experts.down_proj"},
    {SharedExpertRouter, "shared_expert_router", "ffn_gate_inp_shexp.weight",
     "mlp.shared_expert_gate.weight", kLayer, kExact, false, shared_router},
    {SharedExpertGate, "shared_expert_gate", "ffn_gate_shexp.weight",
     "mlp.shared_expert.gate_proj.weight", kLayer, kMatrix, false, shared_gate},
    {SharedExpertUp, "shared_expert_up", "ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight",
     kLayer, kMatrix, false, shared_gate},
    {SharedExpertDown, "shared_expert_down", "ffn_down_shexp.weight",
     "mlp.shared_expert.down_proj.weight", kLayer, kMatrix, false, shared_down},
    {DeltaQkv, "delta_qkv", "attn_qkv.weight", "linear_attn.in_proj_qkv.weight", kLayer, kMatrix,
     false, delta_qkv},
    {DeltaGate, "delta_gate", "attn_gate.weight", "linear_attn.in_proj_z.weight", kLayer, kMatrix,
     false, delta_gate},
    {DeltaBeta, "delta_beta", "ssm_beta.weight", "linear_attn.in_proj_b.weight", kLayer, kMatrix,
     false, delta_heads},
    {DeltaAlpha, "delta_alpha", "ssm_alpha.weight", "linear_attn.in_proj_a.weight", kLayer, kMatrix,
     false, delta_heads},
    {DeltaConvolution, "delta_convolution", "ssm_conv1d.weight", "linear_attn.conv1d.weight",
     kLayer, kTable, false, delta_convolution},
    {DeltaDecayBias, "delta_decay_bias", "ssm_dt.bias", "linear_attn.dt_bias", kLayer, kVector,
     false, delta_of_heads},
    {DeltaDecay, "delta_decay", "ssm_a", "linear_attn.A_log", kLayer, kVector, false,
     delta_of_heads},
    {DeltaNorm, "delta_norm", "ssm_norm.weight", "linear_attn.norm.weight", kLayer, kVector, false,
     delta_norm},
    {DeltaOutput, "delta_output", "ssm_out.weight", "linear_attn.out_proj.weight", kLayer, kMatrix,
     false, delta_output},
};

constexpr bool rows_are_in_order() {
  for (std::uint32_t i = 0; i < kTensorRoleCount; ++i) {
    if (static_cast<std::uint32_t>(kRows[i].role) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

}  // namespace

const TensorRow& row_of(TensorRole role) {
  const auto index = static_cast<std::uint32_t>(role);
  QUIRE_CHECK(index < kTensorRoleCount, "a role has a row");
  return kRows[index];
}

std::span<const TensorRow> tensor_rows() {
  return kRows;
}

}  // namespace quire::inference
