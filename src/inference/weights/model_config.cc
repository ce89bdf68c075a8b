#include "inference/weights/model_config.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/utf8.h"
#include "inference/weights/byte_source.h"
#include "inference/weights/strict_json.h"

namespace quire::inference {
namespace {

Error not_supported(const JsonObject& config, const std::string& what) {
  return Error(ErrorCode::NotSupported, config.where() + ": " + what);
}

Result<Json> parse_object(const std::string& text, const std::string& where) {
  if (text.empty()) return Error(ErrorCode::Corrupted, where + " is empty");
  Json json = TRY(parse_json(text, where));
  if (!json.is_object()) {
    return Error(ErrorCode::Corrupted, where + " is not a JSON object");
  }
  return json;
}

// The four configurations of transformers that this body computes. Each reads some members and
// ignores the rest, such as a sliding_window that an older version of a file left.
enum class Family : std::uint8_t { Llama, Mistral, Qwen2, Qwen3 };

// Values of transformers' configuration classes where config.json has none.
constexpr std::uint32_t kHeadDimOfQwen3 = 128;
constexpr std::uint32_t kKvHeadCountOfMistral = 8;
constexpr std::uint32_t kSlidingWindow = 4096;
constexpr std::uint32_t kMaxWindowLayers = 28;

// A model of a known type may be another than one that goes on with a text: one that embeds,
// judges or drafts (LlamaModel, Qwen2ForRewardModel, LlamaForCausalLMEagle3).
Result<void> check_architectures(const JsonObject& config) {
  const Json* given = config.find("architectures");
  if (given == nullptr || !given->is_array() || given->empty()) return {};
  const auto goes_on = [](const Json& each) {
    return each.is_string() && each.get_ref<const std::string&>().ends_with("ForCausalLM");
  };
  if (std::ranges::any_of(*given, goes_on)) return {};
  return not_supported(config, "architectures is " + printable(dump_json(*given)) +
                                   "; LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM and "
                                   "Qwen3ForCausalLM are supported");
}

Result<Family> read_family(const JsonObject& config) {
  const std::string type = TRY(config.text("model_type"));
  if (type == "llama") return Family::Llama;
  if (type == "mistral") return Family::Mistral;
  if (type == "qwen2") return Family::Qwen2;
  if (type == "qwen3") return Family::Qwen3;
  return not_supported(config, "model_type is " + in_quotes(type) +
                                   "; llama, mistral, qwen2 and qwen3 are supported");
}

const char* architecture_of(Family family) {
  if (family == Family::Qwen2) return "qwen2";
  return family == Family::Qwen3 ? "qwen3" : "llama";
}

// The default if config.json has no head_dim.
std::uint32_t default_head_dim(Family family, const ModelSpec& spec, std::uint32_t norm_width) {
  if (family == Family::Qwen3) return norm_width != 0 ? norm_width : kHeadDimOfQwen3;
  return spec.embedding_width / spec.head_count;
}

Result<void> read_shape(const JsonObject& config, Family family, std::uint32_t norm_width,
                        ModelSpec& spec) {
  spec.vocabulary_size = TRY(config.u32("vocab_size"));
  spec.context_length = TRY(config.u32("max_position_embeddings"));
  spec.embedding_width = TRY(config.u32("hidden_size"));
  spec.layer_count = TRY(config.u32("num_hidden_layers"));
  spec.feed_forward_width = TRY(config.u32("intermediate_size"));
  spec.head_count = TRY(config.u32("num_attention_heads"));
  const bool has_kv_heads = config.has("num_key_value_heads") || family != Family::Mistral;
  spec.kv_head_count = TRY(config.find_u32("num_key_value_heads"))
                           .value_or(has_kv_heads ? spec.head_count : kKvHeadCountOfMistral);
  spec.rms_epsilon = narrowed(TRY(config.real("rms_norm_eps")));
  if (spec.head_count == 0) {
    return Error(ErrorCode::Corrupted, config.where() + ": \"num_attention_heads\" is 0");
  }
  spec.head_dim =
      TRY(config.find_u32("head_dim")).value_or(default_head_dim(family, spec, norm_width));
  return {};
}

Result<void> read_switches(const JsonObject& config, Family family, ModelSpec& spec) {
  const std::string activation = TRY(config.find_text("hidden_act")).value_or("silu");
  if (activation != "silu" && activation != "swish") {  // One function under two names.
    return not_supported(config, "hidden_act is " + in_quotes(activation) + "; silu is supported");
  }
  if (family == Family::Llama && TRY(config.find_bool("mlp_bias")).value_or(false)) {
    return not_supported(config, "mlp_bias is not supported");
  }
  if (auto quantized = TRY(config.find_object("quantization_config"))) {
    const std::string method = TRY(quantized->find_text("quant_method")).value_or("none named");
    return not_supported(config, "quantization_config has the quant_method " + in_quotes(method) +
                                     "; F32, F16 and BF16 weights are read, and quantized ones "
                                     "from GGUF files");
  }
  const bool reads_bias = family == Family::Llama || family == Family::Qwen3;
  const bool has_bias = reads_bias && TRY(config.find_bool("attention_bias")).value_or(false);
  spec.has_qkv_bias = has_bias || family == Family::Qwen2;
  spec.has_attention_output_bias = has_bias;
  spec.has_qk_norm = family == Family::Qwen3;
  spec.tied_embeddings = TRY(config.find_bool("tie_word_embeddings")).value_or(false);
  return {};
}

Error mixed_windows(const JsonObject& config) {
  return not_supported(config, "a sliding window in some layers only is not supported");
}

// How many of "layer_types" are sliding_attention; nothing where the member is missing.
Result<std::optional<std::uint32_t>> sliding_layers(const JsonObject& config,
                                                    const ModelSpec& spec) {
  const Json* kinds = config.find("layer_types");
  if (kinds == nullptr) return std::optional<std::uint32_t>();
  if (!kinds->is_array() || kinds->size() != spec.layer_count) {
    return Error(ErrorCode::Corrupted, config.where() + ": \"layer_types\" is not a list of " +
                                           std::to_string(spec.layer_count) + " layers");
  }
  std::uint32_t sliding_count = 0;
  for (const Json& kind : *kinds) {
    if (kind == "sliding_attention") {
      ++sliding_count;
    } else if (kind != "full_attention") {
      return not_supported(config, "layer_types has " + in_quotes(dump_json(kind)) +
                                       "; full_attention and sliding_attention are supported");
    }
  }
  return std::optional(sliding_count);
}

// The window that applies to every layer; 0 for none.
Result<std::uint32_t> window_of_all(const JsonObject& config, std::optional<std::uint32_t> window,
                                    std::uint32_t sliding_count, const ModelSpec& spec) {
  if (sliding_count == 0) return 0u;
  if (sliding_count != spec.layer_count) return mixed_windows(config);
  if (window && *window != 0) return *window;
  return Error(ErrorCode::Corrupted,
               config.where() +
                   ": layers attend through a sliding window, and \"sliding_window\" " +
                   (window ? "is 0" : "gives no width or is switched off"));
}

// llama has no window. Mistral has one in every layer, unless sliding_window is null. Qwen has one
// where use_sliding_window is true: in the layers from max_window_layers on, or by layer_types.
Result<void> read_window(const JsonObject& config, Family family, ModelSpec& spec) {
  if (family == Family::Llama) return {};
  std::optional<std::uint32_t> window = TRY(config.find_u32("sliding_window"));
  if (!window && !config.has("sliding_window")) window = kSlidingWindow;
  const bool is_qwen = family != Family::Mistral;
  if (is_qwen && !TRY(config.find_bool("use_sliding_window")).value_or(false)) window.reset();
  std::optional<std::uint32_t> sliding_count = TRY(sliding_layers(config, spec));
  if (!is_qwen && !window) return {};
  if (!sliding_count) {
    std::uint32_t full_count = 0;
    if (is_qwen) {
      full_count = TRY(config.find_u32("max_window_layers")).value_or(kMaxWindowLayers);
    }
    const bool slides = window.has_value() && full_count < spec.layer_count;
    sliding_count = slides ? spec.layer_count - full_count : 0;
  } else if (!is_qwen && *sliding_count == 0) {
    return mixed_windows(config);  // Mistral's own code would apply the window to these layers.
  }
  spec.sliding_window = TRY(window_of_all(config, window, *sliding_count, spec));
  return {};
}

Result<void> read_llama3(const JsonObject& rope, ModelSpec& spec) {
  Llama3Scaling scaling;
  scaling.factor = TRY(rope.real("factor"));
  scaling.low_frequency_factor = TRY(rope.real("low_freq_factor"));
  scaling.high_frequency_factor = TRY(rope.real("high_freq_factor"));
  scaling.original_context_length =
      TRY(rope.find_real("original_max_position_embeddings")).value_or(spec.context_length);
  if (!(scaling.factor >= 1.0 && scaling.low_frequency_factor > 0.0 &&
        scaling.high_frequency_factor > scaling.low_frequency_factor &&
        scaling.original_context_length >= 1.0)) {
    return Error(ErrorCode::Corrupted,
                 rope.where() +
                     ": llama3 scaling wants factor >= 1, 0 < low_freq_factor < "
                     "high_freq_factor and original_max_position_embeddings >= 1");
  }
  spec.rope.factors = llama3_factors(scaling, spec.rope.theta, spec.head_dim);
  return {};
}

// rope_scaling, the older name, wins where a file has both, as in transformers. Empty ones count as
// missing.
Result<std::optional<JsonObject>> find_rope(const JsonObject& config) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    std::optional<JsonObject> rope = TRY(config.find_object(key));
    if (!rope || rope->empty()) continue;
    for (const auto& [name, value] : rope->members()) {
      if (!value.is_object()) continue;
      return not_supported(*rope, "RoPE of its own for " + in_quotes(name) + " is not supported");
    }
    return rope;
  }
  return std::optional<JsonObject>();
}

