#pragma once
// Selection of the largest values of a distribution.
//
// Thread   any; the scratch memory is the caller's, so that a steady state allocates nothing.
#include <cstdint>
#include <span>
#include <vector>

namespace quire::inference {

struct TopKScratch {
  struct Entry {
    std::uint32_t key = 0;
    std::uint32_t index = 0;
  };
  std::vector<float> block_max;
  std::vector<float> sorted_max;
  std::vector<Entry> entries;
  std::vector<Entry> sorted_entries;
};

// Indices of the min(k, values.size()) largest values, falling, ties by rising index.
// Requires: no NaN among the values.
void select_top(std::span<const float> values, std::uint32_t k, TopKScratch& scratch,
                std::vector<std::uint32_t>& indices);

}  // namespace quire::inference
