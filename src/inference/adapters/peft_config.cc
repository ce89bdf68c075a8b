#include "inference/adapters/peft_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "inference/weights/strict_json.h"

namespace quire::inference {
namespace {

// Read below, or without meaning for what an adapter computes.
constexpr std::string_view kKnownMembers[] = {"alora_invocation_tokens",
                                              "alpha_pattern",
                                              "auto_mapping",
                                              "base_model_name_or_path",
                                              "bias",
                                              "corda_config",
                                              "eva_config",
                                              "exclude_modules",
                                              "fan_in_fan_out",
                                              "inference_mode",
                                              "init_lora_weights",
                                              "layers_pattern",
                                              "layers_to_transform",
                                              "loftq_config",
                                              "lora_alpha",
                                              "lora_dropout",
                                              "lora_ga_config",
                                              "megatron_config",
                                              "megatron_core",
                                              "peft_type",
                                              "peft_version",
                                              "qalora_group_size",
                                              "r",
                                              "rank_pattern",
                                              "revision",
                                              "runtime_config",
                                              "target_modules",
                                              "task_type",
                                              "use_rslora"};

struct RefusedMember {
  std::string_view member;
  const char* what;
};
constexpr RefusedMember kRefusedMembers[] = {
    {"use_dora", "DoRA"},
    {"use_qalora", "QALoRA"},
    {"use_bdlora", "BD-LoRA"},
    {"lora_bias", "biases of LoRA matrices"},
    {"modules_to_save", "whole modules beside the LoRA matrices"},
    {"layer_replication", "layers that are used several times"},
    {"target_parameters", "LoRA of parameters that belong to no linear module"},
    {"trainable_token_indices", "trained rows of the embeddings"},
    {"ensure_weight_tying", "LoRA of the output matrix through tied embeddings"},
    {"arrow_config", "Arrow routing"},
    {"kasa_config", "KaSA"},
    {"monteclora_config", "MonteCLoRA"},
    {"velora_config", "VeLoRA"}};

// The initializations that leave the base as it was before the training.
constexpr std::string_view kPlainInits[] = {"gaussian", "eva", "orthogonal"};

constexpr std::size_t kLayersMax = 65536;

bool is_nothing(const Json& value) {
  return value.is_null() || value == false ||
         ((value.is_array() || value.is_object() || value.is_string()) && value.empty());
}

Error not_supported(const std::string& name, std::string_view member, const Json& value,
                    const std::string& why) {
  return Error(ErrorCode::NotSupported, name + ": " + in_quotes(member) + " is " +
                                            printable(dump_json(value)).substr(0, 80) + "; " + why);
}

Result<void> check_members(const Json& json, const std::string& name) {
  for (const auto& [member, value] : json.items()) {
    if (std::ranges::find(kKnownMembers, member) != std::end(kKnownMembers)) continue;
    if (is_nothing(value)) continue;
    const auto* refused = std::ranges::find(kRefusedMembers, member, &RefusedMember::member);
    if (refused == std::end(kRefusedMembers)) {
      return not_supported(name, member, value,
                           "this reader does not know the member, and so cannot leave it out");
    }
    return not_supported(name, member, value, std::string(refused->what) + " is not supported");
  }
  return {};
}

Result<void> check_variant(const Json& json, const std::string& name) {
  const JsonObject object(json, name);
  const std::string type = TRY(object.text("peft_type"));
  if (type != "LORA") {
    return not_supported(name, "peft_type", json["peft_type"], "only \"LORA\" is supported");
  }
  const std::string bias = TRY(object.find_text("bias")).value_or("none");
  if (bias != "none") {
    return not_supported(name, "bias", json["bias"], "trained biases are not supported");
  }
  const Json* init = object.find("init_lora_weights");
  if (init == nullptr || init->is_boolean()) return {};
  if (init->is_string() &&
      std::ranges::find(kPlainInits, init->get<std::string>()) != std::end(kPlainInits)) {
    return {};
  }
  return not_supported(name, "init_lora_weights", *init,
                       "it changes the base's weights too; true, false, \"gaussian\", \"eva\" and "
                       "\"orthogonal\" are supported (PEFT can convert an adapter of another kind: "
                       "path_initial_model_for_weight_conversion)");
}

// Returns the text after the first `count` dots; empty if there are fewer.
std::string_view after_dots(std::string_view module, std::size_t count) {
  for (; count > 0; --count) {
    const std::size_t dot = module.find('.');
    if (dot == std::string_view::npos) return {};
    module.remove_prefix(dot + 1);
  }
  return module;
}

// The number between two dots at the beginning of `text`; nothing for other text.
std::optional<std::uint64_t> leading_index(std::string_view text) {
  const std::size_t end = text.find('.');
  if (end == std::string_view::npos || end == 0 || end > 9) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text.substr(0, end)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

}  // namespace

Result<PeftConfig> PeftConfig::parse(std::string_view text, const std::string& name) {
  if (text.size() > kPeftConfigBytesMax) {
    return Error(ErrorCode::TooLarge, name + " has " + std::to_string(text.size()) +
                                          " bytes; at most " + std::to_string(kPeftConfigBytesMax) +
                                          " are read");
  }
  const OrderedJson ordered = TRY(parse_ordered_json(text, name));
  const Json json = TRY(parse_json(text, name));
  if (!json.is_object()) return corrupted_at(name, "it is not a JSON object");
  PeftConfig config;
  TRY(config.read(json, ordered, name));
  return config;
}

Result<void> PeftConfig::read(const Json& json, const OrderedJson& ordered,
                              const std::string& name) {
  TRY(check_variant(json, name));
  TRY(check_members(json, name));
  const JsonObject object(json, name);
  rank_ = TRY(object.u32("r"));
  alpha_ = TRY(object.real("lora_alpha"));
  by_root_ = TRY(object.find_bool("use_rslora")).value_or(false);
  TRY(read_targets(json, name));
  TRY(read_layers(json, name));
  return read_patterns(ordered, name);
}

Result<ModulePattern> PeftConfig::pattern(std::string_view text, const std::string& where) {
  ModulePattern parsed = TRY(ModulePattern::parse(text, where));
  steps_ += parsed.step_count();
  if (steps_ > kPeftStepsMax) {
    return Error(ErrorCode::TooLarge, where + ": the expressions have more than " +
                                          std::to_string(kPeftStepsMax) + " steps when compiled");
  }
  return parsed;
}

Result<PeftConfig::Modules> PeftConfig::modules(const Json& value, const std::string& where) {
  Modules modules;
  if (value.is_string()) {
    modules.expression = TRY(pattern(value.get<std::string>(), where));
    return modules;
  }
  if (!value.is_array()) return corrupted_at(where, "it is neither a list nor an expression");
  for (const Json& each : value) {
    if (!each.is_string()) return corrupted_at(where, "it holds a value that is not a string");
    modules.names.push_back(each.get<std::string>());
  }
  return modules;
}

Result<void> PeftConfig::read_targets(const Json& json, const std::string& name) {
  const JsonObject object(json, name);
  const Json* targets = object.find("target_modules");
  if (targets == nullptr) return corrupted_at(name, "\"target_modules\" is missing");
  all_linear_ = targets->is_string() && *targets == "all-linear";
  if (!all_linear_) targets_ = TRY(modules(*targets, name + ": \"target_modules\""));
  const Json* excluded = object.find("exclude_modules");
  if (excluded == nullptr || is_nothing(*excluded)) return {};
  excluded_ = TRY(modules(*excluded, name + ": \"exclude_modules\""));
  return {};
}

Result<void> PeftConfig::read_layers(const Json& json, const std::string& name) {
  const JsonObject object(json, name);
  const Json* layers = object.find("layers_to_transform");
  if (layers != nullptr && !(layers->is_array() && layers->empty())) {
    const Json list = layers->is_array() ? *layers : Json::array({*layers});
    if (list.size() > kLayersMax) {
      return Error(ErrorCode::TooLarge, name + ": \"layers_to_transform\" has " +
                                            std::to_string(list.size()) + " members; at most " +
                                            std::to_string(kLayersMax));
    }
    layers_.emplace();
    for (const Json& each : list) {
      if (!each.is_number_unsigned()) {
        return corrupted_at(name,
                            "\"layers_to_transform\" holds a value that is not a layer's number");
      }
      layers_->push_back(each.get<std::uint64_t>());
    }
    std::ranges::sort(*layers_);
  }
  const Json* lists = object.find("layers_pattern");
  if (lists == nullptr || is_nothing(*lists)) return {};
  const Json all = lists->is_array() ? *lists : Json::array({*lists});
  for (const Json& each : all) {
    if (!each.is_string())
      return corrupted_at(name, "\"layers_pattern\" holds a value that is not a string");
    layer_lists_.push_back(TRY(pattern(each.get<std::string>(), name + ": \"layers_pattern\"")));
  }
  return {};
}

Result<void> PeftConfig::read_patterns(const OrderedJson& ordered, const std::string& name) {
  const auto for_each = [&](const char* member, const auto& take) -> Result<void> {
    const auto found = ordered.find(member);
    if (found == ordered.end() || found->is_null()) return {};
    const std::string where = name + ": \"" + member + "\"";
    if (!found->is_object()) return corrupted_at(where, "it is not an object");
    for (const auto& [key, value] : found->items()) {
      ModulePattern key_pattern = TRY(pattern(key, where));
      if (!take(std::move(key_pattern), value)) {
        return corrupted_at(where, in_quotes(key) + " has " +
                                       printable(dump_json(value)).substr(0, 80) +
                                       ", which is not a valid number");
      }
    }
    return {};
  };
  TRY(for_each("rank_pattern", [&](ModulePattern key, const OrderedJson& value) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 0xffffffffu) return false;
    ranks_.push_back({std::move(key), value.get<std::uint32_t>()});
    return true;
  }));
  return for_each("alpha_pattern", [&](ModulePattern key, const OrderedJson& value) {
    if (!value.is_number()) return false;
    alphas_.push_back({std::move(key), value.get<double>()});
    return true;
  });
}

