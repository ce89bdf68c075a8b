// Qwen 3.5 and 3.6 with a mixture of experts in each layer, one of which is shared by all tokens.
#include "inference/architectures/architecture.h"
#include "inference/architectures/expert_members.h"
#include "inference/architectures/hybrid_members.h"

namespace quire::inference {
namespace {

Result<void> complete_qwen35moe(const GgufMetadata& metadata, ModelSpec& spec) {
  TRY(read_gguf_hybrid(metadata, spec));
  return read_gguf_experts(metadata, {.is_renormalised = true, .has_shared = true}, spec);
}

// In transformers, each layer has experts, and the chosen weights are always divided by their sum.
Result<void> read_qwen35moe(const ConfigFile& file, ModelSpec& spec) {
  TRY(read_config_hybrid(file.members, {.kv_head_count = 2, .head_dim = 256, .has_dense = false},
                         spec));
  ExpertsSpec experts = TRY(config_experts(
      file.members, {.expert_count = 256, .used_count = 8, .width = 512, .shared_width = 512}));
  experts.is_renormalised = true;
  for (LayerSpec& layer : spec.layers) layer.feed_forward = experts;
  return {};
}

}  // namespace

const Architecture kQwen35Moe{.name = "qwen35moe",
                              .qk_norm = QkNorm::EachHead,
                              .is_mixture = true,
                              .has_draft_blocks = true,
                              .has_norms_around_one = true,
                              .gguf_feed_forward_norm = "post_attention_norm.weight",
                              .unserved = kHybridUnservedParts,
                              .complete = complete_qwen35moe};
const ConfigType kQwen35MoeConfig{.model_type = "qwen3_5_moe",
                                  .class_name = "Qwen3_5MoeForConditionalGeneration",
                                  .architecture = &kQwen35Moe,
                                  .read = read_qwen35moe,
                                  .partial_rotary_factor = kHybridPartialRotaryFactor,
                                  .text_type = "qwen3_5_moe_text"};
const ConfigType kQwen35MoeTextConfig{.model_type = "qwen3_5_moe_text",
                                      .class_name = "Qwen3_5MoeForCausalLM",
                                      .architecture = &kQwen35Moe,
                                      .read = read_qwen35moe,
                                      .partial_rotary_factor = kHybridPartialRotaryFactor};

}  // namespace quire::inference
