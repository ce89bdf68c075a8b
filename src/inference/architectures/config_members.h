#pragma once
// Members of config.json that several families read alike, as transformers reads them.
//
// Errors   Corrupted for members that contradict each other, NotSupported for what no layer of this
//          build computes; each names the member.
#include <cstdint>
#include <optional>
#include <vector>

#include "inference/architectures/architecture.h"

namespace quire::inference {

Error not_supported(const JsonObject& config, const std::string& what);

// The values of a configuration class where config.json has none.
struct ShapeDefaults {
  std::uint32_t kv_head_count = 0;  // 0: as many as heads, as for a null.
  std::uint32_t head_dim = 0;       // 0: an even share of the width.
  bool has_dense = true;            // False: files need no intermediate_size.
};
// The sizes of the model, and all its layers, with attention and a dense feed-forward part.
Result<void> read_shape(const JsonObject& config, const ShapeDefaults& defaults, ModelSpec& spec);

// quantization_config.
Result<void> refuse_quantized(const JsonObject& config);
// hidden_act, quantization_config and tie_word_embeddings.
Result<void> read_switches(const JsonObject& config, ModelSpec& spec);
// attention_bias: of queries, keys, values and the output.
Result<void> read_attention_bias(const JsonObject& config, ModelSpec& spec);

// A number of each layer. Nothing: the file has no such member. Numbers beyond the layers are
// passed over, as transformers does.
Result<std::optional<std::vector<std::uint32_t>>> find_numbers(const JsonObject& config,
                                                               const char* key,
                                                               std::uint32_t layer_count);

// ---- sliding windows ----

constexpr std::uint32_t kSlidingWindow = 4096;  // Where config.json has no sliding_window.

// sliding_window; nothing where the file gives null.
Result<std::optional<std::uint32_t>> find_window(const JsonObject& config);
// The layers that attend through a window, by layer_types. Nothing: the file has no such member.
Result<std::optional<std::vector<bool>>> find_sliding_layers(const JsonObject& config,
                                                             const ModelSpec& spec);
// Gives the window to these layers.
Result<void> set_windows(const JsonObject& config, std::optional<std::uint32_t> window,
                         const std::vector<bool>& is_sliding, ModelSpec& spec);
// As Qwen has them: where use_sliding_window is true, in the layers from max_window_layers on, or
// by layer_types.
Result<void> read_qwen_windows(const JsonObject& config, ModelSpec& spec);

// Changes each layer that attends.
template <typename Change>
void for_each_attention(ModelSpec& spec, const Change& change) {
  for (LayerSpec& layer : spec.layers) {
    if (AttentionSpec* attention = layer.attention()) change(*attention);
  }
}

}  // namespace quire::inference
