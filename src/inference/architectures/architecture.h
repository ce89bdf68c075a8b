#pragma once
// Architecture: what is particular to a family of models. Each has a file of its own in this
// folder, with the keys that its files have, the layers that they mean, and what is refused.
//
// A GGUF file names its architecture; its common keys are read by gguf_model.cc. A config.json
// names a model_type, and ConfigType says how its members are read.
//
// Thread   any; constant.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "inference/weights/gguf_file.h"
#include "inference/weights/model_spec.h"
#include "inference/weights/strict_json.h"

namespace quire::inference {

// Tensors of checkpoints that belong to a part of a model that is not served. They are left out.
struct UnservedPart {
  std::string_view prefix;  // Of the names of its tensors.
  std::string_view name;    // "vision tower"
};

inline constexpr std::string_view kDraftBlock = "block that drafts tokens";

struct Architecture {
  std::string_view name;  // general.architecture of a GGUF file, and ModelInfo::architecture.
  // GGUF files store the rows of turned heads for interleaved RoPE.
  bool has_interleaved_rows = false;
  // Tensors that each model of it has, and models of other families may have.
  bool has_qkv_bias = false;
  QkNorm qk_norm = QkNorm::None;
  bool is_mixture = false;  // Its layers have experts.
  // GGUF files may have blocks after the last layer that draft further tokens (nextn).
  bool has_draft_blocks = false;
  // Checkpoints store the weight w of an RMS norm that multiplies by 1 + w. GGUF has 1 + w.
  bool has_norms_around_one = false;
  // The name of FeedForwardNorm in GGUF; empty: as the role has it.
  std::string_view gguf_feed_forward_norm = {};
  std::span<const UnservedPart> unserved = {};  // In checkpoints.
  // Reads what GGUF files of it mean beyond the common keys. Null: they mean no more.
  Result<void> (*complete)(const GgufMetadata& metadata, ModelSpec& spec) = nullptr;
};

// The unserved part that the tensor of a checkpoint belongs to; empty: none.
std::string_view unserved_part(const Architecture& architecture, std::string_view tensor_name);

// A config.json, and what lies beside it.
struct ConfigFile {
  const JsonObject& members;
  std::uint32_t norm_width = 0;  // Of q_norm in the weights; 0: unknown.
};

struct ConfigType {
  std::string_view model_type;  // "mistral"
  std::string_view class_name;  // "MistralForCausalLM": of the model that goes on with a text.
  const Architecture* architecture = nullptr;
  // Reads the shape of the model and its layers.
  Result<void> (*read)(const ConfigFile& file, ModelSpec& spec) = nullptr;
  // The share of a head that RoPE turns, where the file has no partial_rotary_factor. 0: all of it,
  // and a file that says otherwise is refused.
  double partial_rotary_factor = 0.0;
  // The model_type of text_config, which has the members of a model that also takes images. Empty:
  // the members are not nested.
  std::string_view text_type = {};
};

std::span<const Architecture* const> architectures();
const Architecture* find_architecture(std::string_view name);  // Null: it is not supported.
std::span<const ConfigType* const> config_types();
const ConfigType* find_config_type(std::string_view model_type);  // Null: it is not supported.
// As texts: "llama, qwen2 and qwen3".
std::string architecture_names();
std::string config_type_names();
std::string config_class_names();

// ---- the families ----

extern const Architecture kLlama;
extern const ConfigType kLlamaConfig;
extern const ConfigType kMistralConfig;
extern const Architecture kQwen2;
extern const ConfigType kQwen2Config;
extern const Architecture kQwen3;
extern const ConfigType kQwen3Config;
extern const Architecture kQwen2Moe;
extern const ConfigType kQwen2MoeConfig;
extern const Architecture kQwen3Moe;
extern const ConfigType kQwen3MoeConfig;
extern const Architecture kQwen35;
extern const ConfigType kQwen35Config;
extern const ConfigType kQwen35TextConfig;
extern const Architecture kQwen35Moe;
extern const ConfigType kQwen35MoeConfig;
extern const ConfigType kQwen35MoeTextConfig;
extern const Architecture kOlmo2;
extern const ConfigType kOlmo2Config;
extern const Architecture kSmolLm3;
extern const ConfigType kSmolLm3Config;

}  // namespace quire::inference
