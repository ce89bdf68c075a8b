#pragma once
// How the simulated device (inference/devices/simulated) mixes numbers, for models of it.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "control/api/adapter_runs.h"

namespace quire::test {

inline constexpr std::uint64_t kDeviceSeed = 1;  // Of SimulatedBackendOptions.

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) ^ b);
}

// A digest of adapters with their scales, in the order in which the simulated device folds them.
inline std::uint64_t digest_of_set(const std::vector<control::ScaledAdapter>& set) {
  std::uint64_t digest = 0;
  for (const control::ScaledAdapter& each : set) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), each.digest.data(), sizeof(words));
    for (const std::uint64_t word : words) digest = mix(digest, word);
    digest = mix(digest, std::bit_cast<std::uint32_t>(each.scale));
  }
  return digest;
}

}  // namespace quire::test
