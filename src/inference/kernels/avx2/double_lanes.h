#pragma once
// The part of Lanes that adds in double.
#include <immintrin.h>

#include "inference/kernels/avx2/two_vectors.h"

namespace quire::inference {
namespace {

struct DoubleLanes {
  // Sums of sixteen lanes in double.
  struct Doubles {
    __m256d four[4];
  };
  static Doubles no_doubles() {
    const __m256d zero = _mm256_setzero_pd();
    return {{zero, zero, zero, zero}};
  }
  static Doubles add_floats(Doubles sums, TwoVectors x) {
    const auto low = [](__m256 y) { return _mm256_cvtps_pd(_mm256_castps256_ps128(y)); };
    const auto high = [](__m256 y) { return _mm256_cvtps_pd(_mm256_extractf128_ps(y, 1)); };
    return {{_mm256_add_pd(sums.four[0], low(x.low)), _mm256_add_pd(sums.four[1], high(x.low)),
             _mm256_add_pd(sums.four[2], low(x.high)), _mm256_add_pd(sums.four[3], high(x.high))}};
  }
  static double sum(Doubles x) {
    const __m256d four =
        _mm256_add_pd(_mm256_add_pd(x.four[0], x.four[2]), _mm256_add_pd(x.four[1], x.four[3]));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
};

}  // namespace
}  // namespace quire::inference
