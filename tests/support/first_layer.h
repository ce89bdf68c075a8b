#pragma once
// The parts of a model's first layer, for tests of models whose layers are alike.
#include <variant>

#include "inference/weights/model_spec.h"

namespace quire::test {

inline const inference::AttentionSpec& attention_of(const inference::ModelSpec& spec) {
  return std::get<inference::AttentionSpec>(spec.layers.front().mixer);
}
inline const inference::DenseSpec& dense_of(const inference::ModelSpec& spec) {
  return std::get<inference::DenseSpec>(spec.layers.front().feed_forward);
}

// Two layers of four heads, of which two have keys and values.
inline inference::ModelSpec small_spec(const std::string& architecture) {
  inference::ModelSpec spec;
  spec.architecture = architecture;
  spec.embedding_width = 32;
  spec.layers.assign(2,
                     {inference::AttentionSpec{.head_count = 4, .kv_head_count = 2, .head_dim = 8},
                      inference::DenseSpec{.width = 48}});
  return spec;
}

}  // namespace quire::test