Result<void> read_scaling(const JsonObject& rope, ModelSpec& spec) {
  std::optional<std::string> kind = TRY(rope.find_text("rope_type"));
  if (!kind) kind = TRY(rope.find_text("type"));
  if (!kind) {
    // Some versions of transformers ignore such a factor and others fail.
    if (TRY(rope.find_real("factor")).value_or(1.0) == 1.0) return {};
    return not_supported(rope, "a factor without a rope_type is not supported; name the rope_type");
  }
  if (*kind == "default") return {};
  if (*kind == "llama3") return read_llama3(rope, spec);
  if (*kind == "linear") {
    spec.rope.factors.assign(spec.head_dim / 2, narrowed(TRY(rope.real("factor"))));
    return {};
  }
  return not_supported(
      rope, "rope_type is " + in_quotes(*kind) + "; default, linear and llama3 are supported");
}

Result<void> read_rope(const JsonObject& config, ModelSpec& spec) {
  const std::optional<JsonObject> rope = TRY(find_rope(config));
  std::optional<double> theta;
  if (rope) theta = TRY(rope->find_real("rope_theta"));
  if (!theta) theta = TRY(config.find_real("rope_theta"));
  spec.rope.theta = theta.value_or(10000.0);
  if (TRY(config.find_real("partial_rotary_factor")).value_or(1.0) != 1.0) {
    return not_supported(config, "partial_rotary_factor is not supported");
  }
  if (!rope) return {};
  if (TRY(rope->find_real("partial_rotary_factor")).value_or(1.0) != 1.0) {
    return not_supported(*rope, "partial_rotary_factor is not supported");
  }
  return read_scaling(*rope, spec);
}

