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
  Json json = TRY(parse_json(text, where));
  if (!json.is_object()) return Error(ErrorCode::Corrupted, where + " is no JSON object");
  return json;
}

Result<std::string> read_architecture(const JsonObject& config) {
  const std::string type = TRY(config.text("model_type"));
  if (type == "mistral" || type == "llama") return std::string("llama");
  if (type == "qwen2" || type == "qwen3") return type;
  return not_supported(config, "model_type is " + in_quotes(type) +
                                   "; llama, mistral, qwen2 and qwen3 are supported");
}

Result<void> read_shape(const JsonObject& config, ModelSpec& spec) {
  spec.vocabulary_size = TRY(config.u32("vocab_size"));
  spec.context_length = TRY(config.u32("max_position_embeddings"));
  spec.embedding_width = TRY(config.u32("hidden_size"));
  spec.layer_count = TRY(config.u32("num_hidden_layers"));
  spec.feed_forward_width = TRY(config.u32("intermediate_size"));
  spec.head_count = TRY(config.u32("num_attention_heads"));
  spec.kv_head_count = TRY(config.find_u32("num_key_value_heads")).value_or(spec.head_count);
  spec.rms_epsilon = narrowed(TRY(config.real("rms_norm_eps")));
  if (spec.head_count == 0) {
    return Error(ErrorCode::Corrupted, config.where() + ": \"num_attention_heads\" is 0");
  }
  const std::uint32_t even_split = spec.embedding_width / spec.head_count;
  spec.head_dim = TRY(config.find_u32("head_dim")).value_or(even_split);
  return {};
}

Result<void> read_switches(const JsonObject& config, ModelSpec& spec) {
  const std::string activation = TRY(config.find_text("hidden_act")).value_or("silu");
  if (activation != "silu") {
    return not_supported(config, "hidden_act is " + in_quotes(activation) + "; silu is supported");
  }
  if (TRY(config.find_bool("mlp_bias")).value_or(false)) {
    return not_supported(config, "mlp_bias is not supported");
  }
  const bool is_qwen2 = spec.architecture == "qwen2";
  const bool has_bias = TRY(config.find_bool("attention_bias")).value_or(is_qwen2);
  spec.has_qkv_bias = has_bias;
  spec.has_attention_output_bias = has_bias && !is_qwen2;
  spec.has_qk_norm = spec.architecture == "qwen3";
  spec.tied_embeddings = TRY(config.find_bool("tie_word_embeddings")).value_or(false);
  return {};
}

// Qwen's files carry a window that use_sliding_window switches off, and per-layer kinds.
Result<void> read_window(const JsonObject& config, ModelSpec& spec) {
  const bool is_qwen = spec.architecture != "llama";
  if (!TRY(config.find_bool("use_sliding_window")).value_or(!is_qwen)) return {};
  spec.sliding_window = TRY(config.find_u32("sliding_window")).value_or(0);
  const Json* kinds = config.find("layer_types");
  if (spec.sliding_window == 0 || kinds == nullptr) {
    if (spec.sliding_window == 0 || !is_qwen) return {};
    const std::uint32_t full_layers = TRY(config.find_u32("max_window_layers")).value_or(0);
    if (full_layers == 0) return {};
    if (full_layers >= spec.layer_count) {
      spec.sliding_window = 0;
      return {};
    }
    return not_supported(config, "a sliding window in some layers only is not supported");
  }
  std::size_t sliding_count = 0;
  for (const Json& kind : *kinds) sliding_count += kind == "sliding_attention" ? 1 : 0;
  if (sliding_count == 0) spec.sliding_window = 0;
  if (sliding_count != 0 && sliding_count != kinds->size()) {
    return not_supported(config, "a sliding window in some layers only is not supported");
  }
  return {};
}

Result<void> read_llama3(const JsonObject& rope, ModelSpec& spec) {
  Llama3Scaling scaling;
  scaling.factor = TRY(rope.real("factor"));
  scaling.low_frequency_factor = TRY(rope.real("low_freq_factor"));
  scaling.high_frequency_factor = TRY(rope.real("high_freq_factor"));
  scaling.original_context_length = TRY(rope.real("original_max_position_embeddings"));
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

Result<void> read_rope(const JsonObject& config, ModelSpec& spec) {
  std::optional<JsonObject> rope;
  if (auto parameters = TRY(config.find_object("rope_parameters"))) rope.emplace(*parameters);
  if (auto scaling = TRY(config.find_object("rope_scaling")); !rope && scaling) {
    rope.emplace(*scaling);
  }
  std::optional<double> theta = TRY(config.find_real("rope_theta"));
  if (rope && !theta) theta = TRY(rope->find_real("rope_theta"));
  spec.rope.theta = theta.value_or(10000.0);
  const double partial = TRY(config.find_real("partial_rotary_factor")).value_or(1.0);
  if (partial != 1.0) return not_supported(config, "partial_rotary_factor is not supported");
  if (!rope) return {};
  std::optional<std::string> kind = TRY(rope->find_text("rope_type"));
  if (!kind) kind = TRY(rope->find_text("type"));
  if (!kind || *kind == "default") return {};
  if (*kind == "llama3") return read_llama3(*rope, spec);
  if (*kind == "linear") {
    spec.rope.factors.assign(spec.head_dim / 2, narrowed(TRY(rope->real("factor"))));
    return {};
  }
  return not_supported(
      *rope, "rope_type is " + in_quotes(*kind) + "; default, linear and llama3 are supported");
}

// eos_token_id is a number in some files and a list in others.
Result<void> add_ids(const JsonObject& object, const char* key, std::vector<std::uint32_t>& ids) {
  const Json* value = object.find(key);
  if (value == nullptr) return {};
  const auto wanted = [&](const Json& each) -> Result<std::uint32_t> {
    if (each.is_number_unsigned() && each.get<std::uint64_t>() < (1u << 31)) {
      return each.get<std::uint32_t>();
    }
    return Error(ErrorCode::Corrupted, object.where() + ": \"" + key + "\" is no token id");
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
  spec.architecture = TRY(read_architecture(config));
  TRY(read_shape(config, spec));
  TRY(read_switches(config, spec));
  TRY(read_window(config, spec));
  TRY(check(config, spec));  // Before anything is sized by it.
  TRY(read_rope(config, spec));
  TRY(read_special_tokens(config, texts, spec));
  TRY(check(config, spec));
  return spec;
}

}  // namespace quire::inference
