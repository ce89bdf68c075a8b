#include "inference/kernels/scalar/quantised.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/half.h"

namespace quire::inference {
namespace {

constexpr std::uint32_t kSuperBlock = 256;  // Columns that share one header in the K formats.
constexpr std::uint32_t kLowNibbles = 0x0f0f0f0fu;

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

std::uint16_t negative_half(std::uint16_t half) {
  return static_cast<std::uint16_t>(half ^ 0x8000u);
}

// Spreads four bits to the lowest bits of four bytes, moved up by `shift`.
std::uint32_t spread(std::uint32_t bits, int shift) {
  return (((bits & 15u) * 0x00204081u) & 0x01010101u) << shift;
}

// Sixteen bytes hold columns 0..15 in their low and 16..31 in their high nibbles.
void split_nibbles(const std::byte* from, std::uint32_t* codes) {
  for (int i = 0; i < 4; ++i) {
    const auto word = load<std::uint32_t>(from + 4 * i);
    codes[i] = word & kLowNibbles;
    codes[4 + i] = (word >> 4) & kLowNibbles;
  }
}

void add_fifth_bits(std::uint32_t high, std::uint32_t* codes) {
  for (int i = 0; i < 8; ++i) codes[i] |= spread(high >> (4 * i), 4);
}

// Six-bit scale and minimum `index` of the twelve bytes that Q4_K and Q5_K keep them in.
struct ScaleAndMinimum {
  std::uint32_t scale;
  std::uint32_t minimum;
};
ScaleAndMinimum k_scale(const std::byte* from, std::uint32_t index) {
  const auto at = [&](std::uint32_t i) { return std::to_integer<std::uint32_t>(from[i]); };
  if (index < 4) return {at(index) & 63u, at(index + 4) & 63u};
  return {(at(index + 4) & 15u) | ((at(index - 4) >> 6) << 4),
          (at(index + 4) >> 4) | ((at(index) >> 6) << 4)};
}

// Scale and minimum of Q4_K and Q5_K; the header is d, dmin, twelve bytes of scales.
void set_k_scales(const std::byte* super, std::uint32_t index, WeightBlock& out) {
  const ScaleAndMinimum packed = k_scale(super + 4, index);
  out.scale_half = load<std::uint16_t>(super);
  out.second_half = negative_half(load<std::uint16_t>(super + 2));
  out.scale_factor = static_cast<std::int8_t>(packed.scale);
  out.second_factor = static_cast<std::int8_t>(packed.minimum);
}

WeightBlock block_q4_k(const std::byte* super, std::uint32_t index) {
  WeightBlock out{};
  set_k_scales(super, index, out);
  const std::byte* nibbles = super + 16 + 32 * (index / 2);
  for (int i = 0; i < 8; ++i) {
    out.codes[i] = (load<std::uint32_t>(nibbles + 4 * i) >> (4 * (index % 2))) & kLowNibbles;
  }
  return out;
}

WeightBlock block_q5_k(const std::byte* super, std::uint32_t index) {
  WeightBlock out{};
  set_k_scales(super, index, out);
  const std::byte* high = super + 16;
  const std::byte* nibbles = super + 48 + 32 * (index / 2);
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t low =
        (load<std::uint32_t>(nibbles + 4 * i) >> (4 * (index % 2))) & kLowNibbles;
    out.codes[i] = low | (((load<std::uint32_t>(high + 4 * i) >> index) & 0x01010101u) << 4);
  }
  return out;
}

// 128 low nibbles pairs, 64 bytes of two high bits each, sixteen signed scales, d.
WeightBlock block_q6_k(const std::byte* super, std::uint32_t index) {
  WeightBlock out{};
  const std::uint32_t half = index / 4, quarter = index % 4;
  const std::byte* low = super + 64 * half + 32 * (quarter % 2);
  const std::byte* high = super + 128 + 32 * half;
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t nibble =
        (load<std::uint32_t>(low + 4 * i) >> (4 * (quarter / 2))) & kLowNibbles;
    const std::uint32_t top = (load<std::uint32_t>(high + 4 * i) >> (2 * quarter)) & 0x03030303u;
    out.codes[i] = nibble | (top << 4);
  }
  const std::byte* scales = super + 192 + 2 * index;
  out.scale_half = out.second_half = load<std::uint16_t>(super + 208);
  out.scale_factor = load<std::int8_t>(scales);
  out.second_factor = load<std::int8_t>(scales + 1);
  return out;
}

std::int32_t code_at(const WeightBlock& block, std::uint32_t column) {
  return static_cast<std::int32_t>((block.codes[column / 4] >> (8 * (column % 4))) & 255u);
}

}  // namespace

