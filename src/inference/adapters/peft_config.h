#pragma once
// adapter_config.json of PEFT (0.21): which modules an adapter changes, with which rank and scale.
//
// It means what PEFT takes it for. Members that change how an adapter is computed and are not
// implemented are refused by name, as are members that this reader does not know, unless they are
// null, false or empty. `alora_invocation_tokens` is accepted: when an adapter acts is up to the
// caller.
//
// Thread   any; nothing changes after parse().
// Errors   Corrupted for text that is not such a configuration; NotSupported, naming the member;
//          TooLarge beyond the limits below.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "inference/adapters/module_pattern.h"

namespace quire::inference {

inline constexpr std::uint64_t kPeftConfigBytesMax = std::uint64_t{1} << 20;
// The most steps of all expressions together. A name of 60 characters then takes 0.2 ms at most.
inline constexpr std::size_t kPeftStepsMax = 2048;

class PeftConfig {
 public:
  // `name` is the file's, for messages.
  static Result<PeftConfig> parse(std::string_view text, const std::string& name);

  // Whether the adapter changes the module, such as "model.layers.3.self_attn.q_proj".
  bool targets(std::string_view module) const;
  std::uint32_t rank_of(std::string_view module) const;
  double scale_of(std::string_view module) const;  // alpha / rank, or alpha / sqrt(rank).

 private:
  // A list of names, or an expression for the whole name.
  struct Modules {
    std::vector<std::string> names;
    std::optional<ModulePattern> expression;
    bool contains(std::string_view module) const;
  };
  template <typename Value>
  struct ByPattern {
    ModulePattern pattern;
    Value value{};
  };

  Result<void> read(const Json& json, const OrderedJson& ordered, const std::string& name);
  Result<void> read_targets(const Json& json, const std::string& name);
  Result<void> read_layers(const Json& json, const std::string& name);
  Result<void> read_patterns(const OrderedJson& ordered, const std::string& name);
  Result<Modules> modules(const Json& value, const std::string& where);
  Result<ModulePattern> pattern(std::string_view text, const std::string& where);
  bool is_in_layers(std::string_view module) const;

  std::uint32_t rank_ = 0;
  double alpha_ = 0.0;
  bool by_root_ = false;     // use_rslora
  bool all_linear_ = false;  // Every linear module.
  Modules targets_;
  std::optional<Modules> excluded_;
  std::optional<std::vector<std::uint64_t>> layers_;  // layers_to_transform
  std::vector<ModulePattern> layer_lists_;            // layers_pattern
  std::vector<ByPattern<std::uint32_t>> ranks_;       // In the order of the file.
  std::vector<ByPattern<double>> alphas_;
  std::size_t steps_ = 0;
};

}  // namespace quire::inference
