#include "inference/weights/model_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "base/check.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kVocabularySizeMax = 1u << 22;
constexpr std::uint32_t kContextLengthMax = 1u << 26;
constexpr std::uint32_t kWidthMax = 1u << 18;
constexpr std::uint32_t kLayerCountMax = 1024;
constexpr std::uint32_t kHeadCountMax = 1024;
constexpr std::uint32_t kHeadDimMax = 256;  // Of the attention kernels, as are the next two.
constexpr std::uint32_t kHeadDimMultiple = 16;
constexpr std::uint32_t kGroupCountMax = 16;
constexpr std::uint32_t kExpertCountMax = 4096;
constexpr std::uint32_t kUsedExpertCountMax = 64;
constexpr std::uint32_t kConvolutionWidthMin = 2;  // Of the kernels of delta rules.
constexpr std::uint32_t kConvolutionWidthMax = 8;

struct Bound {
  const char* name;
  std::uint32_t value;
  std::uint32_t maximum;
};

Error not_supported(const std::string& what) {
  return Error(ErrorCode::NotSupported, what);
}
Error corrupted(const std::string& what) {
  return Error(ErrorCode::Corrupted, what);
}

Result<void> check_bounds(std::span<const Bound> bounds) {
  for (const Bound& bound : bounds) {
    if (bound.value > 0 && bound.value <= bound.maximum) continue;
    return corrupted(std::string(bound.name) + " is " + std::to_string(bound.value) + "; 1 to " +
                     std::to_string(bound.maximum) + " was expected");
  }
  return {};
}

Result<void> check_dim(const char* name, std::uint32_t dim) {
  if (dim % kHeadDimMultiple == 0 && dim <= kHeadDimMax) return {};
  return not_supported(std::string(name) + " is " + std::to_string(dim) +
                       "; multiples of 16 up to 256 are supported");
}

Result<void> check_attention(const AttentionSpec& spec) {
  const Bound bounds[] = {{"head count", spec.head_count, kHeadCountMax},
                          {"kv head count", spec.kv_head_count, kHeadCountMax},
                          {"head_dim", spec.head_dim, kWidthMax}};
  TRY(check_bounds(bounds));
  const std::string dim = std::to_string(spec.head_dim);
  TRY(check_dim("head_dim", spec.head_dim));
  if (spec.rotary_dim % 2 != 0 || spec.rotary_dim > spec.head_dim) {
    return corrupted("RoPE turns " + std::to_string(spec.rotary_dim) + " numbers of a head of " +
                     dim + "; an even number of at most " + dim + " was expected");
  }
  if (spec.head_count % spec.kv_head_count != 0) {
    return corrupted("head count " + std::to_string(spec.head_count) +
                     " is not a multiple of the kv head count " +
                     std::to_string(spec.kv_head_count));
  }
  if (spec.head_count / spec.kv_head_count > kGroupCountMax) {
    return not_supported(std::to_string(spec.head_count / spec.kv_head_count) +
                         " heads share a kv head; at most 16 are supported");
  }
  if (std::uint64_t{spec.head_count} * spec.head_dim > kWidthMax) {
    return corrupted("head count " + std::to_string(spec.head_count) + " times head_dim " + dim +
                     " is more than " + std::to_string(kWidthMax));
  }
  return {};
}

Result<void> check_delta_net(const DeltaNetSpec& spec) {
  const Bound bounds[] = {{"recurrent key head count", spec.key_head_count, kHeadCountMax},
                          {"recurrent value head count", spec.value_head_count, kHeadCountMax},
                          {"recurrent key head_dim", spec.key_dim, kWidthMax},
                          {"recurrent value head_dim", spec.value_dim, kWidthMax}};
  TRY(check_bounds(bounds));
  TRY(check_dim("recurrent key head_dim", spec.key_dim));
  TRY(check_dim("recurrent value head_dim", spec.value_dim));
  if (spec.value_head_count % spec.key_head_count != 0) {
    return corrupted("recurrent value head count " + std::to_string(spec.value_head_count) +
                     " is not a multiple of the recurrent key head count " +
                     std::to_string(spec.key_head_count));
  }
  if (spec.convolution_width < kConvolutionWidthMin ||
      spec.convolution_width > kConvolutionWidthMax) {
    return not_supported("the convolution is " + std::to_string(spec.convolution_width) +
                         " rows wide; 2 to 8 rows are supported");
  }
  return {};
}

