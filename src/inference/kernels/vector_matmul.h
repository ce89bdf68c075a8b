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
// which serves two products. 512-bit registers hold sixteen tokens: a sum for each and the eight
// lines of a block.
//
// Few tokens (below kManyTokens) meet each row group in turn; a tile unpacks codes in registers.
// Weights are one stream of memory, asked for 8 KiB ahead: at 2.5 KiB memory was half idle.
//
// Many tokens, 256-bit sets: a slice of a row group is unpacked once into a panel of bytes and F32
// scales in the first-level cache, and all tokens of a chunk go past it. Loop order: chunks of
// tokens, slices of columns, row groups, tiles. The activations of a slice (192 KiB a chunk) stay
// in the second-level cache. Between slices the sums lie in `out`, which holds an F32 number
// exactly. Many tokens, AVX-512: unpacking for each tile of sixteen costs a tenth, less than a
// panel; a tile's activations stay in the first-level cache while a block of row groups goes past.
//
// Operations. Eight rows by 32 columns by one token of 4-bit codes are 512 multiplications and
// additions. On AVX2 they take 8 vpmaddubsw, 7 vpaddw, vpmaddwd, vpaddd (the zero of the codes, or
// a second vfmadd for minima), vcvtdq2ps, vmulps and vfmadd: 20 vector operations, of which 11 or
// 12 multiply; on 256-bit VNNI 8 vpdpbusd and 3 or 4 more, of which 10 or 11 multiply. Two
// multiplications a cycle make 5.5 to 6 cycles, and 5 to 5.5.
//
// Reached on two cores of a Zen 5 at 4.1 GHz, 8192x2048 (bench/log/kernels.md has the table). One
// token: the memory roof in every format and set; two tokens on AVX2, four on the others: 85 % of
// it and more for 4-bit codes. 512 tokens, Gop/s: AVX2 630 to 670 for 4-bit codes (80 operations a
// cycle and core of 85 to 93), 620 for 5, 470 for 6, 375 for 8, 235 for floats; 256-bit VNNI 720
// to 810, 6 bits 670; AVX-512 1,200 to 1,390, Q6_K 910 to 950, floats 390. AVX2 of 6 bits waits
// for multiplications too (4 widenings a block), 8 bits for all four pipes (39 operations).
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_floats.h"
#include "inference/kernels/vector_tiles.h"

namespace quire::inference {
namespace {

constexpr uint32_t kChunkTokens = 128;  // Of a panel's slice: 192 KiB of activations.
constexpr size_t kGroupBlockBytes = size_t{256} << 10;  // Of groups that go past held tokens.
constexpr size_t kHeldBytes = size_t{768} << 10;        // Of their activations.

// A matrix whose blocks lie as B reads them: units of B::kBlocks blocks of 32 columns.
template <typename B>
struct Quantised {
  using Shape = typename B::Shape;
  static constexpr uint32_t kUnitColumns = kBlock * B::kBlocks;
  static constexpr size_t kUnitBytes = B::kUnitBytes;
  static constexpr size_t kUnitActivationBytes = sizeof(ActivationBlock) * B::kBlocks;
  static constexpr uint32_t kPanelUnits = Codes::kPanelBlocks / B::kBlocks;
  static constexpr int kTokens = Codes::kTileTokens;
  static constexpr uint32_t kManyTokens = Codes::many_tokens(Shape::kBits);
  static constexpr int kGroupsOfOne = 1;

