#pragma once
// Small models of qwen35 and qwen35moe as files: GGUF as llama.cpp's converter writes it, and
// checkpoints as transformers does. Needs quire_architectures.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "inference/architectures/model_files.h"
#include "support/adapter_builder.h"
#include "support/gguf_builder.h"

namespace quire::test {

// Four layers, of which the last attends.
struct HybridShape {
  bool is_mixture = false;
  std::uint32_t value_head_count = 2;  // Of recurrent layers, which have two key heads.

  std::string architecture() const { return is_mixture ? "qwen35moe" : "qwen35"; }
};
struct ShapedTensor {
  std::string name;
  std::vector<std::uint64_t> dimensions;  // Slowest first.
};

inline void add_hybrid_layer(std::vector<ShapedTensor>& to, const std::string& at,
                             const std::vector<ShapedTensor>& layer) {
  for (const ShapedTensor& each : layer) to.push_back({at + each.name, each.dimensions});
}

inline std::vector<ShapedTensor> hybrid_gguf_tensors(const HybridShape& shape) {
  const std::uint64_t values = shape.value_head_count, width = 16 * values;
  std::vector<ShapedTensor> all = {{"token_embd.weight", {16, 32}}, {"output_norm.weight", {32}}};
  for (int layer = 0; layer < 4; ++layer) {
    const std::string at = "blk." + std::to_string(layer) + ".";
    add_hybrid_layer(all, at, {{"attn_norm.weight", {32}}, {"post_attention_norm.weight", {32}}});
    if (layer == 3) {
      add_hybrid_layer(all, at,
                       {{"attn_q.weight", {128, 32}},
                        {"attn_k.weight", {32, 32}},
                        {"attn_v.weight", {32, 32}},
                        {"attn_output.weight", {32, 64}},
                        {"attn_q_norm.weight", {32}},
                        {"attn_k_norm.weight", {32}}});
    } else {
      add_hybrid_layer(all, at,
                       {{"attn_qkv.weight", {64 + width, 32}},
                        {"attn_gate.weight", {width, 32}},
                        {"ssm_beta.weight", {values, 32}},
                        {"ssm_alpha.weight", {values, 32}},
                        {"ssm_conv1d.weight", {64 + width, 4}},
                        {"ssm_dt.bias", {values}},
                        {"ssm_a", {values}},
                        {"ssm_norm.weight", {16}},
                        {"ssm_out.weight", {32, width}}});
    }
    if (shape.is_mixture) {
      add_hybrid_layer(all, at,
                       {{"ffn_gate_inp.weight", {4, 32}},
                        {"ffn_gate_exps.weight", {4, 16, 32}},
                        {"ffn_up_exps.weight", {4, 16, 32}},
                        {"ffn_down_exps.weight", {4, 32, 16}},
                        {"ffn_gate_inp_shexp.weight", {1, 32}},
                        {"ffn_gate_shexp.weight", {24, 32}},
                        {"ffn_up_shexp.weight", {24, 32}},
                        {"ffn_down_shexp.weight", {32, 24}}});
    } else {
      add_hybrid_layer(all, at,
                       {{"ffn_gate.weight", {64, 32}},
                        {"ffn_up.weight", {64, 32}},
                        {"ffn_down.weight", {32, 64}}});
    }
  }
  return all;
}

// `root` is "model.", or "model.language_model." in a checkpoint that also reads images.
inline std::vector<ShapedTensor> hybrid_checkpoint_tensors(const HybridShape& shape,
                                                           const std::string& root) {
  const std::uint64_t values = shape.value_head_count, width = 16 * values;
  std::vector<ShapedTensor> all = {{root + "embed_tokens.weight", {16, 32}},
                                   {root + "norm.weight", {32}}};
  for (int layer = 0; layer < 4; ++layer) {
    const std::string at = root + "layers." + std::to_string(layer) + ".";
    add_hybrid_layer(all, at,
                     {{"input_layernorm.weight", {32}}, {"post_attention_layernorm.weight", {32}}});
    if (layer == 3) {
      add_hybrid_layer(all, at + "self_attn.",
                       {{"q_proj.weight", {128, 32}},
                        {"k_proj.weight", {32, 32}},
                        {"v_proj.weight", {32, 32}},
                        {"o_proj.weight", {32, 64}},
                        {"q_norm.weight", {32}},
                        {"k_norm.weight", {32}}});
    } else {
      add_hybrid_layer(all, at + "linear_attn.",
                       {{"in_proj_qkv.weight", {64 + width, 32}},
                        {"in_proj_z.weight", {width, 32}},
                        {"in_proj_b.weight", {values, 32}},
                        {"in_proj_a.weight", {values, 32}},
                        {"conv1d.weight", {64 + width, 1, 4}},
                        {"dt_bias", {values}},
                        {"A_log", {values}},
                        {"norm.weight", {16}},
                        {"out_proj.weight", {32, width}}});
    }
    if (shape.is_mixture) {
      add_hybrid_layer(all, at + "mlp.",
                       {{"gate.weight", {4, 32}},
                        {"experts.gate_up_proj", {4, 32, 32}},
                        {"experts.down_proj", {4, 32, 16}},
                        {"shared_expert_gate.weight", {1, 32}},
                        {"shared_expert.gate_proj.weight", {24, 32}},
                        {"shared_expert.up_proj.weight", {24, 32}},
                        {"shared_expert.down_proj.weight", {32, 24}}});
    } else {
      add_hybrid_layer(all, at + "mlp.",
                       {{"gate_proj.weight", {64, 32}},
                        {"up_proj.weight", {64, 32}},
                        {"down_proj.weight", {32, 64}}});
    }
  }
  return all;
}

// Between -1 and 1, and other ones for each tensor.
inline std::string hybrid_bytes(const ShapedTensor& tensor) {
  std::size_t count = 1;
  for (const std::uint64_t each : tensor.dimensions) count *= each;
  std::vector<float> numbers(count);
  std::size_t seed = 0;
  for (const char each : tensor.name) seed = (seed * 31 + static_cast<unsigned char>(each)) % 1009;
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = (static_cast<float>((seed + 37 * i) % 255) - 127.0f) / 128.0f;
  }
  return {reinterpret_cast<const char*>(numbers.data()), count * sizeof(float)};
}

