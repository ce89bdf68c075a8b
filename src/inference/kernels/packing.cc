#include "inference/kernels/packing.h"

#include <cstring>

#include "base/check.h"
#include "inference/api/plain_number.h"
#include "inference/kernels/scalar/quantised.h"

namespace quire::inference {
namespace {

constexpr std::size_t kLineBytes = 64;    // Sixteen rows of four codes.
constexpr std::size_t kHalvesBytes = 32;  // Sixteen halves.
constexpr std::size_t kBytesBytes = 16;   // Sixteen bytes.
constexpr std::uint32_t kSuperBlocks = 8;
constexpr std::uint32_t kLowNibbles = 0x0f0f0f0fu;
constexpr std::uint32_t kLowBits = 0x01010101u;
constexpr std::uint32_t kLowPairs = 0x03030303u;

// The layout of a unit, by the sizes of its parts.
struct UnitLayout {
  int code_bits;
  std::uint32_t block_count;  // Blocks of 32 columns in a unit.
  std::size_t header_bytes;   // Before the codes: integer scales.
  std::size_t tail_bytes;     // After the codes: halves.

  std::size_t code_bytes() const { return static_cast<std::size_t>(code_bits) * kLineBytes; }
  std::size_t bytes() const { return header_bytes + block_count * code_bytes() + tail_bytes; }
};

UnitLayout unit_layout(PackedKind kind) {
  constexpr std::size_t kIntegerScales = 2 * kHalvesBytes + 12 * kBytesBytes;
  switch (kind) {
    case PackedKind::Nibble:
      return {4, 1, 0, kHalvesBytes};
    case PackedKind::NibbleMin:
      return {4, 1, 0, 2 * kHalvesBytes};
    case PackedKind::NibbleK:
      return {4, kSuperBlocks, kIntegerScales, 0};
    case PackedKind::Five:
      return {5, 1, 0, kHalvesBytes};
    case PackedKind::FiveMin:
      return {5, 1, 0, 2 * kHalvesBytes};
    case PackedKind::FiveK:
      return {5, kSuperBlocks, kIntegerScales, 0};
    case PackedKind::SixK:
      return {6, kSuperBlocks, kHalvesBytes + 16 * kBytesBytes, 0};
    case PackedKind::Byte:
      return {8, 1, 0, kHalvesBytes};
    case PackedKind::F32:
    case PackedKind::F16:
    case PackedKind::BF16:
      break;
  }
  QUIRE_CHECK(false, "the kind is not quantised");
}

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <typename T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

// One row's part of a line, `first` being its part of the first.
std::uint32_t get_line(const std::byte* first, std::size_t line) {
  return load<std::uint32_t>(first + line * kLineBytes);
}

void set_line(std::byte* first, std::size_t line, std::uint32_t word) {
  store(first + line * kLineBytes, word);
}

void put_codes(const std::uint32_t (&codes)[8], int bits, std::byte* lines) {
  if (bits == 8) {
    for (std::size_t i = 0; i < 8; ++i) set_line(lines, i, codes[i]);
    return;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    set_line(lines, i, (codes[2 * i] & kLowNibbles) | ((codes[2 * i + 1] & kLowNibbles) << 4));
  }
  if (bits == 5) {
    std::uint32_t high = 0;
    for (std::size_t i = 0; i < 8; ++i) high |= ((codes[i] >> 4) & kLowBits) << i;
    set_line(lines, 4, high);
  } else if (bits == 6) {
    for (std::size_t half = 0; half < 2; ++half) {
      std::uint32_t high = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        high |= ((codes[4 * half + j] >> 4) & kLowPairs) << (2 * j);
      }
      set_line(lines, 4 + half, high);
    }
  }
}

void get_codes(const std::byte* lines, int bits, std::uint32_t (&codes)[8]) {
  for (std::size_t i = 0; i < 8; ++i) {
    if (bits == 8) {
      codes[i] = get_line(lines, i);
      continue;
    }
    codes[i] = (get_line(lines, i / 2) >> (i % 2 * 4)) & kLowNibbles;
    if (bits == 5) codes[i] |= ((get_line(lines, 4) >> i) & kLowBits) << 4;
    if (bits == 6) codes[i] |= ((get_line(lines, 4 + i / 4) >> (i % 4 * 2)) & kLowPairs) << 4;
  }
}

// Block `index` of a unit, of one row.
template <typename Byte>
struct Place {
  PackedKind kind;
  UnitLayout layout;
  Byte* unit;
  std::uint32_t index;
  std::uint32_t lane;

