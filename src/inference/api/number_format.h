#pragma once
// The number formats in which weights are stored in files.
#include <cstdint>

namespace quire::inference {

enum class NumberFormat : std::uint8_t {
  F32,
  F16,
  BF16,
  Q8_0,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q4_K,
  Q5_K,
  Q6_K,
};

// A row of weights is stored in blocks: `block_values` numbers in `block_bytes` bytes.
struct FormatShape {
  const char* name;
  std::uint32_t block_values;
  std::uint32_t block_bytes;
};

constexpr FormatShape format_shape(NumberFormat format) {
  switch (format) {
    case NumberFormat::F32:
      return {"F32", 1, 4};
    case NumberFormat::F16:
      return {"F16", 1, 2};
    case NumberFormat::BF16:
      return {"BF16", 1, 2};
    case NumberFormat::Q8_0:
      return {"Q8_0", 32, 34};
    case NumberFormat::Q4_0:
      return {"Q4_0", 32, 18};
    case NumberFormat::Q4_1:
      return {"Q4_1", 32, 20};
    case NumberFormat::Q5_0:
      return {"Q5_0", 32, 22};
    case NumberFormat::Q5_1:
      return {"Q5_1", 32, 24};
    case NumberFormat::Q4_K:
      return {"Q4_K", 256, 144};
    case NumberFormat::Q5_K:
      return {"Q5_K", 256, 176};
    case NumberFormat::Q6_K:
      return {"Q6_K", 256, 210};
  }
  return {"unknown", 1, 0};
}

constexpr bool is_quantised(NumberFormat format) {
  return format_shape(format).block_values > 1;
}

}  // namespace quire::inference
