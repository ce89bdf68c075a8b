#pragma once
// Sixteen rows of four 8-bit codes in one register, and their products, on AVX-512 with VNNI.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inference/kernels/avx512/lanes.h"

namespace quire::inference {
namespace {

struct Codes {
  using Line = __m512i;
  using Integers = __m512i;
  using Spread = __m512i;

  // The eight lines of a block stay in registers, beside one sum for each of sixteen tokens.
  static constexpr bool kLineByLine = false;
  static constexpr bool kPanels = false;
  static constexpr int kTileTokens = 16;
  static constexpr uint32_t kPanelBlocks = 16;  // 10 KiB, beside 12 KiB of activations of a tile.
  static constexpr uint32_t many_tokens(int) { return 17; }  // More than a tile.

  static Line load(const uint8_t* from) { return _mm512_loadu_si512(from); }
  static void store(uint8_t* to, Line line) { _mm512_storeu_si512(to, line); }
  static Line masked(Line line, char mask) {
    return _mm512_and_si512(line, _mm512_set1_epi8(mask));
  }
  static Line either(Line a, Line b) { return _mm512_or_si512(a, b); }
  // Shifts of pairs of codes; the caller masks what crosses from one into the other.
  static Line right(Line line, int bits) {
    return _mm512_srli_epi16(line, static_cast<unsigned>(bits));
  }
  static Line left(Line line, int bits) {
    return _mm512_slli_epi16(line, static_cast<unsigned>(bits));
  }
  // Four activations in every lane of four.
  static Spread spread(const int8_t* from) {
    int32_t word;
    memcpy(&word, from, sizeof(word));
    return _mm512_set1_epi32(word);
  }
  static Lanes::Float floats(Integers dot) { return _mm512_cvtepi32_ps(dot); }
  // Sixteen bytes as numbers.
  static Lanes::Float floats_of_unsigned(__m128i bytes) {
    return floats(_mm512_cvtepu8_epi32(bytes));
  }
  static Lanes::Float floats_of_signed(__m128i bytes) {
    return floats(_mm512_cvtepi8_epi32(bytes));
  }

  template <int kBits>
  struct Operand {
    Line code;
    explicit Operand(Line line) : code(line) {}
  };

  template <int kBits>
  struct Sum {
    Integers total = _mm512_setzero_si512();  // Sixteen rows of 32 bits.

    template <int kZeroBits>
    void start(int32_t negative_sum) {
      total = _mm512_slli_epi32(_mm512_set1_epi32(negative_sum), kZeroBits);
    }
    template <bool kStarted>
    void add(const Operand<kBits>& w, Spread x, int) {
      total = _mm512_dpbusd_epi32(total, w.code, x);
    }
  };
};

}  // namespace
}  // namespace quire::inference
