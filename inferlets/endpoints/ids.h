#pragma once
// Random seeds, and ids made of a seed.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "quire/quire.h"

namespace endpoints {

using namespace quire;

inline std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  const Result<void> drawn = runtime::random(std::as_writable_bytes(std::span(&seed, 1)));
  return drawn.ok() ? seed : static_cast<std::uint64_t>(runtime::now().count());
}

// `count` letters and digits that are a function of `seed`.
inline std::string id_text(std::uint64_t seed, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string text;
  while (text.size() < count) {
    seed += 0x9e37'79b9'7f4a'7c15u;  // SplitMix64.
    std::uint64_t mixed = (seed ^ (seed >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d0'49bb'1331'11ebu;
    text += kDigits[(mixed ^ (mixed >> 31)) % kDigits.size()];
  }
  return text;
}
inline std::string random_id() {
  return id_text(random_seed(), 24);
}

}  // namespace endpoints
