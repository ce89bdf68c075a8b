#pragma once
// Weights that are numbers: their tiles, and what the loops of vector_matmul.h ask of them.
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_tiles.h"

namespace quire::inference {
namespace {

struct HalfNumbers {
  static constexpr bool kStreamed = true;
  static constexpr size_t kBytes = 2;
  static Lanes::Float load(const uint8_t* from) { return Lanes::load_f16(from); }
};
struct BrainNumbers {
  static constexpr bool kStreamed = true;
  static constexpr size_t kBytes = 2;
  static Lanes::Float load(const uint8_t* from) { return Lanes::load_bf16(from); }
};
struct FloatNumbers {
  static constexpr bool kStreamed = true;
  static constexpr size_t kBytes = 4;
  static Lanes::Float load(const uint8_t* from) {
    return Lanes::load(reinterpret_cast<const float*>(from));
  }
};

struct PanelNumbers : FloatNumbers {
  static constexpr bool kStreamed = false;
};

// sum = fma(weight, activation, sum), column by column.
template <typename N, int kGroups, int kTokens>
void float_tile(const Strip& strip) {
  Sums<kGroups, kTokens> sums(strip);
  const uint8_t* weights = strip.weights;
  const float* x = reinterpret_cast<const float*>(strip.activations);
  const size_t stride = strip.activation_stride / sizeof(float);
  for (uint32_t column = 0; column < strip.unit_count; ++column, ++x) {
    Lanes::Float numbers[kGroups];
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const uint8_t* from = weights + g * strip.group_bytes;
      if constexpr (N::kStreamed) prefetch(from + kPrefetchBytes / kGroups, 1);
      numbers[g] = N::load(from);
    }
#pragma GCC unroll 16
    for (int j = 0; j < kTokens; ++j) {
      const Lanes::Float activation = Lanes::set(x[j * stride]);
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        sums.at[g][j] = Lanes::fma(numbers[g], activation, sums.at[g][j]);
      }
    }
    weights += kRows * N::kBytes;
  }
  sums.store(strip);
}

// A matrix of numbers: units of one column.
template <typename N>
struct Floats {
  static constexpr uint32_t kUnitColumns = 1;
  static constexpr size_t kUnitBytes = kRows * N::kBytes;
  static constexpr size_t kUnitActivationBytes = sizeof(float);
  static constexpr uint32_t kPanelUnits = kPanelBytesMax / (kRows * sizeof(float));
  static constexpr int kTokens = Codes::kTileTokens;
  // One token adds column after column to few sums, which takes longer than reading.
  static constexpr int kGroupsOfOne = 4;
  static constexpr uint32_t kManyTokens = Codes::many_tokens(32);

  template <int kGroups, int kTokenCount>
  static void direct(const Strip& strip) {
    float_tile<N, kGroups, kTokenCount>(strip);
  }
  template <int kTokenCount>
  static void from_panel(const Strip& strip) {
    float_tile<PanelNumbers, 1, kTokenCount>(strip);
  }
  static void unpack(const uint8_t* weights, uint32_t unit_count, uint8_t* panel) {
    for (uint32_t column = 0; column < unit_count; ++column) {
      Lanes::store(reinterpret_cast<float*>(panel), N::load(weights));
      weights += kUnitBytes;
      panel += kRows * sizeof(float);
    }
  }
};

}  // namespace
}  // namespace quire::inference
