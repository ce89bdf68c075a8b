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
constexpr size_t kLine = 64;  // Sixteen rows of four codes.
constexpr size_t kPanelBytesMax = size_t{24} << 10;
constexpr size_t kPanelBlockBytes = 640;  // Eight lines of codes, sixteen scales, sixteen seconds.

// How codes of a block meet activations. kZeroBits: the zero of the codes as a power of two, -1
// where minima say it.
template <int kCodeBits, int kZeroExponent, bool kHasHalves>
struct Shape {
  static constexpr int kBits = kCodeBits;
  static constexpr int kZeroBits = kZeroExponent;
  static constexpr bool kMinimum = kZeroExponent < 0;
  static constexpr bool kHalves = kHasHalves;
};

template <typename S>
struct NibbleBlock {
  using Shape = S;
  static constexpr uint32_t kBlocks = 1;
  static constexpr size_t kUnitBytes = 4 * kLine + (S::kMinimum ? 64 : 32);
  static constexpr size_t kPrefetch = kUnitBytes;
  const uint8_t* from;

  NibbleBlock(const uint8_t* unit, uint32_t) : from(unit) {}
  Codes::Line line(int index) const {
    const Codes::Line both = Codes::load(from + index / 2 * kLine);
    return Codes::masked(index % 2 == 0 ? both : Codes::right<4>(both), 15);
  }
  Lanes::Float scale() const { return Lanes::load_f16(from + 4 * kLine); }
  Lanes::Float second() const { return Lanes::load_f16(from + 4 * kLine + 32); }
};

template <typename S>
struct ByteBlock {
  using Shape = S;
  static constexpr uint32_t kBlocks = 1;
  static constexpr size_t kUnitBytes = 8 * kLine + (S::kMinimum || S::kHalves ? 64 : 32);
  static constexpr size_t kPrefetch = kUnitBytes;
  const uint8_t* from;

  ByteBlock(const uint8_t* unit, uint32_t) : from(unit) {}
  Codes::Line line(int index) const { return Codes::load(from + index * kLine); }
  Lanes::Float scale() const { return Lanes::load_f16(from + 8 * kLine); }
  Lanes::Float second() const { return Lanes::load_f16(from + 8 * kLine + 32); }
};

// A block of a panel, read as the encodings below are.
template <typename S>
struct PanelBlock {
  using Shape = S;
  static constexpr uint32_t kBlocks = 1;
  static constexpr size_t kUnitBytes = kPanelBlockBytes;
  static constexpr size_t kPrefetch = 0;
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

}  // namespace
}  // namespace quire::inference
