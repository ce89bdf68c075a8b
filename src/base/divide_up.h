#pragma once
#include <cstdint>

namespace quire {

// How many parts of `size` hold `count`. Requires: size is not 0, and count + size is in range.
constexpr std::uint32_t divide_up(std::uint32_t count, std::uint32_t size) {
  return (count + size - 1) / size;
}

}  // namespace quire
