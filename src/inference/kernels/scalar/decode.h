#pragma once
// Numbers as weights store them, to F32: the definition that every packer and kernel is tested
// against. Bit for bit what gguf's reference gives in float32 arithmetic.
#include <cstddef>
#include <cstdint>

#include "inference/api/number_format.h"

namespace quire::inference {

// `count` numbers, whole blocks of `format`, from `blocks` to `out`. Neither needs alignment.
void decode_row(NumberFormat format, const std::byte* blocks, std::size_t count, float* out);

}  // namespace quire::inference
