#pragma once
// Numbers of the formats without blocks (F32, F16, BF16), one by one.
//
// Thread   any; no state.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "inference/api/number_format.h"

namespace quire::inference {

// Number `index` of `numbers`, which need no alignment. Requires: not is_quantised(format).
inline float plain_number(NumberFormat format, const void* numbers, std::size_t index) {
  const auto* bytes = static_cast<const std::byte*>(numbers);
  if (format == NumberFormat::F32) {
    float value = 0.0f;
    std::memcpy(&value, bytes + index * sizeof(value), sizeof(value));
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes + index * sizeof(bits), sizeof(bits));
  return format == NumberFormat::F16 ? float_from_f16(bits) : float_from_bf16(bits);
}

}  // namespace quire::inference
