#pragma once
// Products of 8-bit codes on AVX2.
//
// vpmaddubsw adds two products of an unsigned code and a signed activation in 16 bits, which
// saturates. Codes of 4 bits give at most 2 * 15 * 127 = 3,810 a line, so the eight lines of a
// block fit (30,480); of 5 bits 7,874, four lines; of 6 bits 16,002, two. Codes of 8 bits are taken
// as |w| times sign(w) * x: at most 2 * 128 * 127 = 32,512, one line.
#include "inference/kernels/avx2/lines.h"

namespace quire::inference {
namespace {

struct Codes : LinesOf256 {
  // A line as products take it.
  template <int kBits>
  struct Operand {
    Line code;
    explicit Operand(Line line) : code(line) {}
    __m256i low(Spread x) const { return _mm256_maddubs_epi16(code.low, x); }
    __m256i high(Spread x) const { return _mm256_maddubs_epi16(code.high, x); }
  };

  // The dot of a line after the other with the activations of one token.
  template <int kBits>
  struct Sum {
    static constexpr int kLinesTogether = kBits == 4 ? 8 : kBits == 5 ? 4 : kBits == 6 ? 2 : 1;
    Line pairs;      // 16 bits a product.
    Integers total;  // 32 bits a row.

    template <int kZeroBits>
    void start(int32_t negative_sum) {
      total.low = total.high = zero<kZeroBits>(negative_sum);
    }
    template <bool kStarted>
    void add(const Operand<kBits>& w, Spread x, int index) {
      if (index % kLinesTogether == 0) {
        pairs = {w.low(x), w.high(x)};
      } else {
        pairs = {_mm256_add_epi16(pairs.low, w.low(x)), _mm256_add_epi16(pairs.high, w.high(x))};
      }
      if (index % kLinesTogether != kLinesTogether - 1) return;
      const Line wide{widen(pairs.low), widen(pairs.high)};
      if (kStarted || index >= kLinesTogether) {
        total = {_mm256_add_epi32(total.low, wide.low), _mm256_add_epi32(total.high, wide.high)};
      } else {
        total = wide;
      }
    }
  };

 private:
  // The part of a dot that the zero of the codes takes. Codes of 8 bits are centred by their
  // products.
  template <int kZeroBits>
  static __m256i zero(int32_t negative_sum) {
    if constexpr (kZeroBits == 7) return _mm256_setzero_si256();
    return _mm256_slli_epi32(_mm256_set1_epi32(negative_sum), kZeroBits);
  }
  // Adds pairs of 16-bit sums into 32 bits.
  static __m256i widen(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }
};

template <>
struct Codes::Operand<8> {
  Line weight, magnitude;
  explicit Operand(Line line)
      : weight{centred(line.low), centred(line.high)},
        magnitude{_mm256_abs_epi8(weight.low), _mm256_abs_epi8(weight.high)} {}
  __m256i low(Spread x) const {
    return _mm256_maddubs_epi16(magnitude.low, _mm256_sign_epi8(x, weight.low));
  }
  __m256i high(Spread x) const {
    return _mm256_maddubs_epi16(magnitude.high, _mm256_sign_epi8(x, weight.high));
  }

 private:
  static __m256i centred(__m256i code) { return _mm256_xor_si256(code, _mm256_set1_epi8(-128)); }
};

}  // namespace
}  // namespace quire::inference
