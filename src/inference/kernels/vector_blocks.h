#pragma once
// How weights lie in memory, as the tiles of vector_tiles.h read them: packing.h by way of `Codes`.
//
// B(unit, index) is block `index` of a unit of B::kBlocks blocks of sixteen rows by 32 columns:
// line(i) gives the codes of columns 4i .. 4i + 3, scale() and second() a number a row. What is not
// asked for is not read.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_set.h"

namespace quire::inference {
namespace {

constexpr uint32_t kBlock = 32;  // Columns with one scale of activations.
constexpr uint32_t kRows = 16;
constexpr size_t kLine = 64;              // Sixteen rows of four codes.
constexpr size_t kPanelBlockBytes = 640;  // Eight lines of codes, sixteen scales, sixteen seconds.
constexpr size_t kPanelBytesMax = Codes::kPanelBlocks * kPanelBlockBytes;

// How codes of a block meet activations. kZeroBits: the zero of the codes as a power of two, -1
// where minima say it.
template <int kCodeBits, int kZeroExponent, bool kHasHalves>
struct Shape {
  static constexpr int kBits = kCodeBits;
  static constexpr int kZeroBits = kZeroExponent;
  static constexpr bool kMinimum = kZeroExponent < 0;
  static constexpr bool kHalves = kHasHalves;
};

// Codes of 4, 5, 6 or 8 bits, kBits lines of them.
template <int kBits>
struct CodeLines {
  static constexpr size_t kBytes = kBits * kLine;
  const uint8_t* from;

  Codes::Line line(int index) const {
    if constexpr (kBits == 8) return at(index);
    const Codes::Line low = Codes::masked(index % 2 == 0 ? at(index / 2) : nibble(index), 15);
    if constexpr (kBits == 5) return Codes::either(low, moved(at(4), index - 4, 16));
    if constexpr (kBits == 6) {
      return Codes::either(low, moved(at(4 + index / 4), index % 4 * 2 - 4, 48));
    }
    return low;
  }

 private:
  Codes::Line at(int index) const { return Codes::load(from + index * kLine); }
  Codes::Line nibble(int index) const { return Codes::right(at(index / 2), 4); }
  // Bits of a plane, moved to where they belong.
  static Codes::Line moved(Codes::Line plane, int right, char mask) {
    return Codes::masked(right < 0   ? Codes::left(plane, -right)
                         : right > 0 ? Codes::right(plane, right)
                                     : plane,
                         mask);
  }
};

// Codes of 32 columns, then half scales and half minima.
template <typename S>
struct PlainBlock {
  using Shape = S;
  static constexpr uint32_t kBlocks = 1;
  static constexpr size_t kTail = CodeLines<S::kBits>::kBytes;
  static constexpr size_t kUnitBytes = kTail + (S::kMinimum ? 64 : 32);
  const uint8_t* from;

  PlainBlock(const uint8_t* unit, uint32_t) : from(unit) {}
  Codes::Line line(int index) const { return CodeLines<S::kBits>{from}.line(index); }
  Lanes::Float scale() const { return Lanes::load_f16(from + kTail); }
  Lanes::Float second() const { return Lanes::load_f16(from + kTail + 32); }
};

inline __m128i sixteen_bytes(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// Q4_K and Q5_K: scales and minima are a half times an integer of 6 bits.
template <int kBits>
struct IntegerScaleBlock {
  using Shape = inference::Shape<kBits, -1, false>;
  static constexpr uint32_t kBlocks = 8;
  static constexpr size_t kHeader = 256, kScales = 64, kNibbles = 192;
  static constexpr size_t kUnitBytes = kHeader + kBlocks * CodeLines<kBits>::kBytes;
  const uint8_t* header;
  uint32_t index;

  IntegerScaleBlock(const uint8_t* unit, uint32_t block) : header(unit), index(block) {}
  Codes::Line line(int i) const {
    constexpr size_t kBytes = CodeLines<kBits>::kBytes;
    return CodeLines<kBits>{header + kHeader + index * kBytes}.line(i);
  }
  Lanes::Float scale() const {
    const __m128i integers = _mm_and_si128(both(), _mm_set1_epi8(63));
    return Lanes::multiply(Lanes::load_f16(header), Codes::floats_of_unsigned(integers));
  }
  Lanes::Float second() const {
    const __m128i high = _mm_and_si128(_mm_srli_epi16(both(), 2), _mm_set1_epi8(48));
    const __m128i pair = sixteen_bytes(header + kNibbles + index / 2 * 16);
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(index % 2 * 4));
    const __m128i low = _mm_and_si128(_mm_srl_epi16(pair, shift), _mm_set1_epi8(15));
    return Lanes::multiply(Lanes::load_f16(header + 32),
                           Codes::floats_of_unsigned(_mm_or_si128(high, low)));
  }

 private:
  __m128i both() const { return sixteen_bytes(header + kScales + index * 16); }
};

// Q6_K: a signed scale for each sixteen columns, times a half.
struct SixBlock {
  using Shape = inference::Shape<6, 5, true>;
  static constexpr uint32_t kBlocks = 8;
  static constexpr size_t kHeader = 288, kScales = 32;
  static constexpr size_t kUnitBytes = kHeader + kBlocks * CodeLines<6>::kBytes;
  const uint8_t* header;
  uint32_t index;

  SixBlock(const uint8_t* unit, uint32_t block) : header(unit), index(block) {}
  Codes::Line line(int i) const {
    return CodeLines<6>{header + kHeader + index * CodeLines<6>::kBytes}.line(i);
  }
  Lanes::Float scale() const { return scale_at(2 * index); }
  Lanes::Float second() const { return scale_at(2 * index + 1); }

 private:
  Lanes::Float scale_at(uint32_t row) const {
    const __m128i integers = sixteen_bytes(header + kScales + row * 16);
    return Lanes::multiply(Lanes::load_f16(header), Codes::floats_of_signed(integers));
  }
};

// A block of a panel, read as the encodings below are.
template <typename S>
struct PanelBlock {
  using Shape = S;
  static constexpr uint32_t kBlocks = 1;
  static constexpr size_t kUnitBytes = kPanelBlockBytes;
  const uint8_t* from;

  PanelBlock(const uint8_t* unit, uint32_t) : from(unit) {}
  Codes::Line line(int index) const { return Codes::load(from + index * kLine); }
  Lanes::Float scale() const { return load(512); }
  Lanes::Float second() const { return load(576); }

 private:
  Lanes::Float load(size_t offset) const {
    return Lanes::load(reinterpret_cast<const float*>(from + offset));
  }
};

// A block that leaves what is read of it in a panel.
template <typename B>
struct KeptBlock {
  using Shape = typename B::Shape;
  B block;
  uint8_t* panel;

  Codes::Line line(int index) const {
    const Codes::Line line = block.line(index);
    Codes::store(panel + index * kLine, line);
    return line;
  }
  Lanes::Float scale() const { return kept(block.scale(), 512); }
  Lanes::Float second() const { return kept(block.second(), 576); }

 private:
  Lanes::Float kept(Lanes::Float numbers, size_t offset) const {
    Lanes::store(reinterpret_cast<float*>(panel + offset), numbers);
    return numbers;
  }
};

}  // namespace
}  // namespace quire::inference
