#pragma once
// config.json of a published checkpoint, in both of its forms: rope_theta with rope_scaling, and
// rope_parameters.
#include <cstdint>
#include <string>

#include "base/result.h"
#include "inference/weights/model_spec.h"

namespace quire::inference {

struct ConfigTexts {
  std::string config;             // config.json
  std::string generation_config;  // Empty where the file is missing, as is the next.
  std::string tokenizer_config;
  std::string folder;  // For messages; its last part becomes the model's name.
  // The width of the q_norm that lies beside config.json, for a file without head_dim; 0: unknown.
  std::uint32_t norm_width = 0;
};

// Validated. The switches that depend on which tensors exist are as the configuration says.
Result<ModelSpec> parse_model_config(const ConfigTexts& texts);

}  // namespace quire::inference