void quantise_activations(std::uint32_t column_count, const float* x, ActivationBlock* out) {
  for (std::uint32_t first = 0; first < column_count; first += kQuantisedBlock, ++out) {
    std::uint32_t largest = 0;  // Of the bits without sign: not-a-number compares above infinity.
    for (std::uint32_t i = 0; i < kQuantisedBlock; ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[first + i]) & 0x7fffffffu;
      largest = bits > largest ? bits : largest;
    }
    *out = {};
    const float magnitude = std::bit_cast<float>(largest);
    if (largest >= 0x7f800000u) {
      out->scale = out->scaled_sum = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    if (magnitude < kQuantisedMagnitudeMin) continue;
    const float inverse = 127.0f / magnitude;
    for (std::uint32_t i = 0; i < kQuantisedBlock; ++i) {
      const auto value = static_cast<std::int32_t>(std::lrint(x[first + i] * inverse));
      out->values[i] = static_cast<std::int8_t>(value);
      out->negative_sum -= value;
      if (i < kQuantisedBlock / 2) out->negative_sum_low -= value;
    }
    out->scale = magnitude / 127.0f;
    out->scaled_sum = out->scale * static_cast<float>(-out->negative_sum);
  }
}

float WeightBlock::scale() const {
  return float_from_f16(scale_half) * static_cast<float>(scale_factor);
}

float WeightBlock::second() const {
  return float_from_f16(second_half) * static_cast<float>(second_factor);
}

QuantisedShape quantised_shape(NumberFormat format) {
  switch (format) {
    case NumberFormat::Q4_0:
      return {PackedKind::Nibble, 8, false, false};
    case NumberFormat::Q4_1:
      return {PackedKind::NibbleMin, 0, true, false};
    case NumberFormat::Q4_K:
      return {PackedKind::NibbleK, 0, true, false};
    case NumberFormat::Q5_0:
      return {PackedKind::Five, 16, false, false};
    case NumberFormat::Q5_1:
      return {PackedKind::FiveMin, 0, true, false};
    case NumberFormat::Q5_K:
      return {PackedKind::FiveK, 0, true, false};
    case NumberFormat::Q6_K:
      return {PackedKind::SixK, 32, false, true};
    case NumberFormat::Q8_0:
      return {PackedKind::Byte, 128, false, false};
    case NumberFormat::F32:
    case NumberFormat::F16:
    case NumberFormat::BF16:
      break;
  }
  QUIRE_CHECK(false, "the format is not quantised");
}

WeightBlock weight_block(NumberFormat format, const std::byte* row, std::uint32_t block) {
  const std::uint32_t block_bytes = format_shape(format).block_bytes;
  const std::byte* from = row + std::size_t{block} * block_bytes;
  const std::uint32_t index = block % (kSuperBlock / kQuantisedBlock);
  const std::byte* super = row + std::size_t{block} / 8 * block_bytes;
  WeightBlock out{};
  out.scale_factor = out.second_factor = 1;
  switch (format) {
    case NumberFormat::Q4_K:
      return block_q4_k(super, index);
    case NumberFormat::Q5_K:
      return block_q5_k(super, index);
    case NumberFormat::Q6_K:
      return block_q6_k(super, index);
    case NumberFormat::Q8_0:
      for (int i = 0; i < 8; ++i) {
        out.codes[i] = load<std::uint32_t>(from + 2 + 4 * i) ^ 0x80808080u;
      }
      break;
    case NumberFormat::Q4_0:
      split_nibbles(from + 2, out.codes);
      break;
    case NumberFormat::Q4_1:
      split_nibbles(from + 4, out.codes);
      out.second_half = load<std::uint16_t>(from + 2);
      break;
    case NumberFormat::Q5_0:
      split_nibbles(from + 6, out.codes);
      add_fifth_bits(load<std::uint32_t>(from + 2), out.codes);
      break;
    case NumberFormat::Q5_1:
      split_nibbles(from + 8, out.codes);
      add_fifth_bits(load<std::uint32_t>(from + 4), out.codes);
      out.second_half = load<std::uint16_t>(from + 2);
      break;
    case NumberFormat::F32:
    case NumberFormat::F16:
    case NumberFormat::BF16:
      QUIRE_CHECK(false, "the format is not quantised");
  }
  out.scale_half = load<std::uint16_t>(from);
  return out;
}

float quantised_dot(NumberFormat format, std::uint32_t column_count, const std::byte* row,
                    const ActivationBlock* x) {
  const QuantisedShape shape = quantised_shape(format);
  float sum = 0.0f;
  for (std::uint32_t block = 0; block < column_count / kQuantisedBlock; ++block, ++x) {
    const WeightBlock weights = weight_block(format, row, block);
    std::int32_t low = 0, high = 0;
    for (std::uint32_t i = 0; i < kQuantisedBlock; ++i) {
      const std::int32_t product = (code_at(weights, i) - shape.zero) * x->values[i];
      (i < kQuantisedBlock / 2 ? low : high) += product;
    }
    const float scale = weights.scale(), second = weights.second();
    if (shape.has_half_scales) {
      sum = std::fma(static_cast<float>(low), scale * x->scale, sum);
      sum = std::fma(static_cast<float>(high), second * x->scale, sum);
    } else {
      sum = std::fma(static_cast<float>(low + high), scale * x->scale, sum);
      if (shape.has_minimum) sum = std::fma(second, x->scaled_sum, sum);
    }
  }
  return sum;
}

}  // namespace quire::inference
