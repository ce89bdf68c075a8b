// Qwen 3: Llama with norms of queries and keys, and a head size of its own.
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kHeadDim = 128;  // Where neither config.json nor the weights give it.

Result<void> read_qwen3(const ConfigFile& file, ModelSpec& spec) {
  const std::uint32_t head_dim = file.norm_width != 0 ? file.norm_width : kHeadDim;
  TRY(read_shape(file.members, {.head_dim = head_dim}, spec));
  TRY(read_switches(file.members, spec));
  TRY(read_attention_bias(file.members, spec));
  for_each_attention(spec, [](AttentionSpec& attention) { attention.qk_norm = QkNorm::EachHead; });
  return read_qwen_windows(file.members, spec);
}

}  // namespace

const Architecture kQwen3{.name = "qwen3", .qk_norm = QkNorm::EachHead};
const ConfigType kQwen3Config{"qwen3", "Qwen3ForCausalLM", &kQwen3, read_qwen3};

}  // namespace quire::inference
