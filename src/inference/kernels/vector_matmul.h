#pragma once
// Matrix products, written once for every instruction set.
//
// An instruction-set file includes two policies first: `Lanes` (lanes.h, sixteen floats) and
// `Codes` (codes.h, sixteen rows of four 8-bit codes and their products). Everything lies in an
// unnamed namespace, so that no weak symbol leaves the file. scalar/quantised.h defines the
// arithmetic: integer dots are exact, and floats are added block by block, so that all sets and all
// tiles give the same bits.
//
// A tile is sixteen rows, or a few groups of sixteen, by some tokens. 256-bit registers hold a tile
// of four tokens: eight sums of integers, two registers of codes and one broadcast of activations,
// which serves two products. 512-bit registers hold eight tokens, with a sum of integers and one of
// floats for each. Or they hold sixteen tokens, with a sum of floats for each and the eight lines
// of a block.
//
// Few tokens (below kManyTokens) meet each row group in turn; a tile unpacks codes in registers.
// Weights are one stream of memory, asked for 8 KiB ahead: at 2.5 KiB memory was half idle.
//
// Many tokens: a slice of a row group is unpacked once. The first tile does that, uses the codes at
// once, and leaves them and the F32 scales in a panel, past which the other tokens of a chunk go.
// Loop order: chunks of tokens, slices of columns, row groups, tiles. The panel of a 256-bit set
// stays in the first-level cache, and the activations of a slice (192 KiB a chunk) in the second.
// AVX-512 keeps both in the second-level cache (40 and 384 KiB): shorter slices cost more than
// that, because the sums lie in `out` between slices. F32 holds them exactly. The first tile also
// asks for the slice's weights of the next row group, which come while the chunk is multiplied.
//
// Operations. Eight rows by 32 columns by one token of 4-bit codes are 512 multiplications and
// additions. On AVX2 they take 20 vector operations, of which 11 or 12 multiply. Eight are
// vpmaddubsw and seven vpaddw. The others are vpmaddwd, vpaddd (the zero of the codes, or a second
// vfmadd for minima), vcvtdq2ps, vmulps and vfmadd. On 256-bit VNNI they take 8 vpdpbusd and 3 or 4
// more, of which 10 or 11 multiply. Two multiplications a cycle make 5.5 to 6 cycles, and 5 to 5.5.
//
// bench/log/kernels.md has what is reached. AVX2 waits for multiplications with codes of 4 and of 6
// bits (4 widenings a block), and for all four pipes with those of 8 bits (39 operations).
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_floats.h"
#include "inference/kernels/vector_tiles.h"

namespace quire::inference {
namespace {

constexpr ptrdiff_t kAheadBytes = 8192;  // Of few tokens, over all streams of weights.
constexpr uint32_t kChunkTokens = 128;   // That meet a panel.

// A matrix whose blocks lie as B reads them: units of B::kBlocks blocks of 32 columns.
template <typename B>
struct Quantised {
  using Shape = typename B::Shape;
  static constexpr uint32_t kUnitColumns = kBlock * B::kBlocks;
  static constexpr size_t kUnitBytes = B::kUnitBytes;
  static constexpr size_t kUnitActivationBytes = sizeof(ActivationBlock) * B::kBlocks;
  static constexpr uint32_t kPanelUnits = Codes::kPanelBlocks / B::kBlocks;
  static constexpr int kTokens = Codes::kTileTokens;
  static constexpr int kPanelTokens = Codes::kPanelTileTokens;
  static constexpr uint32_t kManyTokens = Codes::many_tokens(Shape::kBits, B::kBlocks);
  static constexpr bool kHasPanel = Shape::kBits < 8;  // Codes of 8 bits lie as in a panel.
  static constexpr int kGroupsOfOne = 1;

