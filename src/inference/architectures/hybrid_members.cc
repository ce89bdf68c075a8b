#include "inference/architectures/hybrid_members.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kFullAttentionInterval = 4;  // Where neither list nor interval is given.
constexpr std::size_t kSectionCount = 4;             // Of rope.dimension_sections.

// Gives the recurrent layers their mixer. The others attend, each head with a gate.
void set_mixers(const std::vector<bool>& is_recurrent, const DeltaNetSpec& delta, ModelSpec& spec) {
  for (std::uint32_t layer = 0; layer < spec.layer_count(); ++layer) {
    if (is_recurrent[layer]) spec.layers[layer].mixer = delta;
  }
  for_each_attention(spec, [](AttentionSpec& attention) {
    attention.has_gate = true;
    attention.qk_norm = QkNorm::EachHead;
  });
}

// Each interval-th layer attends.
std::vector<bool> recurrent_by_interval(std::uint32_t interval, std::uint32_t layer_count) {
  std::vector<bool> is_recurrent;
  for (std::uint32_t layer = 0; layer < layer_count; ++layer) {
    is_recurrent.push_back((layer + 1) % interval != 0);
  }
  return is_recurrent;
}

// ---- GGUF ----

// Reads the keys of one file.
class GgufHybrid {
 public:
  GgufHybrid(const GgufMetadata& metadata, ModelSpec& spec)
      : metadata_(metadata), spec_(spec), prefix_(spec.architecture + ".") {}

  Result<void> read() {
    const DeltaNetSpec delta = TRY(delta_net());
    const std::vector<bool> is_recurrent = TRY(recurrent_layers());
    set_mixers(is_recurrent, delta, spec_);
    return read_rotary_dim();
  }

 private:
  Error refuse(ErrorCode code, const std::string& key, const std::string& what) const {
    return Error(code, metadata_.source_name() + ": " + prefix_ + key + " " + what);
  }

  Result<DeltaNetSpec> delta_net() const {
    DeltaNetSpec delta;
    delta.convolution_width = TRY(metadata_.u32(prefix_ + "ssm.conv_kernel"));
    delta.key_head_count = TRY(metadata_.u32(prefix_ + "ssm.group_count"));
    delta.value_head_count = TRY(metadata_.u32(prefix_ + "ssm.time_step_rank"));
    delta.key_dim = TRY(metadata_.u32(prefix_ + "ssm.state_size"));
    const std::uint32_t width = TRY(metadata_.u32(prefix_ + "ssm.inner_size"));
    if (delta.value_head_count == 0) {
      return refuse(ErrorCode::Corrupted, "ssm.time_step_rank", "is 0");
    }
    if (width % delta.value_head_count != 0) {
      return refuse(ErrorCode::Corrupted, "ssm.inner_size",
                    "is " + std::to_string(width) + ", which " + prefix_ + "ssm.time_step_rank = " +
                        std::to_string(delta.value_head_count) + " does not divide");
    }
    delta.value_dim = width / delta.value_head_count;
    // The converter reorders value heads. With as many key heads, the two orders are one.
    delta.has_tiled_heads = delta.value_head_count != delta.key_head_count;
    return delta;
  }

  // attention.recurrent_layers comes first: files have an interval beside it that is not theirs.
  Result<std::vector<bool>> recurrent_layers() const {
    const std::string list = "attention.recurrent_layers";
    const GgufValue* value = metadata_.find(prefix_ + list);
    if (value == nullptr) return by_interval();
    if (value->type != GgufType::Array) {
      const bool is_recurrent = TRY(metadata_.find_bool(prefix_ + list)).value_or(false);
      return std::vector<bool>(spec_.layer_count(), is_recurrent);
    }
    std::vector<bool> is_recurrent = TRY(metadata_.bools(prefix_ + list));
    const std::uint32_t block_count = spec_.layer_count() + spec_.draft_block_count;
    if (is_recurrent.size() == block_count) return is_recurrent;
    return refuse(ErrorCode::Corrupted, list,
                  "has " + std::to_string(is_recurrent.size()) + " values for " +
                      std::to_string(block_count) + " blocks");
  }

  Result<std::vector<bool>> by_interval() const {
    const std::string key = "full_attention_interval";
    const std::uint32_t interval =
        TRY(metadata_.find_u32(prefix_ + key)).value_or(kFullAttentionInterval);
    if (interval == 0) return refuse(ErrorCode::Corrupted, key, "is 0");
    return recurrent_by_interval(interval, spec_.layer_count());
  }