Result<void> check_rope(const RopeSpec& rope, std::uint32_t turned_dim) {
  if (!(rope.theta >= 1.0 && rope.theta <= 1e15)) {
    return corrupted("rope theta is " + std::to_string(rope.theta) + "; 1 to 1e15 was expected");
  }
  if (!rope.factors.empty() && rope.factors.size() != turned_dim / 2) {
    return corrupted(std::to_string(rope.factors.size()) + " rope factors for head_dim " +
                     std::to_string(turned_dim));
  }
  for (const float factor : rope.factors) {
    if (!(factor >= 1e-6f && factor <= 1e6f)) {
      return corrupted("a rope factor is " + std::to_string(factor) + "; 1e-6 to 1e6 was expected");
    }
  }
  return {};
}

Result<void> check_experts(const ExpertsSpec& spec) {
  const Bound bounds[] = {{"expert count", spec.expert_count, kExpertCountMax},
                          {"used expert count", spec.used_count, kUsedExpertCountMax},
                          {"expert width", spec.width, kWidthMax}};
  TRY(check_bounds(bounds));
  if (spec.used_count > spec.expert_count) {
    return corrupted("used expert count " + std::to_string(spec.used_count) +
                     " is more than the expert count " + std::to_string(spec.expert_count));
  }
  if (spec.shared_width > kWidthMax) {
    return corrupted("shared expert width is " + std::to_string(spec.shared_width) + "; at most " +
                     std::to_string(kWidthMax) + " was expected");
  }
  if (!(spec.weight_scale > 0.0f && spec.weight_scale <= 1e6f)) {
    return corrupted("the scale of expert weights is " + std::to_string(spec.weight_scale) +
                     "; above 0 and up to 1e6 was expected");
  }
  return {};
}

Result<void> check_layer(const ModelSpec& spec, const LayerSpec& layer) {
  if (const AttentionSpec* attention = layer.attention()) {
    TRY(check_attention(*attention));
    if (attention->rope) {
      QUIRE_CHECK(*attention->rope < spec.ropes.size(), "a layer's RoPE is in the spec");
      TRY(check_rope(spec.ropes[*attention->rope], attention->turned_dim()));
    }
  }
  if (const DeltaNetSpec* delta = layer.delta_net()) TRY(check_delta_net(*delta));
  if (const DenseSpec* dense = layer.dense()) {
    const Bound bound{"feed-forward width", dense->width, kWidthMax * 4};
    TRY(check_bounds(std::span(&bound, 1)));
  }
  if (const ExpertsSpec* experts = layer.experts()) TRY(check_experts(*experts));
  return {};
}

Result<void> check_layers(const ModelSpec& spec) {
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (i > 0 && spec.layers[i] == spec.layers[i - 1]) continue;
    Result<void> checked = check_layer(spec, spec.layers[i]);
    if (checked.ok()) continue;
    if (i == 0) return checked;  // Often all layers are alike.
    return std::move(checked).take_error().while_("layer " + std::to_string(i));
  }
  return {};
}

}  // namespace

const AttentionSpec* first_attention(const ModelSpec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    if (const AttentionSpec* attention = layer.attention()) return attention;
  }
  return nullptr;
}

std::vector<KvHeads> kv_heads(const ModelSpec& spec) {
  std::vector<KvHeads> heads;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec* attention = layer.attention();
    heads.push_back(attention == nullptr ? KvHeads{}
                                         : KvHeads{attention->kv_head_count, attention->head_dim});
  }
  return heads;
}

bool has_experts(const ModelSpec& spec) {
  return std::ranges::any_of(spec.layers, [](const LayerSpec& layer) { return layer.experts(); });
}

bool has_states(const ModelSpec& spec) {
  return std::ranges::any_of(spec.layers, [](const LayerSpec& layer) { return layer.delta_net(); });
}

