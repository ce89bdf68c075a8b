#pragma once
// Sixteen rows of four 8-bit codes in two registers: what the 256-bit sets share of `Codes`.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inference/kernels/avx2/lanes.h"

namespace quire::inference {
namespace {

struct LinesOf256 {
  struct Line {
    __m256i low, high;  // Eight rows each.
  };
  using Integers = Line;  // Sixteen rows of one 32-bit number.
  using Spread = __m256i;

  static constexpr bool line_by_line(int) { return true; }
  static constexpr int kTileTokens = 4;
  static constexpr int kPanelTileTokens = 4;
  static constexpr uint32_t kPanelBlocks = 32;  // 20 KiB of a first-level cache of 32 or more.
  // A panel pays from so many tokens on.
  static constexpr uint32_t many_tokens(int code_bits, uint32_t) { return code_bits < 8 ? 8 : 32; }

  static Line load(const uint8_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32))};
  }
  static void store(uint8_t* to, Line line) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), line.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), line.high);
  }
  static Line masked(Line line, char mask) {
    return {_mm256_and_si256(line.low, _mm256_set1_epi8(mask)),
            _mm256_and_si256(line.high, _mm256_set1_epi8(mask))};
  }
  static Line either(Line a, Line b) {
    return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
  }
  // Shifts of pairs of codes; the caller masks what crosses from one into the other.
  static Line right(Line line, int bits) {
    return {_mm256_srli_epi16(line.low, bits), _mm256_srli_epi16(line.high, bits)};
  }
  static Line left(Line line, int bits) {
    return {_mm256_slli_epi16(line.low, bits), _mm256_slli_epi16(line.high, bits)};
  }
  // Four activations in every lane of four.
  static Spread spread(const int8_t* from) {
    int32_t word;
    memcpy(&word, from, sizeof(word));
    return _mm256_set1_epi32(word);
  }
  static Lanes::Float floats(Integers dot) {
    return {_mm256_cvtepi32_ps(dot.low), _mm256_cvtepi32_ps(dot.high)};
  }
  // Sixteen bytes as numbers.
  static Lanes::Float floats_of_unsigned(__m128i bytes) {
    return floats({_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))});
  }
  static Lanes::Float floats_of_signed(__m128i bytes) {
    return floats({_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))});
  }
};

}  // namespace
}  // namespace quire::inference
