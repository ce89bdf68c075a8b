#pragma once
// Sixteen floats at a time on AVX2, as two registers: what vector_math.h and vector_attention.h are
// written in. avx512/lanes.h offers the same operations with the same results, bit for bit.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/avx2/code_lanes.h"
#include "inference/kernels/avx2/double_lanes.h"

namespace quire::inference {
namespace {

struct Lanes : CodeLanes, DoubleLanes {
  using Float = TwoVectors;
  using DoubleLanes::sum;
  // Attention tiles: `tile` queries against so many lane blocks of keys, so many vectors of values.
  // Sums, keys and one query fill the sixteen registers.
  static constexpr int kTileMax = 6;
  static constexpr int kCodesTileMax = 4;  // Products take two registers more.
  static constexpr int key_blocks(int tile) { return tile == 1 ? 4 : tile == 2 ? 2 : 1; }
  static constexpr int value_vectors(int tile) { return tile == 1 ? 4 : tile == 2 ? 2 : 1; }

  static Float zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Float set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Float load(const float* from) {
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
  }
  static void store(float* to, Float x) {
    _mm256_storeu_ps(to, x.low);
    _mm256_storeu_ps(to + 8, x.high);
  }
  // The first `count` lanes, below sixteen; the others are zero, or not stored.
  static Float load_first(const float* from, unsigned count) {
    return {_mm256_maskload_ps(from, first_lanes(count, 0)),
            _mm256_maskload_ps(from + 8, first_lanes(count, 8))};
  }
  static void store_first(float* to, unsigned count, Float x) {
    _mm256_maskstore_ps(to, first_lanes(count, 0), x.low);
    _mm256_maskstore_ps(to + 8, first_lanes(count, 8), x.high);
  }