std::uint64_t state_float_count(const ModelSpec& spec) {
  std::uint64_t count = 0;
  for (const LayerSpec& layer : spec.layers) {
    if (const DeltaNetSpec* delta = layer.delta_net()) count += delta->state_float_count();
  }
  return count == 0 ? 0 : count + spec.embedding_width;
}

ModelInfo model_info(const ModelSpec& spec, const Digest& digest) {
  ModelInfo info;
  info.name = spec.name;
  info.architecture = spec.architecture;
  info.vocabulary_size = spec.vocabulary_size;
  info.context_length = spec.context_length;
  info.embedding_width = spec.embedding_width;
  info.layer_count = spec.layer_count();
  if (const AttentionSpec* attention = first_attention(spec)) {
    info.head_count = attention->head_count;
    info.kv_head_count = attention->kv_head_count;
    info.head_dim = attention->head_dim;
  }
  info.kv_heads = kv_heads(spec);
  info.bos_id = spec.bos_id;
  info.eos_id = spec.eos_id;
  info.stop_ids = spec.stop_ids;
  info.add_bos = spec.add_bos.value_or(false);
  info.digest = digest;
  return info;
}

std::vector<std::uint32_t> sliding_windows(const ModelSpec& spec) {
  std::vector<std::uint32_t> windows;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec* attention = layer.attention();
    if (attention == nullptr) continue;
    if (std::ranges::find(windows, attention->sliding_window) != windows.end()) continue;
    windows.push_back(attention->sliding_window);
  }
  return windows;
}

float AttentionSpec::scale() const {
  return 1.0f / std::sqrt(static_cast<float>(head_dim));
}

Result<void> check_layer_count(std::uint32_t layer_count) {
  const Bound bound{"layer count", layer_count, kLayerCountMax};
  return check_bounds(std::span(&bound, 1));
}

Result<void> ModelSpec::validate() const {
  const Bound bounds[] = {{"vocabulary size", vocabulary_size, kVocabularySizeMax},
                          {"context length", context_length, kContextLengthMax},
                          {"embedding width", embedding_width, kWidthMax}};
  TRY(check_bounds(bounds));
  TRY(check_layer_count(layer_count()));
  TRY(check_layers(*this));
  if (first_attention(*this) == nullptr) {
    return not_supported("none of the " + std::to_string(layer_count()) +
                         " layers attends; models with at least one are supported");
  }
  if (!(rms_epsilon > 0.0f && rms_epsilon <= 0.1f)) {
    return corrupted("rms epsilon is " + std::to_string(rms_epsilon) +
                     "; above 0 and up to 0.1 was expected");
  }
  std::vector<std::int64_t> ids = {bos_id, eos_id};
  if (!stop_ids.empty()) ids.push_back(static_cast<std::uint32_t>(stop_ids.back()));
  for (const std::int64_t id : ids) {
    if (id >= -1 && id < std::int64_t{vocabulary_size}) continue;
    return corrupted("a begin, end or stop token is " + std::to_string(id) +
                     ", beyond the vocabulary of " + std::to_string(vocabulary_size));
  }
  return {};
}

float narrowed(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (value > kMax) return std::numeric_limits<float>::infinity();
  if (value < -kMax) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(value);
}

std::vector<float> llama3_factors(const Llama3Scaling& scaling, double theta,
                                  std::uint32_t head_dim) {
  std::vector<float> factors;
  const double low = scaling.original_context_length / scaling.low_frequency_factor;
  const double high = scaling.original_context_length / scaling.high_frequency_factor;
  for (std::uint32_t index = 0; index < head_dim; index += 2) {
    const double wavelength =
        2.0 * std::numbers::pi * std::pow(theta, static_cast<double>(index) / head_dim);
    if (wavelength < high) {
      factors.push_back(1.0f);
    } else if (wavelength > low) {
      factors.push_back(narrowed(scaling.factor));
    } else {
      const double smooth =
          (scaling.original_context_length / wavelength - scaling.low_frequency_factor) /
          (scaling.high_frequency_factor - scaling.low_frequency_factor);
      factors.push_back(narrowed(1.0 / ((1.0 - smooth) / scaling.factor + smooth)));
    }
  }
  return factors;
}

}  // namespace quire::inference
