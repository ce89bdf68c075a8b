#include "base/random.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace quire {

void SystemRandom::fill(std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = getrandom(into.data(), into.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    QUIRE_CHECK(got > 0, "getrandom serves any buffer once the kernel has booted");
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

void SeededRandom::fill(std::span<std::byte> into) {
  while (!into.empty()) {
    const std::uint64_t word = next();
    const std::size_t count = std::min(into.size(), sizeof word);
    std::memcpy(into.data(), &word, count);
    into = into.subspan(count);
  }
}

std::uint64_t SeededRandom::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace quire
