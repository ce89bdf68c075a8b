#pragma once
// Adapters for tests: of rank 1 on one projection, or random over all of a model.
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "inference/api/adapter.h"
#include "inference/api/types.h"

namespace quire::inference {

// `feed_forward_width`: ModelInfo does not say it.
inline AdapterBase adapter_base_of(const ModelInfo& model, std::uint32_t feed_forward_width = 64) {
  return {.architecture = model.architecture,
          .embedding_width = model.embedding_width,
          .vocabulary_size = model.vocabulary_size,
          .layers = std::vector<AdapterLayer>(model.layer_count,
                                              {.query_width = model.head_count * model.head_dim,
                                               .kv_width = model.kv_head_count * model.head_dim,
                                               .feed_forward_width = feed_forward_width})};
}

inline std::vector<std::byte> bytes_of_floats(const std::vector<float>& values) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

inline AdapterPart part_of(const AdapterBase& base, std::uint32_t layer, Projection projection,
                           std::uint32_t rank, float value) {
  const std::vector<float> a(std::size_t{rank} * base.input_count(layer, projection), value);
  const std::vector<float> b(std::size_t{rank} * base.output_count(layer, projection), value);
  return {.layer = layer,
          .projection = projection,
          .rank = rank,
          .a = bytes_of_floats(a),
          .b = bytes_of_floats(b)};
}

// Another seed, another digest. For backends without arithmetic.
inline std::shared_ptr<const Adapter> small_adapter(const ModelInfo& model, std::uint32_t seed) {
  const AdapterBase base = adapter_base_of(model);
  std::vector<AdapterPart> parts;
  parts.push_back(part_of(base, 0, Projection::Query, 1, 1.0f + static_cast<float>(seed)));
  return Adapter::create(base, std::move(parts)).value();
}

}  // namespace quire::inference
