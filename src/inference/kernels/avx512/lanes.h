#pragma once
// Sixteen floats at a time on AVX-512: what vector_math.h and vector_attention.h are written in.
// avx2/lanes.h offers the same operations with the same results, bit for bit.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace quire::inference {
namespace {

struct Lanes {
  using Float = __m512;
  // Attention tiles: `tile` queries against so many lane blocks of keys, so many vectors of values.
  static constexpr int kTileMax = 8;
  static constexpr int kCodesTileMax = 8;
  // At least eight sums at once hide the latency of a multiplication and addition.
  static constexpr int key_blocks(int tile) { return tile <= 2 ? 8 : tile <= 6 ? 4 : 2; }
  static constexpr int value_vectors(int tile) { return tile <= 2 ? 8 : tile <= 6 ? 4 : 2; }

  static Float zero() { return _mm512_setzero_ps(); }
  static Float set(float x) { return _mm512_set1_ps(x); }
  static Float load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Float x) { _mm512_storeu_ps(to, x); }
  // The first `count` lanes, below sixteen; the others are zero, or not stored.
  static Float load_first(const float* from, unsigned count) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
  }
  static void store_first(float* to, unsigned count, Float x) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), x);
  }

  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float subtract(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static Float multiply(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float divide(Float a, Float b) { return _mm512_div_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Float negative_fma(Float a, Float b, Float c) { return _mm512_fnmadd_ps(a, b, c); }
  // The second where either is not a number.
  static Float max(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Float min(Float a, Float b) { return _mm512_min_ps(a, b); }

  static Float round_even(Float x) { return _mm512_roundscale_ps(x, 0); }
  static Float times_power_of_two(Float x, Float exponent) { return _mm512_scalef_ps(x, exponent); }
  // 2^exponent * mantissa, with a mantissa from sqrt(1/2) to sqrt(2). Normal numbers above zero.
  static void split(Float x, Float* exponent, Float* mantissa) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i power =
        _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f3504f3)), 23);
    *exponent = _mm512_cvtepi32_ps(power);
    *mantissa = _mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32(power, 23)));
  }
  // Sums of sixteen lanes in double.
  struct Doubles {
    __m512d low, high;
  };
  static Doubles no_doubles() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
  static Doubles add_floats(Doubles sums, Float x) {
    return {_mm512_add_pd(sums.low, _mm512_cvtps_pd(_mm512_castps512_ps256(x))),
            _mm512_add_pd(sums.high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)))};
  }
  static double sum(Doubles x) { return _mm512_reduce_add_pd(_mm512_add_pd(x.low, x.high)); }
  // x, and zero where y < bound.
  static Float zero_where_less(Float x, Float y, Float bound) {
    const __mmask16 keep = static_cast<__mmask16>(~_mm512_cmp_ps_mask(y, bound, _CMP_LT_OQ));
    return _mm512_maskz_mov_ps(keep, x);
  }
  // Lanes of `chosen` whose bit is set, else of `other`.
  static Float select(uint32_t bits, Float chosen, Float other) {
    return _mm512_mask_mov_ps(other, static_cast<__mmask16>(bits), chosen);
  }

  // A fixed tree: lane i with i + 8, then i + 4, i + 2, i + 1.
  static float sum(Float x) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float largest(Float x) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  static float first(Float x) { return _mm512_cvtss_f32(x); }
  static float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

  // Sixteen numbers from two places of eight (the second is the first + 8 in one piece).
  static Float load_f32(const void* low, const void* high) {
    return _mm512_insertf32x8(
        _mm512_castps256_ps512(_mm256_loadu_ps(static_cast<const float*>(low))),
        _mm256_loadu_ps(static_cast<const float*>(high)), 1);
  }
  static Float load_f16(const void* low, const void* high) {
    return _mm512_cvtph_ps(load_halves(low, high));
  }
  static Float load_f16(const void* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
  }
  static Float load_bf16(const void* low, const void* high) {
    return widen_bf16(load_halves(low, high));
  }
  static Float load_bf16(const void* from) {
    return widen_bf16(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
  }
  static void store_f16(void* to, Float x) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  // Rounds to nearest, ties to even; not-a-number keeps its top bits and turns quiet.
  static void store_bf16(void* to, Float x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __mmask16 unordered = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i chosen = _mm512_mask_mov_epi32(rounded, unordered, quiet);
    _mm256_storeu_si256(static_cast<__m256i*>(to),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(chosen, 16)));
  }

  // Codes of keys, of 16 slots times four dimensions, and sums of their products with a query's
  // codes. The instruction takes keys without sign, as code + 128; a sum begins with what that
  // adds.
  using Codes = __m512i;
  using Ints = __m512i;
  using QueryCodes = __m512i;
  static Codes load_key_codes(const void* low, const void* high) {
    const __m512i both = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_loadu_si256(static_cast<const __m256i*>(low))),
        _mm256_loadu_si256(static_cast<const __m256i*>(high)), 1);
    return _mm512_xor_si512(both, _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  static QueryCodes load_query_codes(const int8_t* codes) {
    int32_t four;
    __builtin_memcpy(&four, codes, sizeof(four));
    return _mm512_set1_epi32(four);
  }
  static Ints first_sum(int32_t query_sum) { return _mm512_set1_epi32(-128 * query_sum); }
  static Ints dot(Ints sums, Codes keys, QueryCodes query) {
    return _mm512_dpbusd_epi32(sums, keys, query);
  }
  static Float to_floats(Ints sums) { return _mm512_cvtepi32_ps(sums); }
  // Sixteen codes with sign.
  static Float load_codes(const void* from) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from))));
  }

  // Bit i: positions[i] < position, or equal and the slot (first_slot + i) lies below own_slot_end.
  static uint32_t seen(const uint32_t* positions, uint32_t position, uint32_t first_slot,
                       uint32_t own_slot_end) {
    const __m512i key = _mm512_loadu_si512(positions);
    const __m512i query = _mm512_set1_epi32(static_cast<int>(position));
    const uint32_t own = own_slot_end <= first_slot ? 0
                         : own_slot_end - first_slot >= 16
                             ? 0xffff
                             : (1u << (own_slot_end - first_slot)) - 1;
    return _mm512_cmplt_epu32_mask(key, query) | (_mm512_cmpeq_epi32_mask(key, query) & own);
  }

  // Bit per slot whose position is at least `first`.
  static uint32_t not_before(const uint32_t* positions, uint32_t first) {
    return _mm512_cmpge_epu32_mask(_mm512_loadu_si512(positions),
                                   _mm512_set1_epi32(static_cast<int>(first)));
  }

  // Largest of the bits without sign, over 32 numbers.
  static uint32_t largest_magnitude(const float* x) {
    const __m512i mask = _mm512_set1_epi32(0x7fffffff);
    return _mm512_reduce_max_epu32(
        _mm512_max_epu32(_mm512_and_si512(_mm512_loadu_si512(x), mask),
                         _mm512_and_si512(_mm512_loadu_si512(x + 16), mask)));
  }
  // Sixteen of x * inverse rounded to signed bytes; returns their sum.
  static int32_t to_bytes(const float* x, float inverse, int8_t* out) {
    const __m512i values =
        _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), _mm512_set1_ps(inverse)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(values));
    return _mm512_reduce_add_epi32(values);
  }

 private:
  static __m256i load_halves(const void* low, const void* high) {
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(low))),
        _mm_loadu_si128(static_cast<const __m128i*>(high)), 1);
  }
  static Float widen_bf16(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};

// The columns of a state's tile, which the delta rule of vector_recurrent.h is written in.
struct Columns : Lanes {
  static constexpr uint32_t kWidth = 16;
};

}  // namespace
}  // namespace quire::inference
