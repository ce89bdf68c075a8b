#pragma once
// Eight columns of a state's tile on AVX2: what the delta rule of vector_recurrent.h is written in.
// Two registers at a time, as Lanes has them, the sums of a row would not fit the sixteen of AVX2.
#include <immintrin.h>
#include <stdint.h>

namespace quire::inference {
namespace {

struct Columns {
  using Float = __m256;
  static constexpr uint32_t kWidth = 8;

  static Float zero() { return _mm256_setzero_ps(); }
  static Float set(float x) { return _mm256_set1_ps(x); }
  static Float load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Float x) { _mm256_storeu_ps(to, x); }
  static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float multiply(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Float negative_fma(Float a, Float b, Float c) { return _mm256_fnmadd_ps(a, b, c); }
};

}  // namespace
}  // namespace quire::inference
