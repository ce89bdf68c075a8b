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

  // A tile of eight tokens takes line after line, with a sum of integers for each token. A tile of
  // sixteen has no registers for that and goes token by token, with the lines of a block in
  // registers. It unpacks half as often.
  static constexpr bool line_by_line(int token_count) { return token_count <= 8; }
  static constexpr int kTileTokens = 16;
  static constexpr int kPanelTileTokens = 8;
  static constexpr uint32_t kPanelBlocks = 64;  // 40 KiB, in the second-level cache.
  // A panel pays from so many tokens on; sooner where scales too are unpacked.
  static constexpr uint32_t many_tokens(int, uint32_t unit_blocks) {
    return unit_blocks > 1 ? 9 : 64;
  }

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
