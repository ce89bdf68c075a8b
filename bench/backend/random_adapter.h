#pragma once
// Adapters for measurements: random numbers on all seven projections of all layers of a model.
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/half.h"
#include "inference/api/adapter.h"
#include "inference/weights/adapter_base.h"

namespace quire::inference {

inline std::vector<std::byte> random_halves(std::mt19937& random, NumberFormat format,
                                            std::size_t count) {
  const std::size_t step = format_shape(format).block_bytes;
  std::vector<std::byte> bytes(count * step);
  for (std::size_t i = 0; i < count; ++i) {
    // Values of +-2^-8 and less, which every format holds exactly.
    const float value = (static_cast<float>(random() % 255) - 127.0f) * 0x1p-15f;
    const std::uint16_t half = bf16_from_float(value);
    std::memcpy(bytes.data() + i * step,
                format == NumberFormat::F32 ? static_cast<const void*>(&value) : &half, step);
  }
  return bytes;
}

// BF16 or F32.
inline std::shared_ptr<const Adapter> random_adapter(const ModelSpec& spec, std::uint32_t seed,
                                                     std::uint32_t rank, NumberFormat format) {
  std::mt19937 random(seed);
  const AdapterBase base = adapter_base(spec);
  std::vector<AdapterPart> parts;
  for (std::uint32_t layer = 0; layer < base.layer_count(); ++layer) {
    for (std::uint32_t p = 0; p < 7; ++p) {
      const auto projection = static_cast<Projection>(p);
      parts.push_back(
          {.layer = layer,
           .projection = projection,
           .rank = rank,
           .a_format = format,
           .b_format = format,
           .a = random_halves(random, format,
                              std::size_t{rank} * base.input_count(layer, projection)),
           .b = random_halves(random, format,
                              std::size_t{rank} * base.output_count(layer, projection))});
    }
  }
  return Adapter::create(base, std::move(parts)).take();
}

}  // namespace quire::inference
