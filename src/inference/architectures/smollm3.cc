// SmolLM3: Llama, some of whose layers do not turn their heads (NoPE): each fourth, or by a list.
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"

namespace quire::inference {
namespace {

Result<void> complete_smollm3(const GgufMetadata&, ModelSpec& spec) {
  for (std::size_t i = 3; i < spec.layers.size(); i += 4) spec.layers[i].attention()->rope.reset();
  return {};
}

// no_rope_layers has 1 for layers with RoPE.
Result<void> read_smollm3(const ConfigFile& file, ModelSpec& spec) {
  const JsonObject& config = file.members;
  TRY(read_shape(config, {.kv_head_count = 4}, spec));
  TRY(read_switches(config, spec));
  if (!config.has("tie_word_embeddings")) spec.tied_embeddings = true;
  TRY(read_attention_bias(config, spec));
  const bool has_windows = TRY(config.find_bool("use_sliding_window")).value_or(false);
  if (has_windows && !config.has("layer_types"))
    return not_supported(config, "use_sliding_window wants layer_types");
  TRY(read_qwen_windows(config, spec));
  const auto interval = TRY(config.find_u32("no_rope_layer_interval")).value_or(4);
  if (interval == 0) return not_supported(config, "no_rope_layer_interval is 0");
  const auto turns = TRY(find_numbers(config, "no_rope_layers", spec.layer_count()));
  for (std::uint32_t i = 0; i < spec.layer_count(); ++i) {
    const bool is_turned = turns ? (*turns)[i] != 0 : (i + 1) % interval != 0;
    if (!is_turned) spec.layers[i].attention()->rope.reset();
  }
  return {};
}

}  // namespace

const Architecture kSmolLm3{
    .name = "smollm3", .has_interleaved_rows = true, .complete = complete_smollm3};
const ConfigType kSmolLm3Config{"smollm3", "SmolLM3ForCausalLM", &kSmolLm3, read_smollm3};

}  // namespace quire::inference
