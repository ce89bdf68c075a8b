// Llama, and Mistral, whose GGUF files say that they are Llama's.
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kKvHeadCountOfMistral = 8;

Result<void> read_llama(const ConfigFile& file, ModelSpec& spec) {
  const JsonObject& config = file.members;
  TRY(read_shape(config, {}, spec));
  if (TRY(config.find_bool("mlp_bias")).value_or(false)) {
    return not_supported(config, "mlp_bias is not supported");
  }
  TRY(read_switches(config, spec));
  return read_attention_bias(config, spec);
}

// There is a window in every layer, unless sliding_window is null.
Result<void> read_mistral(const ConfigFile& file, ModelSpec& spec) {
  const JsonObject& config = file.members;
  TRY(read_shape(config, {.kv_head_count = kKvHeadCountOfMistral}, spec));
  TRY(read_switches(config, spec));
  const std::optional<std::uint32_t> window = TRY(find_window(config));
  const auto is_sliding = TRY(find_sliding_layers(config, spec));
  if (!window) return {};
  const std::vector<bool> all(spec.layer_count(), true);
  // Mistral's own code would apply the window to layers of full attention.
  if (is_sliding && *is_sliding != all) {
    return not_supported(config, "layer_types has full_attention beside a sliding_window");
  }
  return set_windows(config, window, all, spec);
}

}  // namespace

const Architecture kLlama{.name = "llama", .has_interleaved_rows = true};
const ConfigType kLlamaConfig{"llama", "LlamaForCausalLM", &kLlama, read_llama};
const ConfigType kMistralConfig{"mistral", "MistralForCausalLM", &kLlama, read_mistral};

}  // namespace quire::inference