  Byte* lines() const {
    return unit + layout.header_bytes + index * layout.code_bytes() + 4 * lane;
  }
  Byte* half(std::size_t offset) const { return unit + offset + 2 * lane; }
  Byte* byte(std::size_t row) const { return unit + row * kBytesBytes + lane; }
};

// Integer scales of Q4_K and Q5_K after two rows of halves: kScales rows, then the nibbles.
constexpr std::size_t kScaleRow = 4, kNibbleRow = kScaleRow + kSuperBlocks;

void put_k_scales(const WeightBlock& block, const Place<std::byte>& at) {
  store(at.half(0), block.scale_half);
  store(at.half(kHalvesBytes), block.second_half);
  const auto minimum = static_cast<std::uint8_t>(block.second_factor);
  const auto low = static_cast<std::uint8_t>(block.scale_factor);
  store(at.byte(kScaleRow + at.index), static_cast<std::uint8_t>(low | ((minimum >> 4) << 6)));
  std::byte* nibbles = at.byte(kNibbleRow + at.index / 2);
  const std::uint8_t kept = at.index % 2 == 0 ? std::uint8_t{0} : load<std::uint8_t>(nibbles);
  store(nibbles, static_cast<std::uint8_t>(kept | ((minimum & 15) << (at.index % 2 * 4))));
}

void get_k_scales(const Place<const std::byte>& at, WeightBlock& block) {
  block.scale_half = load<std::uint16_t>(at.half(0));
  block.second_half = load<std::uint16_t>(at.half(kHalvesBytes));
  const auto both = load<std::uint8_t>(at.byte(kScaleRow + at.index));
  const auto nibbles = load<std::uint8_t>(at.byte(kNibbleRow + at.index / 2));
  block.scale_factor = static_cast<std::int8_t>(both & 63);
  block.second_factor =
      static_cast<std::int8_t>(((both >> 6) << 4) | ((nibbles >> (at.index % 2 * 4)) & 15));
}

// Q6_K: two rows of bytes are the halves, then two rows of scales a block.
constexpr std::size_t kHalfScaleRow = 2;

void put_block(const WeightBlock& block, const Place<std::byte>& at) {
  put_codes(block.codes, at.layout.code_bits, at.lines());
  const std::size_t tail = at.layout.bytes() - at.layout.tail_bytes;
  if (at.kind == PackedKind::SixK) {
    store(at.half(0), block.scale_half);
    store(at.byte(kHalfScaleRow + 2 * at.index), block.scale_factor);
    store(at.byte(kHalfScaleRow + 2 * at.index + 1), block.second_factor);
  } else if (at.layout.header_bytes > 0) {
    put_k_scales(block, at);
  } else {
    store(at.half(tail), block.scale_half);
    if (at.layout.tail_bytes > kHalvesBytes) {
      store(at.half(tail + kHalvesBytes), block.second_half);
    }
  }
}

WeightBlock get_block(const Place<const std::byte>& at) {
  WeightBlock block{};
  block.scale_factor = block.second_factor = 1;
  get_codes(at.lines(), at.layout.code_bits, block.codes);
  const std::size_t tail = at.layout.bytes() - at.layout.tail_bytes;
  if (at.kind == PackedKind::SixK) {
    block.scale_half = block.second_half = load<std::uint16_t>(at.half(0));
    block.scale_factor = load<std::int8_t>(at.byte(kHalfScaleRow + 2 * at.index));
    block.second_factor = load<std::int8_t>(at.byte(kHalfScaleRow + 2 * at.index + 1));
  } else if (at.layout.header_bytes > 0) {
    get_k_scales(at, block);
  } else {
    block.scale_half = load<std::uint16_t>(at.half(tail));
    if (at.layout.tail_bytes > kHalvesBytes) {
      block.second_half = load<std::uint16_t>(at.half(tail + kHalvesBytes));
    }
  }
  return block;
}

void pack_quantised_group(NumberFormat format, std::uint32_t column_count, std::uint32_t lane_count,
                          const std::byte* source, std::byte* group) {
  const PackedKind kind = packed_kind(format);
  const UnitLayout layout = unit_layout(kind);
  const FormatShape shape = format_shape(format);
  const std::size_t row_bytes = std::size_t{column_count} / shape.block_values * shape.block_bytes;
  if (lane_count < kRowGroup) std::memset(group, 0, packed_group_bytes(format, column_count));
  for (std::uint32_t block = 0; block < column_count / kQuantisedBlock; ++block) {
    std::byte* unit = group + block / layout.block_count * layout.bytes();
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      put_block(weight_block(format, source + lane * row_bytes, block),
                {kind, layout, unit, block % layout.block_count, lane});
    }
  }
}

// Columns in strips, so that the sixteen rows read and the columns written stay in the cache.
template <typename T>
void pack_float_group(std::uint32_t column_count, std::uint32_t lane_count, const std::byte* source,
                      std::byte* group) {
  constexpr std::uint32_t kStrip = 64;
  const std::size_t row_bytes = std::size_t{column_count} * sizeof(T);
  if (lane_count < kRowGroup) std::memset(group, 0, row_bytes * kRowGroup);
  for (std::uint32_t first = 0; first < column_count; first += kStrip) {
    const std::uint32_t end = first + kStrip < column_count ? first + kStrip : column_count;
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      const std::byte* row = source + lane * row_bytes;
      std::byte* to = group + lane * sizeof(T);
      for (std::size_t column = first; column < end; ++column) {
        store(to + column * kRowGroup * sizeof(T), load<T>(row + column * sizeof(T)));
      }
    }
  }
}

