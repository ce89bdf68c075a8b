#pragma once
// Products of 8-bit codes on 256-bit VNNI: vpdpbusd adds four products of an unsigned code and a
// signed activation to 32 bits, and never saturates. The integers are those of every other set.
#include "inference/kernels/avx2/lines.h"

namespace quire::inference {
namespace {

struct Codes : LinesOf256 {
  template <int kBits>
  struct Operand {
    Line code;
    explicit Operand(Line line) : code(line) {}
  };

  template <int kBits>
  struct Sum {
    Integers total{_mm256_setzero_si256(), _mm256_setzero_si256()};

    template <int kZeroBits>
    void start(int32_t negative_sum) {
      total.low = total.high = _mm256_slli_epi32(_mm256_set1_epi32(negative_sum), kZeroBits);
    }
    template <bool kStarted>
    void add(const Operand<kBits>& w, Spread x, int) {
      total = {_mm256_dpbusd_avx_epi32(total.low, w.code.low, x),
               _mm256_dpbusd_avx_epi32(total.high, w.code.high, x)};
    }
  };
};

}  // namespace
}  // namespace quire::inference
