#pragma once
// Binds the tensors of a file to the roles that the body wants.
//
// Here the names of GGUF and safetensors meet the roles. Every tensor that the spec asks for must
// exist with its shape. Tensors of parts that are not served (a vision tower) are left out and
// counted. Any other tensor that no switch of the body explains is refused.
#include <vector>

#include "base/result.h"
#include "inference/weights/model_spec.h"
#include "inference/weights/stored_tensor.h"
#include "inference/weights/weight_source.h"

namespace quire::inference {

// The optional tensors of the first layer that attends, the presence of an Output and the
// architecture decide which norms and biases the layers have, and whether embeddings are tied.
void set_switches(const std::vector<StoredTensor>& tensors, TensorNaming naming, ModelSpec& spec);

// Requires a validated spec.
Result<WeightSource> bind_tensors(const std::vector<StoredTensor>& tensors, TensorNaming naming,
                                  const ModelSpec& spec);

}  // namespace quire::inference
