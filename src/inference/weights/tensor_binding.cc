#include "inference/weights/tensor_binding.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/utf8.h"

namespace quire::inference {
namespace {

struct RoleNames {
  TensorRole role;
  const char* gguf;          // After "blk.N." where the role belongs to a layer.
  const char* hugging_face;  // After "model.layers.N.".
  bool in_layer;
};
constexpr RoleNames kRoleNames[kTensorRoleCount] = {
    {TensorRole::TokenEmbedding, "token_embd.weight", "model.embed_tokens.weight", false},
    {TensorRole::Output, "output.weight", "lm_head.weight", false},
    {TensorRole::OutputNorm, "output_norm.weight", "model.norm.weight", false},
    {TensorRole::AttentionNorm, "attn_norm.weight", "input_layernorm.weight", true},
    {TensorRole::AttentionQ, "attn_q.weight", "self_attn.q_proj.weight", true},
    {TensorRole::AttentionK, "attn_k.weight", "self_attn.k_proj.weight", true},
    {TensorRole::AttentionV, "attn_v.weight", "self_attn.v_proj.weight", true},
    {TensorRole::AttentionOutput, "attn_output.weight", "self_attn.o_proj.weight", true},
    {TensorRole::AttentionQBias, "attn_q.bias", "self_attn.q_proj.bias", true},
    {TensorRole::AttentionKBias, "attn_k.bias", "self_attn.k_proj.bias", true},
    {TensorRole::AttentionVBias, "attn_v.bias", "self_attn.v_proj.bias", true},
    {TensorRole::AttentionOutputBias, "attn_output.bias", "self_attn.o_proj.bias", true},
    {TensorRole::AttentionQNorm, "attn_q_norm.weight", "self_attn.q_norm.weight", true},
    {TensorRole::AttentionKNorm, "attn_k_norm.weight", "self_attn.k_norm.weight", true},
    {TensorRole::FeedForwardNorm, "ffn_norm.weight", "post_attention_layernorm.weight", true},
    {TensorRole::FeedForwardGate, "ffn_gate.weight", "mlp.gate_proj.weight", true},
    {TensorRole::FeedForwardUp, "ffn_up.weight", "mlp.up_proj.weight", true},
    {TensorRole::FeedForwardDown, "ffn_down.weight", "mlp.down_proj.weight", true},
};

std::string tensor_name(const RoleNames& names, TensorNaming naming, std::uint32_t layer) {
  const bool is_gguf = naming == TensorNaming::Gguf;
  const char* stem = is_gguf ? names.gguf : names.hugging_face;
  if (!names.in_layer) return stem;
  return (is_gguf ? "blk." : "model.layers.") + std::to_string(layer) + "." + stem;
}

struct Shape {
  std::uint64_t row_count;
  std::uint64_t column_count;
};

// The shape that a role has in this model; nothing when this model lacks the role.
std::optional<Shape> wanted_shape(TensorRole role, const ModelSpec& spec) {
  const std::uint64_t width = spec.embedding_width;
  const std::uint64_t feed_forward = spec.feed_forward_width;
  const std::uint64_t q_width = std::uint64_t{spec.head_count} * spec.head_dim;
  const std::uint64_t kv_width = std::uint64_t{spec.kv_head_count} * spec.head_dim;
  const auto when = [](bool present, Shape shape) {
    return present ? std::optional(shape) : std::nullopt;
  };
  switch (role) {
    case TensorRole::TokenEmbedding:
      return Shape{spec.vocabulary_size, width};
    case TensorRole::Output:
      return when(!spec.tied_embeddings, {spec.vocabulary_size, width});
    case TensorRole::OutputNorm:
    case TensorRole::AttentionNorm:
    case TensorRole::FeedForwardNorm:
      return Shape{1, width};
    case TensorRole::AttentionQ:
      return Shape{q_width, width};
    case TensorRole::AttentionK:
    case TensorRole::AttentionV:
      return Shape{kv_width, width};
    case TensorRole::AttentionOutput:
      return Shape{width, q_width};
    case TensorRole::AttentionQBias:
      return when(spec.has_qkv_bias, {1, q_width});
    case TensorRole::AttentionKBias:
    case TensorRole::AttentionVBias:
      return when(spec.has_qkv_bias, {1, kv_width});
    case TensorRole::AttentionOutputBias:
      return when(spec.has_attention_output_bias, {1, width});
    case TensorRole::AttentionQNorm:
    case TensorRole::AttentionKNorm:
      return when(spec.has_qk_norm, {1, spec.head_dim});
    case TensorRole::FeedForwardGate:
    case TensorRole::FeedForwardUp:
      return Shape{feed_forward, width};
    case TensorRole::FeedForwardDown:
      return Shape{width, feed_forward};
  }
  return std::nullopt;
}

// Frequencies, which some files carry and the body derives.
bool may_be_left_out(std::string_view name) {
  return name == "rope_freqs.weight" || name.ends_with(".rotary_emb.inv_freq");
}

Result<WeightSource::Entry> bind_tensor(const StoredTensor& tensor, const RoleNames& names,
                                        std::uint32_t layer, Shape shape, const ModelSpec& spec,
                                        TensorNaming naming) {
  const std::string where = tensor.source->name() + ": tensor " + in_quotes(tensor.name);
  if (tensor.row_count != shape.row_count || tensor.column_count != shape.column_count) {
    return Error(ErrorCode::Corrupted,
                 where + " has " + std::to_string(tensor.row_count) + " rows of " +
                     std::to_string(tensor.column_count) + " numbers; the model's shape wants " +
                     std::to_string(shape.row_count) + " of " + std::to_string(shape.column_count));
  }
  if (shape.row_count == 1 && is_quantised(tensor.format)) {
    return Error(ErrorCode::NotSupported, where + " is a vector in " +
                                              format_shape(tensor.format).name +
                                              "; F32, F16 and BF16 are supported");
  }
  const bool is_turned =
      names.role == TensorRole::AttentionQ || names.role == TensorRole::AttentionK ||
      names.role == TensorRole::AttentionQBias || names.role == TensorRole::AttentionKBias;
  const bool interleaved =
      is_turned && naming == TensorNaming::Gguf && spec.architecture == "llama";
  WeightSource::Entry entry;
  entry.info = {names.role,
                layer,
                tensor.format,
                static_cast<std::uint32_t>(shape.row_count),
                static_cast<std::uint32_t>(shape.column_count),
                tensor.name};
  entry.source = tensor.source;
  entry.offset = tensor.offset;
  entry.interleaved_head_dim = interleaved ? spec.head_dim : 0;
  return entry;
}

}  // namespace

void set_switches(const std::vector<StoredTensor>& tensors, TensorNaming naming, ModelSpec& spec) {
  std::unordered_set<std::string_view> present;
  for (const StoredTensor& tensor : tensors) present.insert(tensor.name);
  const auto has = [&](TensorRole role) {
    const RoleNames& names = kRoleNames[static_cast<std::uint32_t>(role)];
    return present.contains(tensor_name(names, naming, 0));
  };
  // If every model of an architecture has certain tensors, bind_tensors() must report those that
  // are not there.
  spec.has_qk_norm = spec.architecture == "qwen3" || has(TensorRole::AttentionQNorm);
  spec.has_qkv_bias = spec.architecture == "qwen2" || has(TensorRole::AttentionQBias);
  spec.has_attention_output_bias = has(TensorRole::AttentionOutputBias);
  spec.tied_embeddings = !has(TensorRole::Output);
}

Result<WeightSource> bind_tensors(const std::vector<StoredTensor>& tensors, TensorNaming naming,
                                  const ModelSpec& spec) {
  std::unordered_map<std::string_view, const StoredTensor*> unclaimed;
  for (const StoredTensor& tensor : tensors) unclaimed.emplace(tensor.name, &tensor);
  std::vector<WeightSource::Entry> entries;
  for (const RoleNames& names : kRoleNames) {
    const std::optional<Shape> shape = wanted_shape(names.role, spec);
    if (!shape) continue;
    for (std::uint32_t layer = 0; layer < (names.in_layer ? spec.layer_count : 1); ++layer) {
      const std::string name = tensor_name(names, naming, layer);
      const auto found = unclaimed.find(name);
      if (found == unclaimed.end()) {
        return Error(ErrorCode::Corrupted, "the tensor " + name + " is missing");
      }
      entries.push_back(TRY(bind_tensor(*found->second, names, layer, *shape, spec, naming)));
      unclaimed.erase(found);
    }
  }
  for (const auto& [name, tensor] : unclaimed) {
    if (may_be_left_out(name)) continue;
    return Error(ErrorCode::NotSupported,
                 tensor->source->name() + ": the transformer body has no use for the tensor " +
                     in_quotes(name) + " of this " + spec.architecture + " model");
  }
  return WeightSource(std::move(entries));
}

}  // namespace quire::inference
