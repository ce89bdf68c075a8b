// Matrix products on AVX2. Includes intrinsics and plain data only.
//
// Loop order: chunks of tokens and blocks of row groups that fit the second-level cache; a tile of
// tokens, which stays in the first-level cache while row groups go past; blocks of 32 columns;
// halves of eight rows. In a half each pair of lines of codes meets every token of the tile, so
// that codes are unpacked once for up to eight tokens and one sum per token stays in a register.
//
// Exactness. vpmaddubsw adds two products of an unsigned code and a signed activation in 16 bits,
// which saturates. Codes of 4 bits give at most 2 * 15 * 127 = 3,810 a step, so the eight steps of
// a block fit (30,480); of 5 bits 7,874, four steps; of 6 bits 16,002, two. Codes of 8 bits are
// taken as |w| times sign(w) * x: at most 2 * 128 * 127 = 32,512, one step.
//
// Reached on two cores of a shared Sapphire Rapids server, 33 to 37 GB/s of memory reads: 85 to 97
// % of that for one token, 215 to 245 Gop/s from eight tokens on for 4-bit weights, 200 for 8-bit,
// 145 for halves. scalar/quantised.h defines the arithmetic; results equal it and those of avx512
// bit for bit.
#include "inference/kernels/avx2/matmul.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace quire::inference::avx2 {
namespace {

constexpr uint32_t kBlock = 32, kRows = 16, kHalfRows = 8;
constexpr size_t kLine = 64;
constexpr size_t kPrefetchBytes = 2560;            // Ahead of the block in use.
constexpr size_t kWeightBytes = size_t{96} << 10;  // Of a block of groups that many tokens meet.
constexpr size_t kChunkBytes = size_t{192} << 10;  // Of activations: below a second-level cache.

inline __m256i load_line(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

inline __m256 eight_halves(const uint8_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

// Four activation bytes in every lane of four.
inline __m256i four_at(const ActivationBlock& x, int index) {
  int32_t word;
  memcpy(&word, x.values + 4 * index, sizeof(word));
  return _mm256_set1_epi32(word);
}

// Adds pairs of 16-bit sums into 32 bits.
inline __m256i widen(__m256i pairs) {
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

// Codes of two neighbouring lines, eight rows of them.
struct Codes {
  __m256i first, second;
};

// A layout of blocks: width of codes, their zero as a power of two (kZeroBits), or minima.
template <int kCodeBits, int kZeroBits, bool kMinimum, bool kHalves>
struct Layout {
  static constexpr bool kNibbles = kCodeBits == 4;
  static constexpr bool kSecond = kMinimum || kHalves;
  static constexpr bool kHasMinimum = kMinimum;
  static constexpr bool kHasHalves = kHalves;
  static constexpr size_t kCodeBytes = kNibbles ? 4 * kLine : 8 * kLine;
  static constexpr size_t kBlockBytes = kCodeBytes + (kSecond ? 64 : 32);
  static constexpr bool kInThirtyTwo = kCodeBits == 8;  // Products leave 16 bits at once.
  // Pairs of lines whose products can be added in 16 bits.
  static constexpr int kPairsTogether = kCodeBits == 4 ? 4 : kCodeBits == 5 ? 2 : 1;

  // Lines 2 * pair and 2 * pair + 1.
  static inline Codes codes(const uint8_t* from, int pair) {
    if constexpr (kNibbles) {
      const __m256i both = load_line(from + pair * kLine), low = _mm256_set1_epi8(15);
      return {_mm256_and_si256(both, low), _mm256_and_si256(_mm256_srli_epi16(both, 4), low)};
    } else {
      return {load_line(from + 2 * pair * kLine), load_line(from + (2 * pair + 1) * kLine)};
    }
  }

  // Products of a pair of lines with a token, in 16 bits (32 for codes of 8 bits).
  static inline __m256i products(Codes w, const ActivationBlock& x, int pair) {
    const __m256i a = four_at(x, 2 * pair), b = four_at(x, 2 * pair + 1);
    if constexpr (kCodeBits == 8) {
      return _mm256_add_epi32(signed_products(w.first, a), signed_products(w.second, b));
    } else {
      return _mm256_add_epi16(_mm256_maddubs_epi16(w.first, a), _mm256_maddubs_epi16(w.second, b));
    }
  }

  static inline __m256i signed_products(__m256i code, __m256i x) {
    const __m256i weight = _mm256_xor_si256(code, _mm256_set1_epi8(-128));
    return widen(_mm256_maddubs_epi16(_mm256_abs_epi8(weight), _mm256_sign_epi8(x, weight)));
  }

  // What the zero of the codes takes from the dot of `negative_sum`'s columns.
  static inline __m256i start(int32_t negative_sum) {
    if constexpr (kMinimum || kCodeBits == 8) return _mm256_setzero_si256();
    return _mm256_slli_epi32(_mm256_set1_epi32(negative_sum), kZeroBits);
  }
};

using Nibble = Layout<4, 3, false, false>;
using NibbleMin = Layout<4, 0, true, false>;
using Byte5 = Layout<5, 4, false, false>;
using Byte8 = Layout<8, 7, false, false>;
using ByteMin = Layout<5, 0, true, false>;
using ByteHalves = Layout<6, 5, false, true>;

// What a tile works on: weights of its first group, activations of its first token.
struct Tile {
  const uint8_t* weights;
  const uint8_t* activations;
  float* out;
  uint32_t row_count;  // Rows of its last group that exist.
};

inline const ActivationBlock& token(const uint8_t* x, size_t stride, int index) {
  return *reinterpret_cast<const ActivationBlock*>(x + index * stride);
}

// Dots of eight rows with each token, over the pairs of lines [kFirst, kEnd).
template <typename L, int kColumns, int kFirst, int kEnd>
inline void add_dots(const uint8_t* weights, const uint8_t* x, size_t stride,
                     __m256i (&dots)[kColumns]) {
  for (int first = kFirst; first < kEnd; first += L::kPairsTogether) {
    __m256i sums[kColumns];
    for (auto& sum : sums) sum = _mm256_setzero_si256();
    for (int pair = first; pair < first + L::kPairsTogether; ++pair) {
      const Codes codes = L::codes(weights, pair);
      for (int j = 0; j < kColumns; ++j) {
        const __m256i products = L::products(codes, token(x, stride, j), pair);
        if constexpr (L::kInThirtyTwo) {
          dots[j] = _mm256_add_epi32(dots[j], products);
        } else {
          sums[j] = _mm256_add_epi16(sums[j], products);
        }
      }
    }
    if constexpr (!L::kInThirtyTwo) {
      for (int j = 0; j < kColumns; ++j) dots[j] = _mm256_add_epi32(dots[j], widen(sums[j]));
    }
  }
}

inline __m256 term(__m256i integers, __m256 weight, float activation, __m256 sum) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(integers),
                         _mm256_mul_ps(weight, _mm256_set1_ps(activation)), sum);
}

// One block of eight rows: weights and scales of those rows, one sum per token.
template <typename L, int kColumns>
inline void add_half_block(const uint8_t* weights, const uint8_t* scales, const uint8_t* x,
                           size_t stride, __m256 (&sums)[kColumns]) {
  const __m256 scale = eight_halves(scales);
  const __m256 second = L::kSecond ? eight_halves(scales + 32) : _mm256_setzero_ps();
  __m256i dots[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    const ActivationBlock& at = token(x, stride, j);
    dots[j] = L::start(L::kHasHalves ? at.negative_sum_low : at.negative_sum);
  }
  add_dots<L, kColumns, 0, L::kHasHalves ? 2 : 4>(weights, x, stride, dots);
  for (int j = 0; j < kColumns; ++j) {
    const ActivationBlock& at = token(x, stride, j);
    sums[j] = term(dots[j], scale, at.scale, sums[j]);
    if constexpr (L::kHasMinimum) {
      sums[j] = _mm256_fmadd_ps(second, _mm256_set1_ps(at.scaled_sum), sums[j]);
    }
    if constexpr (L::kHasHalves) dots[j] = L::start(at.negative_sum - at.negative_sum_low);
  }
  if constexpr (L::kHasHalves) {
    add_dots<L, kColumns, 2, 4>(weights, x, stride, dots);
    for (int j = 0; j < kColumns; ++j) {
      sums[j] = term(dots[j], second, token(x, stride, j).scale, sums[j]);
    }
  }
}

// Stores the rows of a group that exist.
inline void store_rows(float* out, __m256 low, __m256 high, uint32_t row_count) {
  if (row_count == kRows) {
    _mm256_storeu_ps(out, low);
    _mm256_storeu_ps(out + kHalfRows, high);
    return;
  }
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const int count = static_cast<int>(row_count);
  _mm256_maskstore_ps(out, _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane), low);
  _mm256_maskstore_ps(out + kHalfRows, _mm256_cmpgt_epi32(_mm256_set1_epi32(count - 8), lane),
                      high);
}

template <typename L>
struct QuantisedTiles {
  template <int kGroups, int kColumns>
  static void run(const MatmulArguments& a, const Tile& at) {
    static_assert(kGroups == 1);
    __m256 sums[2][kColumns];
    for (auto& half : sums) {
      for (auto& sum : half) sum = _mm256_setzero_ps();
    }
    const uint8_t* weights = at.weights;
    const uint8_t* x = at.activations;
    for (uint32_t block = 0; block < a.column_count / kBlock; ++block) {
      for (size_t line = 0; line < L::kBlockBytes; line += kLine) {
        _mm_prefetch(weights + kPrefetchBytes + line, _MM_HINT_T0);
      }
      for (int half = 0; half < 2; ++half) {
        add_half_block<L, kColumns>(weights + half * kLine / 2,
                                    weights + L::kCodeBytes + half * kHalfRows * 2, x,
                                    a.activation_stride, sums[half]);
      }
      weights += L::kBlockBytes;
      x += sizeof(ActivationBlock);
    }
    for (int j = 0; j < kColumns; ++j) {
      store_rows(at.out + j * a.out_stride, sums[0][j], sums[1][j], at.row_count);
    }
  }
  static constexpr int kGroupsOfOne = 1, kColumnsMax = 8;
};

struct HalfNumbers {
  static constexpr size_t kBytes = 2;
  static inline __m256 load(const uint8_t* from) { return eight_halves(from); }
};
struct BrainNumbers {
  static constexpr size_t kBytes = 2;
  static inline __m256 load(const uint8_t* from) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
};
struct FloatNumbers {
  static constexpr size_t kBytes = 4;
  static inline __m256 load(const uint8_t* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
};

// sum = fma(weight, activation, sum), column by column.
template <typename N>
struct FloatTiles {
  template <int kGroups, int kColumns>
  static void run(const MatmulArguments& a, const Tile& at) {
    __m256 sums[kGroups][kColumns][2];
    for (auto& group : sums) {
      for (auto& halves : group) halves[0] = halves[1] = _mm256_setzero_ps();
    }
    const uint8_t* weights = at.weights;
    const float* x = reinterpret_cast<const float*>(at.activations);
    const size_t stride = a.activation_stride / sizeof(float);
    for (uint32_t column = 0; column < a.column_count; ++column, ++x) {
      for (int g = 0; g < kGroups; ++g) {
        const uint8_t* from = weights + g * a.group_bytes;
        _mm_prefetch(from + kPrefetchBytes, _MM_HINT_T0);
        const __m256 low = N::load(from), high = N::load(from + kHalfRows * N::kBytes);
        for (int j = 0; j < kColumns; ++j) {
          const __m256 activation = _mm256_set1_ps(x[j * stride]);
          sums[g][j][0] = _mm256_fmadd_ps(low, activation, sums[g][j][0]);
          sums[g][j][1] = _mm256_fmadd_ps(high, activation, sums[g][j][1]);
        }
      }
      weights += kRows * N::kBytes;
    }
    for (int g = 0; g < kGroups; ++g) {
      for (int j = 0; j < kColumns; ++j) {
        store_rows(at.out + g * kRows + j * a.out_stride, sums[g][j][0], sums[g][j][1],
                   g + 1 == kGroups ? at.row_count : kRows);
      }
    }
  }
  static constexpr int kGroupsOfOne = 4, kColumnsMax = 4;
};

// Tokens that fill no tile of the widest kind, against one row group.
template <typename T, int kColumns>
void few_tokens(const MatmulArguments& a, Tile at, uint32_t token_count) {
  for (; token_count >= kColumns; token_count -= kColumns) {
    T::template run<1, kColumns>(a, at);
    at.activations += kColumns * a.activation_stride;
    at.out += kColumns * a.out_stride;
  }
  if constexpr (kColumns > 1) {
    if (token_count > 0) few_tokens<T, kColumns / 2>(a, at, token_count);
  }
}

// Few tokens meet each row group in turn; one token meets several groups at once.
template <typename T>
void stream_groups(const MatmulArguments& a, Tile at, uint32_t group_count, uint32_t last_rows,
                   uint32_t token_count) {
  constexpr uint32_t kGroups = T::kGroupsOfOne;
  for (uint32_t group = 0; group < group_count;) {
    const bool several = token_count == 1 && group + kGroups <= group_count;
    const uint32_t step = several ? kGroups : 1;
    at.row_count = group + step == group_count ? last_rows : kRows;
    if (several) {
      T::template run<kGroups, 1>(a, at);
    } else {
      few_tokens<T, T::kColumnsMax>(a, at, token_count);
    }
    group += step;
    at.weights += step * a.group_bytes;
    at.out += step * kRows;
  }
}

// Many tokens: a tile of them stays in the first-level cache while a block of groups goes past.
template <typename T>
void hold_tokens(const MatmulArguments& a, Tile at, uint32_t group_count, uint32_t last_rows,
                 uint32_t token_count) {
  for (; token_count >= T::kColumnsMax; token_count -= T::kColumnsMax) {
    Tile here = at;
    for (uint32_t group = 0; group < group_count; ++group) {
      here.row_count = group + 1 == group_count ? last_rows : kRows;
      T::template run<1, T::kColumnsMax>(a, here);
      here.weights += a.group_bytes;
      here.out += kRows;
    }
    at.activations += T::kColumnsMax * a.activation_stride;
    at.out += T::kColumnsMax * a.out_stride;
  }
  if (token_count > 0) stream_groups<T>(a, at, group_count, last_rows, token_count);
}

template <typename T>
void chunk(const MatmulArguments& a, uint32_t token_first, uint32_t token_count) {
  const uint32_t group_count = (a.row_count + kRows - 1) / kRows;
  const uint32_t tail = a.row_count % kRows == 0 ? kRows : a.row_count % kRows;
  const uint32_t fitting = static_cast<uint32_t>(kWeightBytes / a.group_bytes);
  const uint32_t step = token_count < T::kColumnsMax ? group_count : fitting < 1 ? 1 : fitting;
  for (uint32_t group = 0; group < group_count; group += step) {
    const bool last = group_count - group <= step;
    const Tile at{
        reinterpret_cast<const uint8_t*>(a.weights) + group * a.group_bytes,
        reinterpret_cast<const uint8_t*>(a.activations) + token_first * a.activation_stride,
        a.out + token_first * a.out_stride + group * kRows, kRows};
    hold_tokens<T>(a, at, last ? group_count - group : step, last ? tail : kRows, token_count);
  }
}

template <typename T>
void all_tokens(const MatmulArguments& a) {
  const size_t fitting = kChunkBytes / a.activation_stride / 8 * 8;
  const uint32_t step = fitting < 8 ? 8 : static_cast<uint32_t>(fitting);
  for (uint32_t first = 0; first < a.token_count; first += step) {
    chunk<T>(a, first, a.token_count - first < step ? a.token_count - first : step);
  }
}

}  // namespace

void matmul(const MatmulArguments& a) {
  switch (a.kind) {
    case PackedKind::Nibble:
      return all_tokens<QuantisedTiles<Nibble>>(a);
    case PackedKind::NibbleMin:
      return all_tokens<QuantisedTiles<NibbleMin>>(a);
    case PackedKind::Byte5:
      return all_tokens<QuantisedTiles<Byte5>>(a);
    case PackedKind::Byte8:
      return all_tokens<QuantisedTiles<Byte8>>(a);
    case PackedKind::ByteMin:
      return all_tokens<QuantisedTiles<ByteMin>>(a);
    case PackedKind::ByteHalves:
      return all_tokens<QuantisedTiles<ByteHalves>>(a);
    case PackedKind::F32:
      return all_tokens<FloatTiles<FloatNumbers>>(a);
    case PackedKind::F16:
      return all_tokens<FloatTiles<HalfNumbers>>(a);
    case PackedKind::BF16:
      return all_tokens<FloatTiles<BrainNumbers>>(a);
  }
}

}  // namespace quire::inference::avx2
