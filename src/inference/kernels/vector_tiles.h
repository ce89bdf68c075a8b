#pragma once
// Tiles of matrix products: sums of a few row groups and tokens. vector_matmul.h has the loops.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_blocks.h"

namespace quire::inference {
namespace {

// The operands of a tile.
struct Strip {
  const uint8_t* weights;  // First unit of the first group, or a panel.
  size_t group_bytes;
  ptrdiff_t ahead;  // From the weights in use to those that are asked for.
  uint32_t unit_count;
  const uint8_t* activations;  // Of the first token, at the first unit.
  size_t activation_stride;
  float* out;
  size_t out_stride;
  uint32_t row_count;  // Rows of the last group that exist.
  bool resume;         // Sums go on from `out`.
};

inline void prefetch(const uint8_t* from, size_t byte_count) {
  for (size_t at = 0; at < byte_count; at += kLine) {
    _mm_prefetch(reinterpret_cast<const char*>(from + at), _MM_HINT_T0);
  }
}

// Sums of kGroups row groups and kTokens tokens.
template <int kGroups, int kTokens>
struct Sums {
  Lanes::Float at[kGroups][kTokens];

  explicit Sums(const Strip& strip) {
    for (int g = 0; g < kGroups; ++g) {
      for (int j = 0; j < kTokens; ++j) {
        const float* from = strip.out + j * strip.out_stride + g * kRows;
        at[g][j] = !strip.resume                 ? Lanes::zero()
                   : is_whole<kGroups>(strip, g) ? Lanes::load(from)
                                                 : Lanes::load_first(from, strip.row_count);
      }
    }
  }
  void store(const Strip& strip) const {
    for (int g = 0; g < kGroups; ++g) {
      for (int j = 0; j < kTokens; ++j) {
        float* to = strip.out + j * strip.out_stride + g * kRows;
        if (is_whole<kGroups>(strip, g)) {
          Lanes::store(to, at[g][j]);
        } else {
          Lanes::store_first(to, strip.row_count, at[g][j]);
        }
      }
    }
  }

