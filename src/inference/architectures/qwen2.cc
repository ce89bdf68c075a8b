// Qwen 2 and 2.5: Llama with biases of queries, keys and values.
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"

namespace quire::inference {
namespace {

Result<void> read_qwen2(const ConfigFile& file, ModelSpec& spec) {
  TRY(read_shape(file.members, {}, spec));
  TRY(read_switches(file.members, spec));
  for_each_attention(spec, [](AttentionSpec& attention) { attention.has_qkv_bias = true; });
  return read_qwen_windows(file.members, spec);
}

}  // namespace

const Architecture kQwen2{.name = "qwen2", .has_qkv_bias = true};
const ConfigType kQwen2Config{"qwen2", "Qwen2ForCausalLM", &kQwen2, read_qwen2};

}  // namespace quire::inference
