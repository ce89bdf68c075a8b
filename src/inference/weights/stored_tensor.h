#pragma once
// StoredTensor: a tensor as a file has it, before it has a role.
#include <cstdint>
#include <memory>
#include <string>

#include "inference/api/number_format.h"
#include "inference/weights/byte_source.h"

namespace quire::inference {

enum class TensorNaming : std::uint8_t { Gguf, HuggingFace };

// Dimensions slowest first; vectors have row_count 1.
struct StoredTensor {
  std::string name;
  NumberFormat format{};
  std::uint64_t row_count = 1;
  std::uint64_t column_count = 1;
  std::uint64_t matrix_count = 1;  // Matrices of that shape, one after the other.
  std::uint64_t offset = 0;
  std::shared_ptr<const ByteSource> source;
};

}  // namespace quire::inference
