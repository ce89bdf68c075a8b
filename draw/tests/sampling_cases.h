#pragma once
// One number for thousands of draws, so that a native build and a Wasm build can be compared.
#include <bit>
#include <cstdint>
#include <vector>

#include "quire/sampling.h"

namespace quire::test {

struct Distribution {
  std::vector<std::uint32_t> tokens;
  std::vector<float> probabilities;
};

// `count` tokens whose probabilities fall by random ratios and hold 0.97 of the mass or so.
inline Distribution falling_distribution(std::uint64_t seed, std::uint32_t count) {
  sampling::Random random(seed);
  Distribution out;
  double each = 0.9 * (0.05 + random.uniform());
  for (std::uint32_t i = 0; i < count; ++i) {
    out.tokens.push_back(static_cast<std::uint32_t>(random.next() % 49152));
    out.probabilities.push_back(static_cast<float>(each));
    each *= 0.3 + 0.7 * random.uniform();
  }
  return out;
}

// FNV-1a over every token drawn from 40 distributions under 20 options, and over the bits of the
// two functions that temperature needs.
inline std::uint64_t digest_of_many_draws() {
  std::uint64_t digest = 0xcbf29ce484222325ull;
  const auto take_in = [&](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      digest = (digest ^ ((value >> (8 * byte)) & 0xff)) * 0x100000001b3ull;
    }
  };
  const double temperatures[] = {0.0, 0.3, 0.7, 1.0, 1.7};
  const SamplerOptions shapes[] = {{}, {.top_k = 5}, {.top_p = 0.8}, {.min_p = 0.05}};
  for (double temperature : temperatures) {
    for (SamplerOptions options : shapes) {
      options.temperature = temperature;
      options.seed = 42;
      Sampler sampler(options);
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Distribution given = falling_distribution(seed, seed % 2 == 0 ? 256 : 7);
        for (int draw = 0; draw < 8; ++draw)
          take_in(sampler.draw(given.tokens, given.probabilities));
      }
    }
  }
  sampling::Random random(7);
  for (int i = 0; i < 10000; ++i) {
    const double value = random.uniform() + 1e-9;
    take_in(std::bit_cast<std::uint64_t>(sampling::log2(value)));
    take_in(std::bit_cast<std::uint64_t>(sampling::exp2(-40.0 * value)));
  }
  return digest;
}

// The result of digest_of_many_draws on every machine. It may change only together with the meaning
// of a seed, which users keep in their scripts.
inline constexpr std::uint64_t kDigestOfManyDraws = 0xf5d115466c8c9773ull;

}  // namespace quire::test