inline void add_hybrid_tensor(GgufBuilder& builder, const ShapedTensor& tensor) {
  builder.add_tensor(tensor.name, {tensor.dimensions.rbegin(), tensor.dimensions.rend()}, 0,
                     hybrid_bytes(tensor));
}

// The keys with a number, without the architecture before them.
inline std::map<std::string, std::uint32_t> hybrid_keys(const HybridShape& shape) {
  std::map<std::string, std::uint32_t> keys = {{"context_length", 128},
                                               {"embedding_length", 32},
                                               {"block_count", 4},
                                               {"attention.head_count", 2},
                                               {"attention.head_count_kv", 1},
                                               {"attention.key_length", 32},
                                               {"attention.value_length", 32},
                                               {"rope.dimension_count", 8},
                                               {"full_attention_interval", 4},
                                               {"ssm.conv_kernel", 4},
                                               {"ssm.state_size", 16},
                                               {"ssm.group_count", 2},
                                               {"ssm.time_step_rank", shape.value_head_count},
                                               {"ssm.inner_size", 16 * shape.value_head_count}};
  if (shape.is_mixture) {
    keys.insert({{"expert_count", 4},
                 {"expert_used_count", 2},
                 {"expert_feed_forward_length", 16},
                 {"expert_shared_feed_forward_length", 24}});
  } else {
    keys["feed_forward_length"] = 64;
  }
  return keys;
}

inline nlohmann::json hybrid_config(const HybridShape& shape) {
  nlohmann::json config = {{"model_type", shape.is_mixture ? "qwen3_5_moe_text" : "qwen3_5_text"},
                           {"vocab_size", 16},
                           {"max_position_embeddings", 128},
                           {"hidden_size", 32},
                           {"num_hidden_layers", 4},
                           {"num_attention_heads", 2},
                           {"num_key_value_heads", 1},
                           {"head_dim", 32},
                           {"rms_norm_eps", 1e-6},
                           {"tie_word_embeddings", true},
                           {"linear_conv_kernel_dim", 4},
                           {"linear_key_head_dim", 16},
                           {"linear_value_head_dim", 16},
                           {"linear_num_key_heads", 2},
                           {"linear_num_value_heads", shape.value_head_count},
                           {"rope_parameters",
                            {{"rope_type", "default"},
                             {"rope_theta", 1e7},
                             {"partial_rotary_factor", 0.25},
                             {"mrope_section", {2, 1, 1}}}}};
  if (shape.is_mixture) {
    config["num_experts"] = 4;
    config["num_experts_per_tok"] = 2;
    config["moe_intermediate_size"] = 16;
    config["shared_expert_intermediate_size"] = 24;
  } else {
    config["intermediate_size"] = 64;
  }
  return config;
}

// The configuration of a checkpoint that also reads images.
inline nlohmann::json nested_config(const HybridShape& shape) {
  nlohmann::json text = hybrid_config(shape);
  text.erase("tie_word_embeddings");
  const char* type = shape.is_mixture ? "qwen3_5_moe" : "qwen3_5";
  const char* name =
      shape.is_mixture ? "Qwen3_5MoeForConditionalGeneration" : "Qwen3_5ForConditionalGeneration";
  return {{"model_type", type},
          {"architectures", {name}},
          {"tie_word_embeddings", true},
          {"text_config", text}};
}

// A folder that is removed with this object.
class HybridFolder {
 public:
  HybridFolder(const nlohmann::json& config, const std::vector<ShapedTensor>& tensors) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    std::ofstream(path_ + "/config.json") << config.dump();
    std::vector<NamedTensor> named;
    for (const ShapedTensor& each : tensors) {
      named.push_back({each.name, "F32", each.dimensions, hybrid_bytes(each)});
    }
    std::ofstream(path_ + "/model.safetensors", std::ios::binary) << safetensors_of(named);
  }
  HybridFolder(const HybridFolder&) = delete;
  HybridFolder& operator=(const HybridFolder&) = delete;
  ~HybridFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  Result<std::unique_ptr<inference::ModelFiles>> open() const {
    return inference::open_model(path_);
  }

 private:
  const std::string path_ = testing::TempDir() + "quire_hybrid_" + std::to_string(getpid());
};

}  // namespace quire::test
