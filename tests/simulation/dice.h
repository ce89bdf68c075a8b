#pragma once
// Dice: what happens by chance in a simulated world, drawn from its seed.
#include <cstdint>

#include "base/random.h"

namespace quire::simulation {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t next() { return random_.next(); }
  // In [0, count); count > 0.
  std::uint32_t below(std::uint64_t count) { return static_cast<std::uint32_t>(next() % count); }
  // In [least, most].
  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return least + below(std::uint64_t{most} - least + 1);
  }
  bool one_in(std::uint32_t count) { return below(count) == 0; }
  bool percent(std::uint32_t chance) { return below(100) < chance; }
  // Short times are likelier than long ones: up to `most`, half of them below a thirty-second.
  std::uint64_t time_ns(std::uint64_t most_ns) {
    const std::uint64_t bound_ns = (most_ns >> below(11)) + 1;
    return next() % bound_ns;
  }

 private:
  SeededRandom random_;
};

}  // namespace quire::simulation
