// SmolLM3: Llama, some of whose layers do not turn their heads (NoPE).
#include "inference/architectures/architecture.h"
#include "inference/architectures/config_members.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kInterval = 4;  // Each fourth layer, where the file does not say.

void leave_out_rope(std::uint32_t interval, ModelSpec& spec) {
  for (std::uint32_t layer = interval - 1; layer < spec.layer_count(); layer += interval) {
    spec.layers[layer].attention()->rope.reset();
  }
}

// no_rope_layers has 1 for layers with RoPE.
Result<void> read_smollm3(const ConfigFile& file, ModelSpec& spec) {
  const JsonObject& config = file.members;
  TRY(read_shape(config, {.kv_head_count = 4}, spec));
  TRY(read_switches(config, spec));
  if (!config.has("tie_word_embeddings")) spec.tied_embeddings = true;
  TRY(read_attention_bias(config, spec));
  TRY(read_qwen_windows(config, spec));
  const auto turns = TRY(find_numbers(config, "no_rope_layers", spec.layer_count()));
  if (!turns) {
    const auto interval = TRY(config.find_u32("no_rope_layer_interval")).value_or(kInterval);
    if (interval == 0) return not_supported(config, "no_rope_layer_interval is 0");
    leave_out_rope(interval, spec);
    return {};
  }
  for (std::uint32_t layer = 0; layer < spec.layer_count(); ++layer) {
    if ((*turns)[layer] == 0) spec.layers[layer].attention()->rope.reset();
  }
  return {};
}

}  // namespace

const Architecture kSmolLm3{.name = "smollm3",
                            .has_interleaved_rows = true,
                            .complete = [](ModelSpec& spec) { leave_out_rope(kInterval, spec); }};
const ConfigType kSmolLm3Config{"smollm3", "SmolLM3ForCausalLM", &kSmolLm3, read_smollm3};

}  // namespace quire::inference
