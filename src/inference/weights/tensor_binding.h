#pragma once
// Binds the tensors of a file to the roles that the transformer body wants.
//
// GGUF and safetensors differ in names only; here their names meet the roles. Every tensor that the
// spec asks for must exist with its shape. A tensor that no switch of the body explains is refused
// rather than left out.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "inference/weights/model_spec.h"
#include "inference/weights/weight_source.h"

namespace quire::inference {

enum class TensorNaming : std::uint8_t { Gguf, HuggingFace };

// A tensor as a file names it; dimensions slowest first, vectors with row_count 1.
struct StoredTensor {
  std::string name;
  NumberFormat format{};
  std::uint64_t row_count = 1;
  std::uint64_t column_count = 1;
  std::uint64_t offset = 0;
  std::shared_ptr<const ByteSource> source;
};

// Layer 0's optional tensors, the presence of an Output and the architecture decide the switches
// has_qk_norm, has_qkv_bias, has_attention_output_bias and tied_embeddings.
void set_switches(const std::vector<StoredTensor>& tensors, TensorNaming naming, ModelSpec& spec);

// Requires a validated spec.
Result<WeightSource> bind_tensors(const std::vector<StoredTensor>& tensors, TensorNaming naming,
                                  const ModelSpec& spec);

}  // namespace quire::inference
