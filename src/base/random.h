#pragma once
// Randomness is passed in, so that a simulation with one seed gives one trace.
#include <cstddef>
#include <cstdint>
#include <span>

namespace quire {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual void fill(std::span<std::byte> into) = 0;
};

// The kernel's generator.
class SystemRandom final : public RandomSource {
 public:
  void fill(std::span<std::byte> into) override;
};

// SplitMix64: for tests, simulations and programs that are launched with a seed, never for secrets.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  void fill(std::span<std::byte> into) override;
  std::uint64_t next();

 private:
  std::uint64_t state_;
};

}  // namespace quire