  Result<void> read_rotary_dim() {
    const AttentionSpec* attention = first_attention(spec_);
    if (attention == nullptr) return {};  // validate() refuses it.
    const std::string key = "rope.dimension_count";
    const std::uint32_t turned =
        TRY(metadata_.find_u32(prefix_ + key)).value_or(attention->head_dim);
    if (turned == 0) return refuse(ErrorCode::Corrupted, key, "is 0");
    for_each_attention(spec_, [&](AttentionSpec& each) {
      each.rotary_dim = turned == each.head_dim ? 0 : turned;
    });
    return check_sections(std::min(turned, attention->head_dim) / 2);
  }

  // Pairs of a head take turns in being turned by the time, the height and the width of a token, as
  // often as the sections say. All three are the position of a token of a text. Pairs that are left
  // go by a fourth number, which is 0 for a text, and would not turn.
  Result<void> check_sections(std::uint32_t pair_count) const {
    const std::string key = "rope.dimension_sections";
    if (!metadata_.has(prefix_ + key)) return {};
    std::vector<std::int32_t> sections = TRY(metadata_.integers(prefix_ + key));
    const bool is_negative = std::ranges::any_of(sections, [](std::int32_t n) { return n < 0; });
    if (sections.size() > kSectionCount || is_negative) {
      return refuse(ErrorCode::Corrupted, key, "is not a list of four counts");
    }
    sections.resize(kSectionCount);
    std::int64_t sum = 0;
    for (const std::int32_t section : sections) sum += section;
    if (sum == 0) return refuse(ErrorCode::Corrupted, key, "has no pairs");
    for (std::uint32_t pair = 0; pair < pair_count; ++pair) {
      const std::int64_t place = pair % sum;
      if (place < std::int64_t{3} * sections[static_cast<std::size_t>(place % 3)]) continue;
      return refuse(ErrorCode::NotSupported, key,
                    "gives pair " + std::to_string(pair) +
                        " of a head no position; only sections that turn all " +
                        std::to_string(pair_count) + " pairs are supported");
    }
    return {};
  }

  const GgufMetadata& metadata_;
  ModelSpec& spec_;
  const std::string prefix_;
};

// ---- config.json ----

// Reads layer_types, or full_attention_interval if there is no such list.
Result<std::vector<bool>> config_recurrent_layers(const JsonObject& config,
                                                  std::uint32_t layer_count) {
  const Json* kinds = config.find("layer_types");
  if (kinds == nullptr) {
    const std::uint32_t interval =
        TRY(config.find_u32("full_attention_interval")).value_or(kFullAttentionInterval);
    if (interval != 0) return recurrent_by_interval(interval, layer_count);
    return Error(ErrorCode::Corrupted, config.where() + ": \"full_attention_interval\" is 0");
  }
  if (!kinds->is_array() || kinds->size() != layer_count) {
    return Error(ErrorCode::Corrupted, config.where() + ": \"layer_types\" is not a list of " +
                                           std::to_string(layer_count) + " layers");
  }
  std::vector<bool> is_recurrent;
  for (const Json& kind : *kinds) {
    is_recurrent.push_back(kind == "linear_attention");
    if (is_recurrent.back() || kind == "full_attention") continue;
    return not_supported(config, "layer_types has " + in_quotes(dump_json(kind)) +
                                     "; linear_attention and full_attention are supported");
  }
  return is_recurrent;
}

Result<DeltaNetSpec> config_delta_net(const JsonObject& config) {
  DeltaNetSpec delta;
  delta.key_head_count = TRY(config.find_u32("linear_num_key_heads")).value_or(16);
  delta.value_head_count = TRY(config.find_u32("linear_num_value_heads")).value_or(32);
  delta.key_dim = TRY(config.find_u32("linear_key_head_dim")).value_or(128);
  delta.value_dim = TRY(config.find_u32("linear_value_head_dim")).value_or(128);
  delta.convolution_width = TRY(config.find_u32("linear_conv_kernel_dim")).value_or(4);
  return delta;
}

}  // namespace

Result<void> read_gguf_hybrid(const GgufMetadata& metadata, ModelSpec& spec) {
  return GgufHybrid(metadata, spec).read();
}

Result<void> read_config_hybrid(const JsonObject& config, const ShapeDefaults& defaults,
                                ModelSpec& spec) {
  TRY(read_shape(config, defaults, spec));
  TRY(read_switches(config, spec));
  TRY(read_attention_bias(config, spec));
  if (!TRY(config.find_bool("attn_output_gate")).value_or(true)) {
    return not_supported(config,
                         "attn_output_gate is false; only attention with gates is supported");
  }
  const DeltaNetSpec delta = TRY(config_delta_net(config));
  const std::vector<bool> is_recurrent = TRY(config_recurrent_layers(config, spec.layer_count()));
  set_mixers(is_recurrent, delta, spec);
  return {};
}

}  // namespace quire::inference