  static Float add(Float a, Float b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  static Float subtract(Float a, Float b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  static Float multiply(Float a, Float b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static Float divide(Float a, Float b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  static Float fma(Float a, Float b, Float c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Float negative_fma(Float a, Float b, Float c) {
    return {_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
  }
  // The second where either is not a number.
  static Float max(Float a, Float b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  static Float min(Float a, Float b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }

  static Float round_even(Float x) {
    constexpr int kEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(x.low, kEven), _mm256_round_ps(x.high, kEven)};
  }
  // Exponents of -126 .. 127; beyond, any number.
  static Float times_power_of_two(Float x, Float exponent) {
    return {_mm256_mul_ps(x.low, power_of_two(exponent.low)),
            _mm256_mul_ps(x.high, power_of_two(exponent.high))};
  }
  // 2^exponent * mantissa, with a mantissa from sqrt(1/2) to sqrt(2). Normal numbers above zero.
  static void split(Float x, Float* exponent, Float* mantissa) {
    split_eight(x.low, &exponent->low, &mantissa->low);
    split_eight(x.high, &exponent->high, &mantissa->high);
  }
  // x, and zero where y < bound.
  static Float zero_where_less(Float x, Float y, Float bound) {
    return {_mm256_andnot_ps(_mm256_cmp_ps(y.low, bound.low, _CMP_LT_OQ), x.low),
            _mm256_andnot_ps(_mm256_cmp_ps(y.high, bound.high, _CMP_LT_OQ), x.high)};
  }
  // Lanes of `chosen` whose bit is set, else of `other`.
  static Float select(uint32_t bits, Float chosen, Float other) {
    return {_mm256_blendv_ps(other.low, chosen.low, mask_of(bits)),
            _mm256_blendv_ps(other.high, chosen.high, mask_of(bits >> 8))};
  }

  // A fixed tree: lane i with i + 8, then i + 4, i + 2, i + 1.
  static float sum(Float x) {
    const __m256 eight = _mm256_add_ps(x.low, x.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float largest(Float x) {
    const __m256 eight = _mm256_max_ps(x.low, x.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  static float first(Float x) { return _mm256_cvtss_f32(x.low); }
  static float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

  // Sixteen numbers from two places of eight (the second is the first + 8 in one piece).
  static Float load_f32(const void* low, const void* high) {
    return {_mm256_loadu_ps(static_cast<const float*>(low)),
            _mm256_loadu_ps(static_cast<const float*>(high))};
  }
  static Float load_f16(const void* low, const void* high) {
    return {_mm256_cvtph_ps(eight_halves(low)), _mm256_cvtph_ps(eight_halves(high))};
  }
  static Float load_f16(const void* from) {
    return load_f16(from, static_cast<const uint8_t*>(from) + 16);
  }
  static Float load_bf16(const void* low, const void* high) {
    return {widen_bf16(eight_halves(low)), widen_bf16(eight_halves(high))};
  }
  static Float load_bf16(const void* from) {
    return load_bf16(from, static_cast<const uint8_t*>(from) + 16);
  }
  static void store_f16(void* to, Float x) {
    auto* halves = static_cast<__m128i*>(to);
    _mm_storeu_si128(halves, _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(halves + 1, _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT));
  }
  // Rounds to nearest, ties to even; not-a-number keeps its top bits and turns quiet.
  static void store_bf16(void* to, Float x) {
    const __m256i packed = _mm256_packus_epi32(narrow_bf16(x.low), narrow_bf16(x.high));
    _mm256_storeu_si256(static_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xd8));
  }

  // Bit i: positions[i] < position, or equal and the slot (first_slot + i) lies below own_slot_end.
  static uint32_t seen(const uint32_t* positions, uint32_t position, uint32_t first_slot,
                       uint32_t own_slot_end) {
    const uint32_t own = own_slot_end <= first_slot ? 0
                         : own_slot_end - first_slot >= 16
                             ? 0xffff
                             : (1u << (own_slot_end - first_slot)) - 1;
    const __m256i query = _mm256_set1_epi32(static_cast<int>(position));
    uint32_t less = 0, equal = 0;
    for (int half = 0; half < 2; ++half) {
      const __m256i key =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(positions + 8 * half));
      const __m256i not_less = _mm256_cmpeq_epi32(_mm256_max_epu32(key, query), key);
      less |= (~bits_of(not_less) & 0xff) << (8 * half);
      equal |= bits_of(_mm256_cmpeq_epi32(key, query)) << (8 * half);
    }
    return less | (equal & own);
  }

  // Bit per slot whose position is at least `first`.
  static uint32_t not_before(const uint32_t* positions, uint32_t first) {
    const __m256i least = _mm256_set1_epi32(static_cast<int>(first));
    uint32_t bits = 0;
    for (int half = 0; half < 2; ++half) {
      const __m256i key =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(positions + 8 * half));
      bits |= bits_of(_mm256_cmpeq_epi32(_mm256_max_epu32(key, least), key)) << (8 * half);
    }
    return bits;
  }

  // Largest of the bits without sign, over 32 numbers.
  static uint32_t largest_magnitude(const float* x) {
    const __m256i mask = _mm256_set1_epi32(0x7fffffff);
    const auto bits = [&](int i) {
      return _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 8 * i)),
                              mask);
    };
    const __m256i eight =
        _mm256_max_epu32(_mm256_max_epu32(bits(0), bits(1)), _mm256_max_epu32(bits(2), bits(3)));
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(four));
  }
  // Sixteen of x * inverse rounded to signed bytes; returns their sum.
  static int32_t to_bytes(const float* x, float inverse, int8_t* out) {
    const __m256 factor = _mm256_set1_ps(inverse);
    const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), factor));
    const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), factor));
    const __m256i pairs = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out),
        _mm_packs_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1)));
    const __m256i eight = _mm256_add_epi32(low, high);
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
  }

 private:
  static __m256i first_lanes(unsigned count, int first) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count) - first), lane);
  }
  static __m256 mask_of(uint32_t bits) {
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), bit);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bit));
  }
  static uint32_t bits_of(__m256i mask) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
  }
  static void split_eight(__m256 x, __m256* exponent, __m256* mantissa) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i power =
        _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f3504f3)), 23);
    *exponent = _mm256_cvtepi32_ps(power);
    *mantissa = _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(power, 23)));
  }
  static __m256 power_of_two(__m256 exponent) {
    const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(exponent), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
  }
  static __m128i eight_halves(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  }
  static __m256 widen_bf16(__m128i halves) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static __m256i narrow_bf16(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 unordered = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    const __m256i chosen = _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(unordered));
    return _mm256_srli_epi32(chosen, 16);
  }
};

}  // namespace
}  // namespace quire::inference
