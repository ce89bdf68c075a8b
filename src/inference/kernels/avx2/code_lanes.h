#pragma once
// The part of Lanes for keys and values in 8 bits.
#include <immintrin.h>
#include <stdint.h>

#include "inference/kernels/avx2/two_vectors.h"

namespace quire::inference {
namespace {

struct CodeLanes {
  // Codes of keys, of 16 slots times four dimensions, and sums of their products with a query's
  // codes. The instruction multiplies numbers without sign, here the query's magnitudes, by numbers
  // with one, here keys with the query's sign; codes of -127 .. 127 do not saturate it.
  struct Codes {
    __m256i low, high;
  };
  using Ints = Codes;
  struct QueryCodes {
    __m256i magnitudes, codes;
  };
  static Codes load_key_codes(const void* low, const void* high) {
    return {_mm256_loadu_si256(static_cast<const __m256i*>(low)),
            _mm256_loadu_si256(static_cast<const __m256i*>(high))};
  }
  static QueryCodes load_query_codes(const int8_t* codes) {
    int32_t four;
    __builtin_memcpy(&four, codes, sizeof(four));
    const __m256i all = _mm256_set1_epi32(four);
    return {_mm256_abs_epi8(all), all};
  }
  static Ints first_sum(int32_t) { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Ints dot(Ints sums, Codes keys, QueryCodes query) {
    return {_mm256_add_epi32(sums.low, dot_eight(keys.low, query)),
            _mm256_add_epi32(sums.high, dot_eight(keys.high, query))};
  }
  static TwoVectors to_floats(Ints sums) {
    return {_mm256_cvtepi32_ps(sums.low), _mm256_cvtepi32_ps(sums.high)};
  }
  // Sixteen codes with sign.
  static TwoVectors load_codes(const void* from) {
    const __m128i codes = _mm_loadu_si128(static_cast<const __m128i*>(from));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8)))};
  }

 private:
  static __m256i dot_eight(__m256i keys, QueryCodes query) {
    const __m256i pairs =
        _mm256_maddubs_epi16(query.magnitudes, _mm256_sign_epi8(keys, query.codes));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
};

}  // namespace
}  // namespace quire::inference