bool PeftConfig::Modules::contains(std::string_view module) const {
  if (expression) return expression->matches(module);
  return std::ranges::any_of(names, [&](const std::string& name) {
    if (!module.ends_with(name)) return false;
    return module.size() == name.size() || module[module.size() - name.size() - 1] == '.';
  });
}

// The first number that follows the list of layers; without layers_pattern, any list that has a
// name before its own.
bool PeftConfig::is_in_layers(std::string_view module) const {
  const auto is_list = [&](std::string_view before, std::size_t depth) {
    if (layer_lists_.empty()) return depth >= 2;
    return std::ranges::any_of(layer_lists_,
                               [&](const ModulePattern& each) { return each.matches_end(before); });
  };
  for (std::size_t depth = 1;; ++depth) {
    const std::string_view rest = after_dots(module, depth);
    if (rest.empty()) return false;
    const std::optional<std::uint64_t> index = leading_index(rest);
    if (!index) continue;
    const std::string_view before = module.substr(0, module.size() - rest.size() - 1);
    if (is_list(before, depth)) return std::ranges::binary_search(*layers_, *index);
  }
}

bool PeftConfig::targets(std::string_view module) const {
  if (excluded_ && excluded_->contains(module)) return false;
  if (all_linear_) return !module.ends_with("embed_tokens");
  if (!targets_.contains(module)) return false;
  const bool is_whole_name = std::ranges::find(targets_.names, module) != targets_.names.end();
  if (targets_.expression || is_whole_name || !layers_) return true;
  return is_in_layers(module);
}

std::uint32_t PeftConfig::rank_of(std::string_view module) const {
  for (const auto& each : ranks_) {
    if (each.pattern.matches_end(module)) return each.value;
  }
  return rank_;
}

double PeftConfig::scale_of(std::string_view module) const {
  double alpha = alpha_;
  const auto found = std::ranges::find_if(
      alphas_, [&](const auto& each) { return each.pattern.matches_end(module); });
  if (found != alphas_.end()) alpha = found->value;
  const double rank = rank_of(module);
  return alpha / (by_root_ ? std::sqrt(rank) : rank);
}

}  // namespace quire::inference
