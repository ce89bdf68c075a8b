#pragma once
// One --adapter: [MODEL:]NAME=PATH[@SCALE].
#include <optional>
#include <string>

#include "base/result.h"

namespace quire::cli {

struct AdapterOption {
  std::string model;  // Empty: the first model.
  std::string name;
  std::string path;            // A folder in PEFT's form, or a GGUF file.
  std::optional<float> scale;  // A factor of its own.
};

// InvalidArgument, with the form that is wanted.
Result<AdapterOption> parse_adapter(const std::string& text);

}  // namespace quire::cli
