// Qwen 3 with a mixture of experts: its layers, with experts in place of the dense part.
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"
#include "inference/architectures/expert_members.h"

namespace quire::inference {
namespace {

Result<void> complete_qwen3moe(const GgufMetadata& metadata, ModelSpec& spec) {
  return read_gguf_experts(metadata, {.is_renormalised = true}, spec);
}

Result<void> read_qwen3moe(const ConfigFile& file, ModelSpec& spec) {
  TRY(read_shape(file.members, {.kv_head_count = 4, .head_dim = file.norm_width}, spec));
  TRY(read_switches(file.members, spec));
  TRY(read_attention_bias(file.members, spec));
  for_each_attention(spec, [](AttentionSpec& attention) { attention.qk_norm = QkNorm::EachHead; });
  TRY(read_qwen_windows(file.members, spec));
  return read_config_experts(file.members, {.expert_count = 128, .used_count = 8, .width = 768},
                             spec);
}

}  // namespace

const Architecture kQwen3Moe{.name = "qwen3moe",
                             .qk_norm = QkNorm::EachHead,
                             .is_mixture = true,
                             .complete = complete_qwen3moe};
const ConfigType kQwen3MoeConfig{"qwen3_moe", "Qwen3MoeForCausalLM", &kQwen3Moe, read_qwen3moe};

}  // namespace quire::inference
