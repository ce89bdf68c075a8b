// Qwen 2 with a mixture of experts, one of which is shared by all tokens.
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"
#include "inference/architectures/expert_members.h"

namespace quire::inference {
namespace {

Result<void> complete_qwen2moe(const GgufMetadata& metadata, ModelSpec& spec) {
  return read_gguf_experts(metadata, {.has_shared = true}, spec);
}

Result<void> read_qwen2moe(const ConfigFile& file, ModelSpec& spec) {
  TRY(read_shape(file.members, {.kv_head_count = 16}, spec));
  TRY(read_switches(file.members, spec));
  const bool has_bias = TRY(file.members.find_bool("qkv_bias")).value_or(true);
  for_each_attention(spec, [&](AttentionSpec& attention) { attention.has_qkv_bias = has_bias; });
  TRY(read_qwen_windows(file.members, spec));
  return read_config_experts(
      file.members, {.expert_count = 60, .used_count = 4, .width = 1408, .shared_width = 5632},
      spec);
}

}  // namespace

const Architecture kQwen2Moe{
    .name = "qwen2moe", .has_qkv_bias = true, .is_mixture = true, .complete = complete_qwen2moe};
const ConfigType kQwen2MoeConfig{"qwen2_moe", "Qwen2MoeForCausalLM", &kQwen2Moe, read_qwen2moe};

}  // namespace quire::inference