  template <int kGroups, int kTokenCount>
  static void direct(const Strip& strip) {
    static_assert(kGroups == 1);
    quantised_tile<B, kTokenCount>(strip);
  }
  template <int kTokenCount>
  static void from_panel(Strip strip) {
    strip.unit_count *= B::kBlocks;
    quantised_tile<PanelBlock<Shape>, kTokenCount>(strip);
  }
  static void unpack(const uint8_t* weights, uint32_t unit_count, uint8_t* panel) {
    for (uint32_t unit = 0; unit < unit_count; ++unit, weights += B::kUnitBytes) {
      for (uint32_t index = 0; index < B::kBlocks; ++index, panel += kPanelBlockBytes) {
        const B block(weights, index);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) Codes::store(panel + i * kLine, block.line(i));
        Lanes::store(reinterpret_cast<float*>(panel + 512), block.scale());
        if constexpr (Shape::kMinimum || Shape::kHalves) {
          Lanes::store(reinterpret_cast<float*>(panel + 576), block.second());
        }
      }
    }
  }
};
static_assert(Codes::kPanelBlocks * kPanelBlockBytes <= kPanelBytesMax);

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
              .unit_count = a.column_count / M::kUnitColumns,
              .activations = reinterpret_cast<const uint8_t*>(a.activations),
              .activation_stride = a.activation_stride,
              .out = a.out,
              .out_stride = a.out_stride,
              .row_count = kRows,
              .resume = false};
  const uint32_t group_count = (a.row_count + kRows - 1) / kRows;
  for (uint32_t g = 0; g < kGroups && g < group_count; ++g) {  // What no tile has asked for.
    prefetch(strip.weights + g * a.group_bytes, kPrefetchBytes / kGroups);
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

// One chunk of tokens against one slice of the columns of every row group. While the tokens meet
// one panel, the weights of the next come from memory, some with each tile.
template <typename M>
void slice(const MatmulArguments& a, Strip strip, uint32_t token_count) {
  alignas(64) uint8_t panel[kPanelBytesMax];
  const uint8_t* weights = strip.weights;
  const uint32_t tile_count = (token_count + M::kTokens - 1) / M::kTokens;
  const size_t bytes_a_tile = strip.unit_count * M::kUnitBytes / tile_count + 1;
  prefetch(weights, strip.unit_count * M::kUnitBytes);
  strip.weights = panel;
  for (uint32_t row = 0; row < a.row_count; row += kRows) {
    M::unpack(weights, strip.unit_count, panel);
    weights += a.group_bytes;
    const uint8_t* next = weights;
    strip.row_count = row + kRows < a.row_count ? kRows : rows_of_last(a);
    token_tiles<M::kTokens>(strip, token_count, [&]<int kCount>(const Strip& at) {
      prefetch(next, bytes_a_tile);
      next += bytes_a_tile;
      M::template from_panel<kCount>(at);
    });
    strip.out += kRows;
  }
}

template <typename M>
void many_tokens(const MatmulArguments& a) {
  const uint32_t unit_count = a.column_count / M::kUnitColumns;
  for (uint32_t first = 0; first < a.token_count; first += kChunkTokens) {
    const uint32_t left = a.token_count - first;
    for (uint32_t unit = 0; unit < unit_count; unit += M::kPanelUnits) {
      const uint32_t units_left = unit_count - unit;
      const auto* activations = reinterpret_cast<const uint8_t*>(a.activations);
      slice<M>(a,
               {.weights = reinterpret_cast<const uint8_t*>(a.weights) + unit * M::kUnitBytes,
                .group_bytes = 0,
                .unit_count = units_left < M::kPanelUnits ? units_left : M::kPanelUnits,
                .activations =
                    activations + first * a.activation_stride + unit * M::kUnitActivationBytes,
                .activation_stride = a.activation_stride,
                .out = a.out + first * a.out_stride,
                .out_stride = a.out_stride,
                .row_count = kRows,
                .resume = unit > 0},
               left < kChunkTokens ? left : kChunkTokens);
    }
  }
}

// Tiles of tokens that stay in the first-level cache, one after the other, while a block of row
// groups goes past each: for sets whose tiles are so wide that unpacking for each costs little.
template <typename M>
void held_tokens(const MatmulArguments& a) {
  const auto fitting = static_cast<uint32_t>(kGroupBlockBytes / a.group_bytes);
  const uint32_t step = (fitting < 1 ? 1 : fitting) * kRows;
  const auto chunk =
      static_cast<uint32_t>(kHeldBytes / a.activation_stride / M::kTokens + 1) * M::kTokens;
  for (uint32_t first = 0; first < a.token_count; first += chunk) {
    MatmulArguments block = a;
    block.activations += first * a.activation_stride;
    const uint32_t token_end = a.token_count - first < chunk ? a.token_count - first : chunk;
    for (uint32_t row = 0; row < a.row_count; row += step) {
      block.weights = a.weights + row / kRows * a.group_bytes;
      block.row_count = a.row_count - row < step ? a.row_count - row : step;
      MatmulArguments tile = block;
      for (uint32_t at = 0; at < token_end; at += M::kTokens) {
        tile.activations = block.activations + at * a.activation_stride;
        tile.out = a.out + (first + at) * a.out_stride + row;
        tile.token_count = token_end - at < M::kTokens ? token_end - at : M::kTokens;
        few_tokens<M, 1>(tile);
      }
    }
  }
}

template <typename M>
void multiply(const MatmulArguments& a) {
  if (a.token_count >= M::kManyTokens) {
    if constexpr (Codes::kPanels) return many_tokens<M>(a);
    return held_tokens<M>(a);
  }
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
