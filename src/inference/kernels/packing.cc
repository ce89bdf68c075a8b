#include "inference/kernels/packing.h"

#include <cstring>

#include "base/check.h"
#include "base/half.h"
#include "inference/kernels/scalar/quantised.h"

namespace quire::inference {
namespace {

constexpr std::size_t kLineBytes = 64;    // Sixteen rows of four codes.
constexpr std::size_t kHalvesBytes = 32;  // Sixteen halves.

bool has_nibbles(PackedKind kind) {
  return kind == PackedKind::Nibble || kind == PackedKind::NibbleMin;
}

bool has_second(PackedKind kind) {
  return kind == PackedKind::NibbleMin || kind == PackedKind::ByteMin ||
         kind == PackedKind::ByteHalves;
}

std::size_t code_bytes(PackedKind kind) {
  return (has_nibbles(kind) ? 4 : 8) * kLineBytes;
}

std::size_t block_bytes(PackedKind kind) {
  return code_bytes(kind) + (has_second(kind) ? 2 : 1) * kHalvesBytes;
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

void put_block(const WeightBlock& block, PackedKind kind, std::uint32_t lane, std::byte* to) {
  std::byte* line = to + 4 * lane;
  if (has_nibbles(kind)) {
    for (std::size_t i = 0; i < 4; ++i) {
      store(line + i * kLineBytes, block.codes[2 * i] | (block.codes[2 * i + 1] << 4));
    }
  } else {
    for (std::size_t i = 0; i < 8; ++i) store(line + i * kLineBytes, block.codes[i]);
  }
  std::byte* scales = to + code_bytes(kind) + 2 * lane;
  store(scales, block.scale);
  if (has_second(kind)) store(scales + kHalvesBytes, block.second);
}

WeightBlock get_block(PackedKind kind, std::uint32_t lane, const std::byte* from) {
  constexpr std::uint32_t kLowNibbles = 0x0f0f0f0fu;
  WeightBlock block{};
  const std::byte* line = from + 4 * lane;
  if (has_nibbles(kind)) {
    for (std::size_t i = 0; i < 4; ++i) {
      const auto both = load<std::uint32_t>(line + i * kLineBytes);
      block.codes[2 * i] = both & kLowNibbles;
      block.codes[2 * i + 1] = (both >> 4) & kLowNibbles;
    }
  } else {
    for (std::size_t i = 0; i < 8; ++i) {
      block.codes[i] = load<std::uint32_t>(line + i * kLineBytes);
    }
  }
  const std::byte* scales = from + code_bytes(kind) + 2 * lane;
  block.scale = load<std::uint16_t>(scales);
  if (has_second(kind)) block.second = load<std::uint16_t>(scales + kHalvesBytes);
  return block;
}

void pack_quantised_group(NumberFormat format, std::uint32_t column_count, std::uint32_t lane_count,
                          const std::byte* source, std::byte* group) {
  const PackedKind kind = packed_kind(format);
  const FormatShape shape = format_shape(format);
  const std::size_t row_bytes = std::size_t{column_count} / shape.block_values * shape.block_bytes;
  const std::size_t stride = block_bytes(kind);
  for (std::uint32_t block = 0; block < column_count / kQuantisedBlock; ++block) {
    std::byte* to = group + block * stride;
    if (lane_count < kRowGroup) std::memset(to, 0, stride);
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      put_block(weight_block(format, source + lane * row_bytes, block), kind, lane, to);
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
  const std::size_t stride = block_bytes(shape.kind);
  for (std::uint32_t first = 0; first < column_count; first += kQuantisedBlock) {
    const WeightBlock block = get_block(shape.kind, lane, group);
    const float scale = float_from_f16(block.scale), second = float_from_f16(block.second);
    for (std::uint32_t i = 0; i < kQuantisedBlock; ++i) {
      const bool other = shape.has_half_scales && i >= kQuantisedBlock / 2;
      const float value = code_at(block, i, shape.zero) * (other ? second : scale);
      out[first + i] = shape.has_minimum ? value + second : value;
    }
    group += stride;
  }
}

float number_at(NumberFormat format, const std::byte* from) {
  switch (format) {
    case NumberFormat::F16:
      return float_from_f16(load<std::uint16_t>(from));
    case NumberFormat::BF16:
      return float_from_bf16(load<std::uint16_t>(from));
    default:
      return load<float>(from);
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
    return std::size_t{column_count} / kQuantisedBlock * block_bytes(packed_kind(format));
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
  const std::size_t bytes = format_shape(matrix.format).block_bytes;
  for (std::size_t column = 0; column < matrix.column_count; ++column) {
    out[column] = number_at(matrix.format, group + (column * kRowGroup + lane) * bytes);
  }
}

std::size_t vector_activation_bytes(NumberFormat format, std::uint32_t column_count) {
  const std::size_t bytes =
      is_quantised(format) ? std::size_t{column_count} / kQuantisedBlock * sizeof(ActivationBlock)
                           : std::size_t{column_count} * sizeof(float);
  // An odd number of lines: tokens whose rows lie a power of two apart share cache sets, and a tile
  // of sixteen then finds none of them in the cache (half the speed at 8192 columns).
  const std::size_t line_count = (bytes + kLineBytes - 1) / kLineBytes;
  return (line_count | 1) * kLineBytes;
}

}  // namespace quire::inference
