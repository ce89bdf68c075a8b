#include "inference/architectures/config_members.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kMaxWindowLayers = 28;  // Where config.json has no max_window_layers.

}  // namespace

Error not_supported(const JsonObject& config, const std::string& what) {
  return Error(ErrorCode::NotSupported, config.where() + ": " + what);
}

Result<void> read_shape(const JsonObject& config, const ShapeDefaults& defaults, ModelSpec& spec) {
  spec.vocabulary_size = TRY(config.u32("vocab_size"));
  spec.context_length = TRY(config.u32("max_position_embeddings"));
  spec.embedding_width = TRY(config.u32("hidden_size"));
  const std::uint32_t layer_count = TRY(config.u32("num_hidden_layers"));
  DenseSpec dense;
  if (defaults.has_dense) dense.width = TRY(config.u32("intermediate_size"));
  AttentionSpec attention;
  attention.head_count = TRY(config.u32("num_attention_heads"));
  const bool is_default = defaults.kv_head_count != 0 && !config.has("num_key_value_heads");
  attention.kv_head_count =
      TRY(config.find_u32("num_key_value_heads"))
          .value_or(is_default ? defaults.kv_head_count : attention.head_count);
  spec.rms_epsilon = narrowed(TRY(config.real("rms_norm_eps")));
  if (attention.head_count == 0) {
    return Error(ErrorCode::Corrupted, config.where() + ": \"num_attention_heads\" is 0");
  }
  const std::uint32_t even_share = spec.embedding_width / attention.head_count;
  attention.head_dim = TRY(config.find_u32("head_dim"))
                           .value_or(defaults.head_dim != 0 ? defaults.head_dim : even_share);
  Result<void> checked = check_layer_count(layer_count);
  if (!checked.ok()) return std::move(checked).take_error().while_(config.where());
  spec.layers.assign(layer_count, {attention, dense});
  spec.ropes.resize(1);
  return {};
}

Result<void> refuse_quantized(const JsonObject& config) {
  const auto quantized = TRY(config.find_object("quantization_config"));
  if (!quantized) return {};
  const std::string method = TRY(quantized->find_text("quant_method")).value_or("none named");
  return not_supported(config, "quantization_config has the quant_method " + in_quotes(method) +
                                   "; F32, F16 and BF16 weights are read, and quantized ones "
                                   "from GGUF files");
}

Result<void> read_switches(const JsonObject& config, ModelSpec& spec) {
  const std::string activation = TRY(config.find_text("hidden_act")).value_or("silu");
  if (activation != "silu" && activation != "swish") {  // One function under two names.
    return not_supported(config, "hidden_act is " + in_quotes(activation) + "; silu is supported");
  }
  TRY(refuse_quantized(config));
  spec.tied_embeddings = TRY(config.find_bool("tie_word_embeddings")).value_or(false);
  return {};
}

Result<void> read_attention_bias(const JsonObject& config, ModelSpec& spec) {
  const bool has_bias = TRY(config.find_bool("attention_bias")).value_or(false);
  for_each_attention(spec, [&](AttentionSpec& attention) {
    attention.has_qkv_bias = has_bias;
    attention.has_output_bias = has_bias;
  });
  return {};
}

Result<std::optional<std::vector<std::uint32_t>>> find_numbers(const JsonObject& config,
                                                               const char* key,
                                                               std::uint32_t layer_count) {
  const Json* found = config.find(key);
  if (found == nullptr) return std::optional<std::vector<std::uint32_t>>();
  const auto is_number = [](const Json& each) { return each.is_number_unsigned(); };
  if (!found->is_array() || found->size() < layer_count ||
      !std::ranges::all_of(*found, is_number)) {
    return Error(ErrorCode::Corrupted, config.where() + ": " + in_quotes(key) +
                                           " is not a list of numbers for " +
                                           std::to_string(layer_count) + " layers");
  }
  return std::optional(found->get<std::vector<std::uint32_t>>());
}

// ---- sliding windows ----

Result<std::optional<std::uint32_t>> find_window(const JsonObject& config) {
  if (!config.has("sliding_window")) return std::optional(kSlidingWindow);
  return config.find_u32("sliding_window");
}

Result<std::optional<std::vector<bool>>> find_sliding_layers(const JsonObject& config,
                                                             const ModelSpec& spec) {
  const Json* kinds = config.find("layer_types");
  if (kinds == nullptr) return std::optional<std::vector<bool>>();
  if (!kinds->is_array() || kinds->size() != spec.layer_count()) {
    return Error(ErrorCode::Corrupted, config.where() + ": \"layer_types\" is not a list of " +
                                           std::to_string(spec.layer_count()) + " layers");
  }
  std::vector<bool> is_sliding;
  for (const Json& kind : *kinds) {
    is_sliding.push_back(kind == "sliding_attention");
    if (!is_sliding.back() && kind != "full_attention") {
      return not_supported(config, "layer_types has " + in_quotes(dump_json(kind)) +
                                       "; full_attention and sliding_attention are supported");
    }
  }
  return std::optional(std::move(is_sliding));
}

Result<void> set_windows(const JsonObject& config, std::optional<std::uint32_t> window,
                         const std::vector<bool>& is_sliding, ModelSpec& spec) {
  if (std::ranges::count(is_sliding, true) == 0) return {};
  if (!window || *window == 0) {
    return Error(ErrorCode::Corrupted,
                 config.where() +
                     ": layers attend through a sliding window, and \"sliding_window\" " +
                     (window ? "is 0" : "gives no width or is switched off"));
  }
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    AttentionSpec* attention = spec.layers[layer].attention();
    if (is_sliding[layer] && attention != nullptr) attention->sliding_window = *window;
  }
  return {};
}

Result<void> read_qwen_windows(const JsonObject& config, ModelSpec& spec) {
  std::optional<std::uint32_t> window = TRY(find_window(config));
  if (!TRY(config.find_bool("use_sliding_window")).value_or(false)) window.reset();
  std::optional<std::vector<bool>> is_sliding = TRY(find_sliding_layers(config, spec));
  if (!is_sliding) {
    const std::uint32_t full_count =
        TRY(config.find_u32("max_window_layers")).value_or(kMaxWindowLayers);
    is_sliding.emplace();
    for (std::uint32_t layer = 0; layer < spec.layer_count(); ++layer) {
      is_sliding->push_back(window.has_value() && layer >= full_count);
    }
  }
  return set_windows(config, window, *is_sliding, spec);
}

}  // namespace quire::inference
