#pragma once
// How much decoding of each tenant one batch takes, where several tenants decode.
//
// A step with all decoding takes as long as that of the tenant with most streams. A tenant with one
// stream would wait that long for each token. So its step takes at most as many times longer than
// its own decoding alone as its weight is a part of all weights: three times beside two tenants of
// its weight. What such a step has room for is divided by weight, and what a tenant does not want
// goes to the others. The rest of their decoding waits for the next batch, and they take turns
// within their tenant.
//
// Costs are in rows of the model alone. A step costs `step_rows` before its first row.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace quire::control {

struct DecodeWish {
  std::uint32_t place = 0;  // The caller's.
  double weight = 1;        // Positive.
  double cost = 0;          // Of all that is ready; positive.
  double limit = 0;         // Set by limit_decode_costs(): what the batch may take.
};

// The largest level at which parts of at most weight x level add up to `room`.
inline double level_of(std::span<const DecodeWish> by_level, double room) {
  double weights = 0;
  for (const DecodeWish& each : by_level) weights += each.weight;
  for (const DecodeWish& each : by_level) {
    const double level = room / weights;
    if (each.cost >= each.weight * level) return level;
    room -= each.cost;
    weights -= each.weight;
  }
  return 0;  // All fits.
}

// False: the batch takes all of it. `stretch`: of what a step takes for decoding, the part that
// prefill beside it adds. Each tenant gets something.
inline bool limit_decode_costs(std::vector<DecodeWish>& wishes, double step_rows, double stretch) {
  if (wishes.size() < 2) return false;
  double weights = 0;
  double all = 0;
  double least = std::numeric_limits<double>::max();  // Of a step alone, over the weight.
  for (const DecodeWish& each : wishes) {
    weights += each.weight;
    all += each.cost;
    least = std::min(least, (step_rows + each.cost) / each.weight);
  }
  const double room = least * weights / stretch - step_rows;
  if (all <= room) return false;
  std::ranges::sort(wishes, [](const DecodeWish& left, const DecodeWish& right) {
    const double one = left.cost / left.weight;
    const double other = right.cost / right.weight;
    return one != other ? one < other : left.place < right.place;
  });
  const double level = level_of(wishes, std::max(room, 0.0));
  for (DecodeWish& each : wishes) {
    each.limit = std::max(std::min(each.cost, each.weight * level), 1e-9);
  }
  return true;
}

}  // namespace quire::control