  template <int kGroups, int kTokenCount>
  static void direct(const Strip& strip) {
    static_assert(kGroups == 1);
    quantised_tile<B, kTokenCount, Reading::Once>(strip);
  }
  // A first tile of many, and the others, which find the weights in the cache.
  template <int kTokenCount>
  static void first(const Strip& strip, uint8_t* panel) {
    constexpr Reading kReading = kHasPanel ? Reading::ToPanel : Reading::Once;
    quantised_tile<B, kTokenCount, kReading>(strip, panel);
  }
  template <int kTokenCount>
  static void rest(Strip strip, const uint8_t* panel) {
    if constexpr (kHasPanel) {
      strip.weights = panel;
      strip.unit_count *= B::kBlocks;
      quantised_tile<PanelBlock<Shape>, kTokenCount, Reading::Again>(strip);
    } else {
      quantised_tile<B, kTokenCount, Reading::Again>(strip);
    }
  }
};

// `token_count` tokens in tiles of kTokens and of halves of it; run<T>(strip) is a tile.
template <int kTokens, typename Run>
inline void token_tiles(Strip strip, uint32_t token_count, const Run& run) {
  for (; token_count >= kTokens; token_count -= kTokens) {
    run.template operator()<kTokens>(strip);
    strip.activations += kTokens * strip.activation_stride;
    strip.out += kTokens * strip.out_stride;
  }
  if constexpr (kTokens > 1) {
    if (token_count > 0) token_tiles<kTokens / 2>(strip, token_count, run);
  }
}

inline uint32_t rows_of_last(const MatmulArguments& a) {
  return (a.row_count - 1) % kRows + 1;
}

// Few tokens against every row group in turn; one token against kGroups at a time.
template <typename M, int kGroups>
void few_tokens(const MatmulArguments& a) {
  Strip strip{.weights = reinterpret_cast<const uint8_t*>(a.weights),
              .group_bytes = a.group_bytes,
              .ahead = kAheadBytes,
              .unit_count = a.column_count / M::kUnitColumns,
              .activations = reinterpret_cast<const uint8_t*>(a.activations),
              .activation_stride = a.activation_stride,
              .out = a.out,
              .out_stride = a.out_stride,
              .row_count = kRows,
              .resume = false};
  const uint32_t group_count = (a.row_count + kRows - 1) / kRows;
  for (uint32_t g = 0; g < kGroups && g < group_count; ++g) {  // What no tile has asked for.
    prefetch(strip.weights + g * a.group_bytes, kAheadBytes / kGroups);
  }
  for (uint32_t group = 0; group < group_count;) {
    const bool several = kGroups > 1 && group + kGroups <= group_count;
    const uint32_t step = several ? kGroups : 1;
    strip.row_count = group + step == group_count ? rows_of_last(a) : kRows;
    if (several) {
      M::template direct<kGroups, 1>(strip);
    } else {
      token_tiles<M::kTokens>(strip, a.token_count, []<int kCount>(const Strip& at) {
        M::template direct<1, kCount>(at);
      });
    }
    group += step;
    strip.weights += step * a.group_bytes;
    strip.out += step * kRows;
  }
}

// One chunk of tokens, at least a tile, against one slice of the columns of every row group. The
// first tile asks for the weights of the next group, the last group's for those at `next`.
template <typename M>
void slice(const MatmulArguments& a, Strip strip, uint32_t token_count, const uint8_t* next) {
  alignas(64) uint8_t panel[kPanelBytesMax];
  for (uint32_t row = 0; row < a.row_count; row += kRows) {
    const bool is_last = row + kRows >= a.row_count;
    strip.ahead = is_last ? next - strip.weights : static_cast<ptrdiff_t>(a.group_bytes);
    strip.row_count = is_last ? rows_of_last(a) : kRows;
    M::template first<M::kPanelTokens>(strip, panel);
    Strip others = strip;
    others.activations += M::kPanelTokens * strip.activation_stride;
    others.out += M::kPanelTokens * strip.out_stride;
    const uint32_t left = token_count - M::kPanelTokens;
    token_tiles<M::kPanelTokens>(
        others, left, [&]<int kCount>(const Strip& at) { M::template rest<kCount>(at, panel); });
    strip.weights += a.group_bytes;
    strip.out += kRows;
  }
}

// The size of parts of at most `largest` that are about equal: a short last one costs too much.
inline uint32_t even_part(uint32_t count, uint32_t largest) {
  const uint32_t part_count = (count + largest - 1) / largest;
  return (count + part_count - 1) / part_count;
}

template <typename M>
void many_tokens(const MatmulArguments& a) {
  static_assert(M::kManyTokens >= M::kPanelTokens);
  const auto* weights = reinterpret_cast<const uint8_t*>(a.weights);
  const auto* activations = reinterpret_cast<const uint8_t*>(a.activations);
  const uint32_t unit_count = a.column_count / M::kUnitColumns;
  const uint32_t units_a_slice = even_part(unit_count, M::kPanelUnits);
  // Probably the weights of the next call.
  const uint8_t* after = weights + (a.row_count + kRows - 1) / kRows * a.group_bytes;
  prefetch(weights, units_a_slice * M::kUnitBytes);
  for (uint32_t first = 0, chunk; first < a.token_count; first += chunk) {
    const uint32_t left = a.token_count - first;
    chunk = left < kChunkTokens + M::kPanelTokens ? left : kChunkTokens;  // No less than a tile.
    for (uint32_t unit = 0, end; unit < unit_count; unit = end) {
      end = unit + units_a_slice < unit_count ? unit + units_a_slice : unit_count;
      const Strip strip{
          .weights = weights + unit * M::kUnitBytes,
          .group_bytes = a.group_bytes,
          .ahead = 0,
          .unit_count = end - unit,
          .activations = activations + first * a.activation_stride + unit * M::kUnitActivationBytes,
          .activation_stride = a.activation_stride,
          .out = a.out + first * a.out_stride,
          .out_stride = a.out_stride,
          .row_count = kRows,
          .resume = unit > 0};
      const uint8_t* next = end < unit_count ? weights + end * M::kUnitBytes
                            : left > chunk   ? weights
                                             : after;
      slice<M>(a, strip, chunk, next);
    }
  }
}

template <typename M>
void multiply(const MatmulArguments& a) {
  if (a.token_count >= M::kManyTokens) return many_tokens<M>(a);
  if (a.token_count == 1) return few_tokens<M, M::kGroupsOfOne>(a);
  few_tokens<M, 1>(a);
}

void multiply_any(const MatmulArguments& a) {
  switch (a.kind) {
    case PackedKind::Nibble:
      return multiply<Quantised<PlainBlock<Shape<4, 3, false>>>>(a);
    case PackedKind::NibbleMin:
      return multiply<Quantised<PlainBlock<Shape<4, -1, false>>>>(a);
    case PackedKind::NibbleK:
      return multiply<Quantised<IntegerScaleBlock<4>>>(a);
    case PackedKind::Five:
      return multiply<Quantised<PlainBlock<Shape<5, 4, false>>>>(a);
    case PackedKind::FiveMin:
      return multiply<Quantised<PlainBlock<Shape<5, -1, false>>>>(a);
    case PackedKind::FiveK:
      return multiply<Quantised<IntegerScaleBlock<5>>>(a);
    case PackedKind::SixK:
      return multiply<Quantised<SixBlock>>(a);
    case PackedKind::Byte:
      return multiply<Quantised<PlainBlock<Shape<8, 7, false>>>>(a);
    case PackedKind::F32:
      return multiply<Floats<FloatNumbers>>(a);
    case PackedKind::F16:
      return multiply<Floats<HalfNumbers>>(a);
    case PackedKind::BF16:
      return multiply<Floats<BrainNumbers>>(a);
  }
}

}  // namespace
}  // namespace quire::inference
