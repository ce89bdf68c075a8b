#pragma once
// Keys and members of mixtures of experts, which several families read alike: keys of GGUF as
// llama.cpp reads them, members of config.json as transformers does.
//
// Errors   Corrupted for numbers that contradict each other, NotSupported for what no layer of this
//          build computes; each names the key.
#include "inference/architectures/architecture.h"

namespace quire::inference {

struct ExpertsRule {
  bool is_renormalised = false;  // Where the file does not say.
  bool has_shared = false;
};
// Gives each layer experts in place of its dense part.
Result<void> read_gguf_experts(const GgufMetadata& metadata, const ExpertsRule& rule,
                               ModelSpec& spec);

// The values of a configuration class where config.json has none.
struct ExpertsDefaults {
  std::uint32_t expert_count = 0;
  std::uint32_t used_count = 0;
  std::uint32_t width = 0;
  std::uint32_t shared_width = 0;  // Is 0 if the family has no shared expert.
};
// The experts of a layer, as the members say.
Result<ExpertsSpec> config_experts(const JsonObject& config, const ExpertsDefaults& defaults);
// Gives the sparse layers experts: every decoder_sparse_step-th, but those of mlp_only_layers.
Result<void> read_config_experts(const JsonObject& config, const ExpertsDefaults& defaults,
                                 ModelSpec& spec);

}  // namespace quire::inference