float code_at(const WeightBlock& block, std::uint32_t column, std::int32_t zero) {
  const std::uint32_t code = (block.codes[column / 4] >> (8 * (column % 4))) & 255u;
  return static_cast<float>(static_cast<std::int32_t>(code) - zero);
}

void unpack_quantised_row(NumberFormat format, std::uint32_t column_count, const std::byte* group,
                          std::uint32_t lane, float* out) {
  const QuantisedShape shape = quantised_shape(format);
  const UnitLayout layout = unit_layout(shape.kind);
  for (std::uint32_t block = 0; block < column_count / kQuantisedBlock; ++block) {
    const std::byte* unit = group + block / layout.block_count * layout.bytes();
    const WeightBlock weights =
        get_block({shape.kind, layout, unit, block % layout.block_count, lane});
    const float scale = weights.scale(), second = weights.second();
    for (std::uint32_t i = 0; i < kQuantisedBlock; ++i, ++out) {
      const bool other = shape.has_half_scales && i >= kQuantisedBlock / 2;
      const float value = code_at(weights, i, shape.zero) * (other ? second : scale);
      *out = shape.has_minimum ? value + second : value;
    }
  }
}

}  // namespace

PackedKind packed_kind(NumberFormat format) {
  switch (format) {
    case NumberFormat::F32:
      return PackedKind::F32;
    case NumberFormat::F16:
      return PackedKind::F16;
    case NumberFormat::BF16:
      return PackedKind::BF16;
    default:
      return quantised_shape(format).kind;
  }
}

std::size_t packed_group_bytes(NumberFormat format, std::uint32_t column_count) {
  if (is_quantised(format)) {
    QUIRE_CHECK(column_count % format_shape(format).block_values == 0, "whole blocks");
    const UnitLayout layout = unit_layout(packed_kind(format));
    return std::size_t{column_count} / kQuantisedBlock / layout.block_count * layout.bytes();
  }
  return std::size_t{column_count} * kRowGroup * format_shape(format).block_bytes;
}

std::size_t vector_packed_bytes(NumberFormat format, std::uint32_t row_count,
                                std::uint32_t column_count) {
  const std::size_t group_count = (std::size_t{row_count} + kRowGroup - 1) / kRowGroup;
  return group_count * packed_group_bytes(format, column_count);
}

void vector_pack_rows(NumberFormat format, std::uint32_t column_count, std::uint32_t row_first,
                      std::uint32_t count, const std::byte* source, std::byte* packed) {
  QUIRE_CHECK(row_first % kRowGroup == 0, "rows are packed in whole groups");
  const FormatShape shape = format_shape(format);
  const std::size_t row_bytes = std::size_t{column_count} / shape.block_values * shape.block_bytes;
  const std::size_t group_bytes = packed_group_bytes(format, column_count);
  std::byte* group = packed + row_first / kRowGroup * group_bytes;
  for (std::uint32_t row = 0; row < count; row += kRowGroup, group += group_bytes) {
    const std::uint32_t lane_count = count - row < kRowGroup ? count - row : kRowGroup;
    const std::byte* from = source + row * row_bytes;
    if (is_quantised(format)) {
      pack_quantised_group(format, column_count, lane_count, from, group);
    } else if (format == NumberFormat::F32) {
      pack_float_group<std::uint32_t>(column_count, lane_count, from, group);
    } else {
      pack_float_group<std::uint16_t>(column_count, lane_count, from, group);
    }
  }
}

void vector_unpack_row(const PackedMatrix& matrix, std::uint32_t row, float* out) {
  QUIRE_CHECK(row < matrix.row_count, "the row exists");
  const std::byte* group =
      matrix.bytes + row / kRowGroup * packed_group_bytes(matrix.format, matrix.column_count);
  const std::uint32_t lane = row % kRowGroup;
  if (is_quantised(matrix.format)) {
    unpack_quantised_row(matrix.format, matrix.column_count, group, lane, out);
    return;
  }
  for (std::size_t column = 0; column < matrix.column_count; ++column) {
    out[column] = plain_number(matrix.format, group, column * kRowGroup + lane);
  }
}

std::size_t vector_activation_bytes(NumberFormat format, std::uint32_t column_count) {
  const std::size_t bytes =
      is_quantised(format) ? std::size_t{column_count} / kQuantisedBlock * sizeof(ActivationBlock)
                           : std::size_t{column_count} * sizeof(float);
  // The number of lines is odd. If rows of tokens lay a power of two apart, they would share cache
  // sets, and a tile of sixteen would find none of them in the cache. That halved the speed at 8192
  // columns.
  const std::size_t line_count = (bytes + kLineBytes - 1) / kLineBytes;
  return (line_count | 1) * kLineBytes;
}

}  // namespace quire::inference