// Adds the ids of eos_token_id, which is a number in some files and a list in other files.
Result<void> add_ids(const JsonObject& object, const char* key, std::vector<std::uint32_t>& ids) {
  const Json* value = object.find(key);
  if (value == nullptr) return {};
  const auto wanted = [&](const Json& each) -> Result<std::uint32_t> {
    if (each.is_number_unsigned() && each.get<std::uint64_t>() < (1u << 31)) {
      return each.get<std::uint32_t>();
    }
    return Error(ErrorCode::Corrupted, object.where() + ": \"" + key +
                                           "\" is not a token id: " + printable(dump_json(each)));
  };
  if (!value->is_array()) {
    ids.push_back(TRY(wanted(*value)));
    return {};
  }
  for (const Json& each : *value) ids.push_back(TRY(wanted(each)));
  return {};
}

Result<void> read_special_tokens(const JsonObject& config, const ConfigTexts& texts,
                                 ModelSpec& spec) {
  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> ends;
  TRY(add_ids(config, "bos_token_id", begins));
  TRY(add_ids(config, "eos_token_id", ends));
  if (!texts.generation_config.empty()) {
    const std::string where = texts.folder + "/generation_config.json";
    const Json json = TRY(parse_object(texts.generation_config, where));
    TRY(add_ids(JsonObject(json, where), "bos_token_id", begins));
    TRY(add_ids(JsonObject(json, where), "eos_token_id", ends));
  }
  if (!texts.tokenizer_config.empty()) {
    const std::string where = texts.folder + "/tokenizer_config.json";
    const Json json = TRY(parse_object(texts.tokenizer_config, where));
    spec.add_bos = TRY(JsonObject(json, where).find_bool("add_bos_token"));
  }
  if (!begins.empty()) spec.bos_id = static_cast<std::int32_t>(begins.front());
  if (!ends.empty()) spec.eos_id = static_cast<std::int32_t>(ends.front());
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (const std::uint32_t id : ends) spec.stop_ids.push_back(TokenId{id});
  return {};
}

Result<void> check(const JsonObject& config, const ModelSpec& spec) {
  Result<void> valid = spec.validate();
  if (!valid.ok()) return std::move(valid).take_error().while_(config.where());
  return {};
}

}  // namespace

Result<ModelSpec> parse_model_config(const ConfigTexts& texts) {
  const std::string where = texts.folder + "/config.json";
  const Json json = TRY(parse_object(texts.config, where));
  const JsonObject config(json, where);
  ModelSpec spec;
  spec.name = std::filesystem::path(texts.folder).filename().string();
  const Family family = TRY(read_family(config));
  TRY(check_architectures(config));
  spec.architecture = architecture_of(family);
  TRY(read_shape(config, family, texts.norm_width, spec));
  TRY(read_switches(config, family, spec));
  TRY(read_window(config, family, spec));
  TRY(check(config, spec));  // Before anything is sized by it.
  TRY(read_rope(config, spec));
  TRY(read_special_tokens(config, texts, spec));
  TRY(check(config, spec));
  return spec;
}

}  // namespace quire::inference
