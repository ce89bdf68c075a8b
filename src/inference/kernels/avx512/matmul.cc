// Matrix products on AVX-512 with VNNI. Includes intrinsics and plain data only.
//
// Loop order: chunks of tokens and blocks of row groups that fit the second-level cache; sixteen
// tokens, which stay in the first-level cache while row groups go past; blocks of 32 columns. Fewer
// than eight tokens: several row groups at once, which keeps as many streams of memory busy.
// Tile: kGroups groups of 16 rows times kColumns tokens. A block's weights are unpacked once into
// eight registers and meet each token in turn, so that only they and one sum per (group, token)
// stay in registers: 8 + 16 of 32. Reached on two cores of a shared Sapphire Rapids server, 33 to
// 37 GB/s of memory reads: one token reads weights at that rate; from eight tokens on twelve vector
// operations per 16 x 32 products give 530 to 690 Gop/s for 4-bit weights, 340 to 580 for 8-bit,
// 260 for halves. scalar/quantised.h defines the arithmetic; it is the same for every tile.
#include "inference/kernels/avx512/matmul.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace quire::inference::avx512 {
namespace {

constexpr uint32_t kBlock = 32, kRows = 16;
constexpr size_t kLine = 64;
constexpr size_t kPrefetchBytes = 2560;             // Ahead of the block in use.
constexpr size_t kWeightBytes = size_t{256} << 10;  // Of a block of groups that many tokens meet.
constexpr size_t kChunkBytes = size_t{768} << 10;   // Of activations: below a second-level cache.

inline __m512i line_at(const uint8_t* from, size_t line) {
  return _mm512_loadu_si512(from + line * kLine);
}

inline __m512 halves_at(const uint8_t* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

// Four activation bytes in every lane of four.
inline __m512i four_at(const ActivationBlock& x, int index) {
  int32_t word;
  memcpy(&word, x.values + 4 * index, sizeof(word));
  return _mm512_set1_epi32(word);
}

// The dot of eight (or four) lines of codes with the activations, from `start`.
template <int kFirst, int kEnd>
inline __m512i dot(const __m512i* codes, const ActivationBlock& x, __m512i start) {
  for (int i = kFirst; i < kEnd; ++i) start = _mm512_dpbusd_epi32(start, codes[i], four_at(x, i));
  return start;
}

struct Scales {
  __m512 scale, second;
};

// A layout of blocks: bytes of codes, their zero as a power of two (kZeroBits), or minima.
template <bool kNibbles, int kZeroBits, bool kMinimum, bool kHalves>
struct Layout {
  static constexpr bool kSecond = kMinimum || kHalves;
  static constexpr size_t kCodeBytes = kNibbles ? 4 * kLine : 8 * kLine;
  static constexpr size_t kBlockBytes = kCodeBytes + (kSecond ? 64 : 32);

  static inline void load(const uint8_t* from, __m512i* codes) {
    if constexpr (kNibbles) {
      const __m512i low = _mm512_set1_epi8(15);
      for (size_t i = 0; i < 4; ++i) {
        const __m512i both = line_at(from, i);
        codes[2 * i] = _mm512_and_si512(both, low);
        codes[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
      }
    } else {
      for (size_t i = 0; i < 8; ++i) codes[i] = line_at(from, i);
    }
  }

  static inline Scales scales(const uint8_t* from) {
    return {halves_at(from + kCodeBytes), kSecond ? halves_at(from + kCodeBytes + 32) : __m512{}};
  }

  static inline __m512 term(__m512i integers, __m512 weight, float activation, __m512 sum) {
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(integers),
                           _mm512_mul_ps(weight, _mm512_set1_ps(activation)), sum);
  }

  static inline __m512 step(const __m512i* codes, Scales s, const ActivationBlock& x, __m512 sum) {
    if constexpr (kHalves) {
      const __m512i low = _mm512_set1_epi32(x.negative_sum_low);
      const __m512i high = _mm512_sub_epi32(_mm512_set1_epi32(x.negative_sum), low);
      sum = term(dot<0, 4>(codes, x, _mm512_slli_epi32(low, kZeroBits)), s.scale, x.scale, sum);
      return term(dot<4, 8>(codes, x, _mm512_slli_epi32(high, kZeroBits)), s.second, x.scale, sum);
    } else if constexpr (kMinimum) {
      sum = term(dot<0, 8>(codes, x, _mm512_setzero_si512()), s.scale, x.scale, sum);
      return _mm512_fmadd_ps(s.second, _mm512_set1_ps(x.scaled_sum), sum);
    } else {
      const __m512i start = _mm512_slli_epi32(_mm512_set1_epi32(x.negative_sum), kZeroBits);
      return term(dot<0, 8>(codes, x, start), s.scale, x.scale, sum);
    }
  }
};

using Nibble = Layout<true, 3, false, false>;
using NibbleMin = Layout<true, 0, true, false>;
using Byte5 = Layout<false, 4, false, false>;
using Byte8 = Layout<false, 7, false, false>;
using ByteMin = Layout<false, 0, true, false>;
using ByteHalves = Layout<false, 5, false, true>;

// What a tile works on: weights of its first group, activations of its first token.
struct Tile {
  const uint8_t* weights;
  const uint8_t* activations;
  float* out;
};

// `last_mask` keeps the rows of the tile's last group that exist.
template <int kGroups, int kColumns>
inline void store_tile(const __m512 (&sums)[kGroups][kColumns], float* out, size_t out_stride,
                       __mmask16 last_mask) {
  for (int g = 0; g < kGroups; ++g) {
    for (int j = 0; j < kColumns; ++j) {
      _mm512_mask_storeu_ps(out + g * kRows + j * out_stride,
                            g + 1 == kGroups ? last_mask : __mmask16{0xffff}, sums[g][j]);
    }
  }
}

template <typename L, int kGroups, int kColumns>
void quantised_tile(const MatmulArguments& a, const Tile& at, __mmask16 last_mask) {
  __m512 sums[kGroups][kColumns];
  for (auto& row : sums) {
    for (auto& sum : row) sum = _mm512_setzero_ps();
  }
  const uint8_t* weights = at.weights;
  const uint8_t* x = at.activations;
  for (uint32_t block = 0; block < a.column_count / kBlock; ++block) {
    for (int g = 0; g < kGroups; ++g) {
      const uint8_t* from = weights + g * a.group_bytes;
      for (size_t line = 0; line < L::kBlockBytes; line += kLine) {
        _mm_prefetch(reinterpret_cast<const char*>(from + kPrefetchBytes + line), _MM_HINT_T0);
      }
      __m512i codes[8];
      L::load(from, codes);
      const Scales scales = L::scales(from);
      for (int j = 0; j < kColumns; ++j) {
        const auto& activations =
            *reinterpret_cast<const ActivationBlock*>(x + j * a.activation_stride);
        sums[g][j] = L::step(codes, scales, activations, sums[g][j]);
      }
    }
    weights += L::kBlockBytes;
    x += sizeof(ActivationBlock);
  }
  store_tile<kGroups, kColumns>(sums, at.out, a.out_stride, last_mask);
}

struct HalfNumbers {
  static constexpr size_t kBytes = 2;
  static inline __m512 load(const uint8_t* from) { return halves_at(from); }
};
struct BrainNumbers {
  static constexpr size_t kBytes = 2;
  static inline __m512 load(const uint8_t* from) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};
struct FloatNumbers {
  static constexpr size_t kBytes = 4;
  static inline __m512 load(const uint8_t* from) {
    return _mm512_loadu_ps(reinterpret_cast<const float*>(from));
  }
};

// sum = fma(weight, activation, sum), column by column.
template <typename N, int kGroups, int kColumns>
void float_tile(const MatmulArguments& a, const Tile& at, __mmask16 last_mask) {
  __m512 sums[kGroups][kColumns];
  for (auto& row : sums) {
    for (auto& sum : row) sum = _mm512_setzero_ps();
  }
  constexpr size_t kColumnBytes = kRows * N::kBytes;
  const uint8_t* weights = at.weights;
  const float* x = reinterpret_cast<const float*>(at.activations);
  const size_t stride = a.activation_stride / sizeof(float);
  for (uint32_t column = 0; column < a.column_count; ++column, weights += kColumnBytes, ++x) {
    __m512 numbers[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      const uint8_t* from = weights + g * a.group_bytes;
      _mm_prefetch(reinterpret_cast<const char*>(from + kPrefetchBytes), _MM_HINT_T0);
      numbers[g] = N::load(from);
    }
    for (int j = 0; j < kColumns; ++j) {
      const __m512 activation = _mm512_set1_ps(x[j * stride]);
      for (int g = 0; g < kGroups; ++g) {
        sums[g][j] = _mm512_fmadd_ps(numbers[g], activation, sums[g][j]);
      }
    }
  }
  store_tile<kGroups, kColumns>(sums, at.out, a.out_stride, last_mask);
}

// Tile shapes of a kind of matrix: tile<kGroups, kColumns>, and how many groups go with few
// columns.
template <typename L>
struct QuantisedTiles {
  template <int kGroups, int kColumns>
  static void run(const MatmulArguments& a, const Tile& at, __mmask16 last_mask) {
    quantised_tile<L, kGroups, kColumns>(a, at, last_mask);
  }
};
template <typename N>
struct FloatTiles {
  template <int kGroups, int kColumns>
  static void run(const MatmulArguments& a, const Tile& at, __mmask16 last_mask) {
    float_tile<N, kGroups, kColumns>(a, at, last_mask);
  }
};

// Fewer than sixteen tokens against kGroups row groups.
template <typename T, int kGroups>
void few_tokens(const MatmulArguments& a, Tile at, uint32_t token_count, __mmask16 last_mask) {
  const auto advance = [&](uint32_t tokens) {
    at.activations += tokens * a.activation_stride;
    at.out += tokens * a.out_stride;
    token_count -= tokens;
  };
  if constexpr (kGroups == 1) {
    for (; token_count >= 8; advance(8)) T::template run<1, 8>(a, at, last_mask);
  }
  if constexpr (kGroups <= 2) {
    for (; token_count >= 4; advance(4)) T::template run<kGroups, 4>(a, at, last_mask);
  }
  for (; token_count >= 2; advance(2)) T::template run<kGroups, 2>(a, at, last_mask);
  for (; token_count >= 1; advance(1)) T::template run<kGroups, 1>(a, at, last_mask);
}

// The row groups [group, group_end) of a matrix, whose last may be partly there.
struct Groups {
  uint32_t begin, end;
  __mmask16 last_mask;  // Of group end - 1.

  __mmask16 mask_up_to(uint32_t group_end) const {
    return group_end == end ? last_mask : __mmask16{0xffff};
  }
};

// Few tokens: several groups at once, so that several streams of memory are under way.
template <typename T>
void stream_groups(const MatmulArguments& a, Tile at, const Groups& groups, uint32_t token_count) {
  uint32_t group = groups.begin;
  const auto advance = [&](uint32_t count) {
    at.weights += count * a.group_bytes;
    at.out += count * kRows;
    group += count;
  };
  if (token_count <= 3) {
    for (; group + 4 <= groups.end; advance(4)) {
      few_tokens<T, 4>(a, at, token_count, groups.mask_up_to(group + 4));
    }
  } else if (token_count <= 7) {
    for (; group + 2 <= groups.end; advance(2)) {
      few_tokens<T, 2>(a, at, token_count, groups.mask_up_to(group + 2));
    }
  }
  for (; group < groups.end; advance(1)) {
    few_tokens<T, 1>(a, at, token_count, groups.mask_up_to(group + 1));
  }
}

// Many tokens: sixteen stay in the first-level cache while a block of groups goes past them.
template <typename T>
void hold_tokens(const MatmulArguments& a, Tile at, const Groups& groups, uint32_t token_count) {
  for (; token_count >= 16; token_count -= 16) {
    Tile here = at;
    for (uint32_t group = groups.begin; group < groups.end; ++group) {
      T::template run<1, 16>(a, here, groups.mask_up_to(group + 1));
      here.weights += a.group_bytes;
      here.out += kRows;
    }
    at.activations += 16 * a.activation_stride;
    at.out += 16 * a.out_stride;
  }
  if (token_count > 0) stream_groups<T>(a, at, groups, token_count);
}

template <typename T>
void chunk(const MatmulArguments& a, uint32_t token_first, uint32_t token_count) {
  const uint32_t group_count = (a.row_count + kRows - 1) / kRows;
  const uint32_t tail = a.row_count % kRows;
  const __mmask16 tail_mask =
      tail == 0 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << tail) - 1);
  const uint32_t fitting = static_cast<uint32_t>(kWeightBytes / a.group_bytes);
  const uint32_t step = token_count < 16 ? group_count : fitting < 1 ? 1 : fitting;
  for (uint32_t group = 0; group < group_count; group += step) {
    const bool last = group_count - group <= step;
    const Groups groups{group, last ? group_count : group + step,
                        last ? tail_mask : __mmask16{0xffff}};
    const Tile at{
        reinterpret_cast<const uint8_t*>(a.weights) + group * a.group_bytes,
        reinterpret_cast<const uint8_t*>(a.activations) + token_first * a.activation_stride,
        a.out + token_first * a.out_stride + group * kRows};
    hold_tokens<T>(a, at, groups, token_count);
  }
}

template <typename T>
void all_tokens(const MatmulArguments& a) {
  const size_t fitting = kChunkBytes / a.activation_stride / 16 * 16;
  const uint32_t step = fitting < 16 ? 16 : static_cast<uint32_t>(fitting);
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

}  // namespace quire::inference::avx512
