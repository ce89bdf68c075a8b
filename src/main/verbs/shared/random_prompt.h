#pragma once
// Prompts of random tokens, for measurements.
//
// Thread   any.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace quire {

// Returns ids from the middle of the vocabulary, where the models that we know have no special
// tokens.
inline std::vector<std::uint32_t> random_prompt(SeededRandom& random, std::uint32_t vocabulary_size,
                                                std::uint32_t count) {
  const std::uint32_t first = vocabulary_size / 4;
  const std::uint32_t span = std::max(1u, vocabulary_size / 2);
  std::vector<std::uint32_t> ids(count);
  for (std::uint32_t& id : ids) id = first + static_cast<std::uint32_t>(random.next() % span);
  return ids;
}

}  // namespace quire
