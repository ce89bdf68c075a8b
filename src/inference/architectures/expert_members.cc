#include "inference/architectures/expert_members.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "inference/architectures/config_members.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kSoftmax = 1;  // Of expert_gating_func.

// Keys of mixtures that choose in other ways.
Result<void> refuse_other_routers(const GgufMetadata& metadata, const std::string& prefix) {
  const auto refuse = [&](const char* key, std::uint32_t value, const std::string& why) {
    return Error(ErrorCode::NotSupported, metadata.source_name() + ": " + prefix + key + " is " +
                                              std::to_string(value) + "; " + why);
  };
  const std::uint32_t gating =
      TRY(metadata.find_u32(prefix + "expert_gating_func")).value_or(kSoftmax);
  if (gating > kSoftmax) {
    return refuse("expert_gating_func", gating, "only 1, the softmax of all, is supported");
  }
  const std::uint32_t groups = TRY(metadata.find_u32(prefix + "expert_group_count")).value_or(0);
  if (groups > 1)
    return refuse("expert_group_count", groups, "experts in groups are not supported");
  return {};
}

// The layers that stay dense. They are numbers of layers, which may be beyond the last.
Result<std::vector<std::uint32_t>> dense_layers(const JsonObject& config) {
  std::vector<std::uint32_t> layers;
  const Json* found = config.find("mlp_only_layers");
  if (found == nullptr) return layers;
  const auto is_number = [](const Json& each) { return each.is_number_unsigned(); };
  if (!found->is_array() || !std::ranges::all_of(*found, is_number)) {
    return Error(ErrorCode::Corrupted,
                 config.where() + ": \"mlp_only_layers\" is not a list of layers");
  }
  return found->get<std::vector<std::uint32_t>>();
}

}  // namespace

Result<void> read_gguf_experts(const GgufMetadata& metadata, const ExpertsRule& rule,
                               ModelSpec& spec) {
  const std::string prefix = spec.architecture + ".";
  TRY(refuse_other_routers(metadata, prefix));
  ExpertsSpec experts;
  experts.expert_count = TRY(metadata.u32(prefix + "expert_count"));
  experts.used_count = TRY(metadata.u32(prefix + "expert_used_count"));
  const std::uint32_t dense_width = spec.layers.front().dense_width();
  const std::uint32_t even_share = dense_width / std::max(experts.used_count, 1u);
  experts.width =
      TRY(metadata.find_u32(prefix + "expert_feed_forward_length")).value_or(even_share);
  if (rule.has_shared) {
    const std::string key = prefix + "expert_shared_feed_forward_length";
    experts.shared_width = TRY(metadata.find_u32(key)).value_or(dense_width);
    if (experts.shared_width == 0) {
      return Error(ErrorCode::Corrupted,
                   metadata.source_name() + ": " + key + " is " +
                       (metadata.has(key) ? "0" : "missing, and so is feed_forward_length"));
    }
  }
  experts.is_renormalised =
      TRY(metadata.find_bool(prefix + "expert_weights_norm")).value_or(rule.is_renormalised);
  const double scale = TRY(metadata.find_real(prefix + "expert_weights_scale")).value_or(0.0);
  if (scale != 0.0) experts.weight_scale = narrowed(scale);  // llama.cpp takes 0 as 1.
  for (LayerSpec& layer : spec.layers) layer.feed_forward = experts;
  return {};
}

Result<ExpertsSpec> config_experts(const JsonObject& config, const ExpertsDefaults& defaults) {
  ExpertsSpec experts;
  // transformers 5 writes num_local_experts for some families.
  const char* count_key = config.has("num_experts") ? "num_experts" : "num_local_experts";
  experts.expert_count = TRY(config.find_u32(count_key)).value_or(defaults.expert_count);
  experts.used_count = TRY(config.find_u32("num_experts_per_tok")).value_or(defaults.used_count);
  experts.width = TRY(config.find_u32("moe_intermediate_size")).value_or(defaults.width);
  if (defaults.shared_width != 0) {
    experts.shared_width =
        TRY(config.find_u32("shared_expert_intermediate_size")).value_or(defaults.shared_width);
    if (experts.shared_width == 0) {
      return Error(ErrorCode::Corrupted,
                   config.where() + ": \"shared_expert_intermediate_size\" is 0");
    }
  }
  return experts;
}

Result<void> read_config_experts(const JsonObject& config, const ExpertsDefaults& defaults,
                                 ModelSpec& spec) {
  ExpertsSpec experts = TRY(config_experts(config, defaults));
  experts.is_renormalised = TRY(config.find_bool("norm_topk_prob")).value_or(false);
  const std::uint32_t step = TRY(config.find_u32("decoder_sparse_step")).value_or(1);
  if (step == 0) {
    return Error(ErrorCode::Corrupted, config.where() + ": \"decoder_sparse_step\" is 0");
  }
  const std::vector<std::uint32_t> dense = TRY(dense_layers(config));
  if (experts.expert_count == 0) return {};  // All layers are dense, as in transformers.
  for (std::uint32_t layer = 0; layer < spec.layer_count(); ++layer) {
    const bool is_dense = (layer + 1) % step != 0 || std::ranges::find(dense, layer) != dense.end();
    if (!is_dense) spec.layers[layer].feed_forward = experts;
  }
  return {};
}

}  // namespace quire::inference
