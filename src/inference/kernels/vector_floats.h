#pragma once
// Weights that are numbers: their tiles, and what the loops of vector_matmul.h ask of them.
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_tiles.h"

namespace quire::inference {
namespace {

struct HalfNumbers {
  static constexpr size_t kBytes = 2;
  static Lanes::Float load(const uint8_t* from) { return Lanes::load_f16(from); }
};
struct BrainNumbers {
  static constexpr size_t kBytes = 2;
  static Lanes::Float load(const uint8_t* from) { return Lanes::load_bf16(from); }
};
struct FloatNumbers {
  static constexpr size_t kBytes = 4;
  static Lanes::Float load(const uint8_t* from) {
    return Lanes::load(reinterpret_cast<const float*>(from));
  }
};

// sum = fma(weight, activation, sum), column by column.
template <typename N, int kGroups, int kTokens, Reading kReading>
void float_tile(const Strip& strip, uint8_t* panel = nullptr) {
  Sums<kGroups, kTokens> sums(strip);
  const uint8_t* weights = strip.weights;
  const float* x = reinterpret_cast<const float*>(strip.activations);
  const size_t stride = strip.activation_stride / sizeof(float);
  for (uint32_t column = 0; column < strip.unit_count; ++column, ++x) {
    Lanes::Float numbers[kGroups];
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const uint8_t* from = weights + g * strip.group_bytes;
      if constexpr (kReading != Reading::Again) prefetch(from + strip.ahead / kGroups, 1);
      numbers[g] = N::load(from);
    }
    if constexpr (kReading == Reading::ToPanel) {
      Lanes::store(reinterpret_cast<float*>(panel), numbers[0]);
      panel += kRows * sizeof(float);
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
  static constexpr int kPanelTokens = Codes::kTileTokens;
  // One token adds column after column to few sums, which takes longer than reading.
  static constexpr int kGroupsOfOne = 4;
  static constexpr uint32_t kManyTokens = Codes::many_tokens(32, 1);

  template <int kGroups, int kTokenCount>
  static void direct(const Strip& strip) {
    float_tile<N, kGroups, kTokenCount, Reading::Once>(strip);
  }
  // A first tile of many, and the others, which find what it leaves in the panel.
  template <int kTokenCount>
  static void first(const Strip& strip, uint8_t* panel) {
    float_tile<N, 1, kTokenCount, Reading::ToPanel>(strip, panel);
  }
  template <int kTokenCount>
  static void rest(Strip strip, const uint8_t* panel) {
    strip.weights = panel;
    float_tile<FloatNumbers, 1, kTokenCount, Reading::Again>(strip);
  }
};

}  // namespace
}  // namespace quire::inference