 private:
  template <int kCount>
  static bool is_whole(const Strip& strip, int group) {
    return group + 1 < kCount || strip.row_count == kRows;
  }
};

inline const ActivationBlock& token(const uint8_t* activations, size_t stride, int index) {
  return *reinterpret_cast<const ActivationBlock*>(activations + index * stride);
}

// The sum by which the zero of the codes counts, in the lines from kFirst on.
template <typename S, int kFirst>
inline int32_t negative_sum(const ActivationBlock& x) {
  if constexpr (!S::kHalves) return x.negative_sum;
  return kFirst == 0 ? x.negative_sum_low : x.negative_sum - x.negative_sum_low;
}

template <typename S, int kFirst>
inline Codes::Sum<S::kBits> started(const ActivationBlock& x) {
  Codes::Sum<S::kBits> sum;
  if constexpr (!S::kMinimum) sum.template start<S::kZeroBits>(negative_sum<S, kFirst>(x));
  return sum;
}

inline Lanes::Float term(Codes::Integers dot, Lanes::Float weight, float activation,
                         Lanes::Float sum) {
  return Lanes::fma(Codes::floats(dot), Lanes::multiply(weight, Lanes::set(activation)), sum);
}

// Adds the lines [kFirst, kEnd) of one block of sixteen rows to the sum of each token. Each line
// meets all tokens before the next is unpacked: for sets with few registers.
template <typename B, int kTokens, int kFirst, int kEnd>
inline void add_lines(const B& block, Lanes::Float scale, const uint8_t* x, size_t stride,
                      Lanes::Float (&sums)[kTokens]) {
  using S = typename B::Shape;
  Codes::Sum<S::kBits> dots[kTokens];
#pragma GCC unroll 16
  for (int j = 0; j < kTokens; ++j) dots[j] = started<S, kFirst>(token(x, stride, j));
#pragma GCC unroll 8
  for (int i = kFirst; i < kEnd; ++i) {
    const Codes::Operand<S::kBits> operand(block.line(i));
#pragma GCC unroll 16
    for (int j = 0; j < kTokens; ++j) {
      const Codes::Spread four = Codes::spread(token(x, stride, j).values + 4 * i);
      dots[j].template add<!S::kMinimum>(operand, four, i - kFirst);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < kTokens; ++j) {
    sums[j] = term(dots[j].total, scale, token(x, stride, j).scale, sums[j]);
  }
}

// The same for sets whose registers hold all lines of a block: token by token.
template <typename B, int kTokens, int kFirst, int kEnd>
inline void add_tokens(const B& block, Lanes::Float scale, const uint8_t* x, size_t stride,
                       Lanes::Float (&sums)[kTokens]) {
  using S = typename B::Shape;
  Codes::Line lines[kEnd - kFirst];
#pragma GCC unroll 8
  for (int i = kFirst; i < kEnd; ++i) lines[i - kFirst] = block.line(i);
#pragma GCC unroll 16
  for (int j = 0; j < kTokens; ++j) {
    const ActivationBlock& at = token(x, stride, j);
    Codes::Sum<S::kBits> dot = started<S, kFirst>(at);
#pragma GCC unroll 8
    for (int i = kFirst; i < kEnd; ++i) {
      dot.template add<!S::kMinimum>(Codes::Operand<S::kBits>(lines[i - kFirst]),
                                     Codes::spread(at.values + 4 * i), i - kFirst);
    }
    sums[j] = term(dot.total, scale, at.scale, sums[j]);
  }
}

template <typename B, int kTokens>
inline void add_block(const B& block, const uint8_t* x, size_t stride,
                      Lanes::Float (&sums)[kTokens]) {
  using S = typename B::Shape;
  constexpr int kMiddle = S::kHalves ? 4 : 8;
  if constexpr (Codes::line_by_line(kTokens)) {
    add_lines<B, kTokens, 0, kMiddle>(block, block.scale(), x, stride, sums);
    if constexpr (S::kHalves) {
      add_lines<B, kTokens, kMiddle, 8>(block, block.second(), x, stride, sums);
    }
  } else {
    add_tokens<B, kTokens, 0, kMiddle>(block, block.scale(), x, stride, sums);
    if constexpr (S::kHalves) {
      // Without this the compiler keeps what both halves load of every token, and spills it.
      asm volatile("" ::: "memory");
      add_tokens<B, kTokens, kMiddle, 8>(block, block.second(), x, stride, sums);
    }
  }
  if constexpr (S::kMinimum) {
    const Lanes::Float minimum = block.second();
#pragma GCC unroll 16
    for (int j = 0; j < kTokens; ++j) {
      sums[j] = Lanes::fma(minimum, Lanes::set(token(x, stride, j).scaled_sum), sums[j]);
    }
  }
}

// How a tile reads weights.
enum class Reading {
  Once,     // From memory; asks for some that come later.
  ToPanel,  // The same, and leaves them in a panel.
  Again,    // From the cache.
};

template <typename B, int kTokens, Reading kReading>
void quantised_tile(const Strip& strip, uint8_t* panel = nullptr) {
  Sums<1, kTokens> sums(strip);
  const uint8_t* weights = strip.weights;
  const uint8_t* x = strip.activations;
  constexpr size_t kBlockBytes = B::kUnitBytes / B::kBlocks;
  for (uint32_t unit = 0; unit < strip.unit_count; ++unit, weights += B::kUnitBytes) {
    for (uint32_t index = 0; index < B::kBlocks; ++index, x += sizeof(ActivationBlock)) {
      if constexpr (kReading != Reading::Again) {
        prefetch(weights + strip.ahead + index * kBlockBytes, kBlockBytes);
      }
      if constexpr (kReading == Reading::ToPanel) {
        add_block(KeptBlock<B>{B(weights, index), panel}, x, strip.activation_stride, sums.at[0]);
        panel += kPanelBlockBytes;
      } else {
        add_block(B(weights, index), x, strip.activation_stride, sums.at[0]);
      }
    }
  }
  sums.store(strip);
}

}  // namespace
}  // namespace quire::inference
