#pragma once
// Reads the spec and the tensors of a model from a parsed GGUF file.
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inference/weights/gguf_file.h"
#include "inference/weights/model_spec.h"
#include "inference/weights/stored_tensor.h"

namespace quire::inference {

// Whether a GGUF file with this general.architecture can be a model here.
bool supports_gguf_architecture(std::string_view architecture);

// Validated, except that the tensors are not bound yet.
Result<ModelSpec> gguf_model_spec(const GgufFile& file);
Result<std::vector<StoredTensor>> gguf_stored_tensors(const GgufFile& file);

}  // namespace quire::inference
