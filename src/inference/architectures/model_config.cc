#include "inference/architectures/model_config.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/utf8.h"
#include "inference/architectures/config_members.h"
#include "inference/weights/byte_source.h"
#include "inference/weights/strict_json.h"

namespace quire::inference {
namespace {

Result<Json> parse_object(const std::string& text, const std::string& where) {
  if (text.empty()) return Error(ErrorCode::Corrupted, where + " is empty");
  Json json = TRY(parse_json(text, where));
  if (!json.is_object()) {
    return Error(ErrorCode::Corrupted, where + " is not a JSON object");
  }
  return json;
}

// A model of a known type may be another than one that goes on with a text: one that embeds,
// judges or drafts (LlamaModel, Qwen2ForRewardModel, LlamaForCausalLMEagle3).
Result<void> check_architectures(const JsonObject& config, const ConfigType& type) {
  const Json* given = config.find("architectures");
  if (given == nullptr || !given->is_array() || given->empty()) return {};
  const auto goes_on = [&](const Json& each) {
    if (!each.is_string()) return false;
    const auto& name = each.get_ref<const std::string&>();
    return name.ends_with("ForCausalLM") || name == type.class_name;
  };
  if (std::ranges::any_of(*given, goes_on)) return {};
  return not_supported(config, "architectures is " + printable(dump_json(*given)) + "; " +
                                   config_class_names() + " are supported");
}

Result<const ConfigType*> read_type(const JsonObject& config) {
  const std::string type = TRY(config.text("model_type"));
  if (const ConfigType* found = find_config_type(type)) return found;
  return not_supported(
      config, "model_type is " + in_quotes(type) + "; " + config_type_names() + " are supported");
}

// The object with the members of the language model: config.json, or its text_config.
Result<JsonObject> language_members(const JsonObject& config, const ConfigType& type) {
  if (type.text_type.empty()) return config;
  auto text = TRY(config.find_object("text_config"));
  if (!text) return Error(ErrorCode::NotFound, config.where() + ": \"text_config\" is missing");
  const auto given = TRY(text->find_text("model_type"));
  if (!given || *given == type.text_type) return *std::move(text);
  return not_supported(*text, "model_type is " + in_quotes(*given) + "; " +
                                  in_quotes(type.text_type) + " is supported in a " +
                                  in_quotes(type.model_type));
}

// Members that lie beside text_config count for the language model, too.
Result<void> read_outer_switches(const JsonObject& config, ModelSpec& spec) {
  TRY(refuse_quantized(config));
  if (const auto tied = TRY(config.find_bool("tie_word_embeddings"))) spec.tied_embeddings = *tied;
  return {};
}

Result<void> read_llama3(const JsonObject& rope, std::uint32_t turned_dim, ModelSpec& spec) {
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
  RopeSpec& turned = spec.ropes.front();
  turned.factors = llama3_factors(scaling, turned.theta, turned_dim);
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

Result<void> read_scaling(const JsonObject& rope, std::uint32_t turned_dim, ModelSpec& spec) {
  std::optional<std::string> kind = TRY(rope.find_text("rope_type"));
  if (!kind) kind = TRY(rope.find_text("type"));
  if (!kind) {
    // Some versions of transformers ignore such a factor and others fail.
    if (TRY(rope.find_real("factor")).value_or(1.0) == 1.0) return {};
    return not_supported(rope, "a factor without a rope_type is not supported; name the rope_type");
  }
  if (*kind == "default") return {};
  if (*kind == "llama3") return read_llama3(rope, turned_dim, spec);
  if (*kind == "linear") {
    spec.ropes.front().factors.assign(turned_dim / 2, narrowed(TRY(rope.real("factor"))));
    return {};
  }
  return not_supported(
      rope, "rope_type is " + in_quotes(*kind) + "; default, linear and llama3 are supported");
}

// The member of `object`; nothing if it lacks it. It must be 1 for types without a default.
Result<std::optional<double>> find_rotary_factor(const JsonObject& object, const ConfigType& type) {
  const auto factor = TRY(object.find_real("partial_rotary_factor"));
  if (factor.value_or(1.0) != 1.0 && type.partial_rotary_factor == 0.0) {
    return not_supported(object, "partial_rotary_factor is not supported");
  }
  return factor;
}

// How many numbers of a head RoPE turns. As in transformers, `rope` comes before `config`.
Result<void> read_rotary_dim(const JsonObject& config, const std::optional<JsonObject>& rope,
                             const ConfigType& type, ModelSpec& spec) {
  std::optional<double> factor = TRY(find_rotary_factor(config, type));
  if (rope) {
    if (const auto nearer = TRY(find_rotary_factor(*rope, type))) factor = nearer;
  }
  if (!factor) factor = type.partial_rotary_factor;
  if (type.partial_rotary_factor == 0.0 || *factor == 1.0) return {};
  const double turned = *factor * first_attention(spec)->head_dim;
  if (!(turned >= 2.0 && *factor < 1.0)) {
    return Error(ErrorCode::Corrupted, config.where() + ": partial_rotary_factor is " +
                                           std::to_string(*factor) + ", which gives RoPE " +
                                           std::to_string(turned) + " numbers of a head of " +
                                           std::to_string(first_attention(spec)->head_dim));
  }
  for_each_attention(spec, [&](AttentionSpec& attention) {
    attention.rotary_dim = static_cast<std::uint32_t>(turned);
  });
  return {};
}

// One RoPE, of the layers that attend.
Result<void> read_rope(const JsonObject& config, const ConfigType& type, ModelSpec& spec) {
  const std::optional<JsonObject> rope = TRY(find_rope(config));
  std::optional<double> theta;
  if (rope) theta = TRY(rope->find_real("rope_theta"));
  if (!theta) theta = TRY(config.find_real("rope_theta"));
  spec.ropes.front().theta = theta.value_or(10000.0);
  TRY(read_rotary_dim(config, rope, type, spec));
  if (!rope) return {};
  return read_scaling(*rope, first_attention(spec)->turned_dim(), spec);
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

// `language` is text_config of a nested configuration, and otherwise `config` itself.
Result<void> read_special_tokens(const JsonObject& config, const JsonObject& language,
                                 const ConfigTexts& texts, ModelSpec& spec) {
  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> ends;
  for (const JsonObject* object : {&language, &config}) {
    TRY(add_ids(*object, "bos_token_id", begins));
    TRY(add_ids(*object, "eos_token_id", ends));
  }
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
  const ConfigType* type = TRY(read_type(config));
  TRY(check_architectures(config, *type));
  const JsonObject language = TRY(language_members(config, *type));
  spec.architecture = type->architecture->name;
  TRY(type->read({language, texts.norm_width}, spec));
  if (!type->text_type.empty()) TRY(read_outer_switches(config, spec));
  TRY(check(config, spec));  // Before anything is sized by it.
  TRY(read_rope(language, *type, spec));
  TRY(read_special_tokens(config, language, texts, spec));
  TRY(check(config, spec));
  return spec;
}

}  // namespace quire::inference
