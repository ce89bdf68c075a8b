#include "inference/kernels/scalar/decode.h"

#include <cstring>

#include "base/half.h"

namespace quire::inference {
namespace {

constexpr int kBlock = 32;        // Values of a small block.
constexpr int kSuperBlock = 256;  // Values of a K block.

std::uint16_t bits16(const std::byte* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

float half_at(const std::byte* from) {
  return float_from_f16(bits16(from));
}
int byte_at(const std::byte* from, int index) {
  return std::to_integer<int>(from[index]);
}
float low_nibble(const std::byte* from, int index) {
  return static_cast<float>(byte_at(from, index) & 15);
}
float high_nibble(const std::byte* from, int index) {
  return static_cast<float>(byte_at(from, index) >> 4);
}

void decode_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < kBlock; ++i) {
    const auto value = static_cast<std::int8_t>(byte_at(block, 2 + i));
    out[i] = static_cast<float>(value) * scale;
  }
}

void decode_q4_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < kBlock / 2; ++i) {
    out[i] = scale * (low_nibble(block + 2, i) - 8.0f);
    out[i + kBlock / 2] = scale * (high_nibble(block + 2, i) - 8.0f);
  }
}

void decode_q4_1(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  for (int i = 0; i < kBlock / 2; ++i) {
    out[i] = scale * low_nibble(block + 4, i) + minimum;
    out[i + kBlock / 2] = scale * high_nibble(block + 4, i) + minimum;
  }
}

// The fifth bits of all 32 values lie in one word before the nibbles.
int five_bits(const std::byte* block, int fifths_at, int value) {
  const int nibbles = byte_at(block, fifths_at + 4 + value % 16);
  const int fifth = (byte_at(block, fifths_at + value / 8) >> (value % 8)) & 1;
  return ((value < 16 ? nibbles : nibbles >> 4) & 15) | (fifth << 4);
}

void decode_q5_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(five_bits(block, 2, i) - 16);
}

void decode_q5_1(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  for (int i = 0; i < kBlock; ++i) {
    out[i] = scale * static_cast<float>(five_bits(block, 4, i)) + minimum;
  }
}

// Eight scales and eight minima of six bits each, in twelve bytes.
struct ScaleAndMinimum {
  float scale;
  float minimum;
};
ScaleAndMinimum scale_and_minimum(const std::byte* packed, int index) {
  if (index < 4) {
    return {static_cast<float>(byte_at(packed, index) & 63),
            static_cast<float>(byte_at(packed, index + 4) & 63)};
  }
  const int low = byte_at(packed, index + 4);
  const int scale = (low & 15) | ((byte_at(packed, index - 4) >> 6) << 4);
  const int minimum = (low >> 4) | ((byte_at(packed, index) >> 6) << 4);
  return {static_cast<float>(scale), static_cast<float>(minimum)};
}

void decode_q4_k(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  for (int group = 0; group < kSuperBlock / 32; ++group) {
    const auto [group_scale, group_minimum] = scale_and_minimum(block + 4, group);
    const float d = scale * group_scale;
    const float m = minimum * group_minimum;
    const std::byte* nibbles = block + 16 + group / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      const float q = group % 2 == 0 ? low_nibble(nibbles, i) : high_nibble(nibbles, i);
      out[group * 32 + i] = d * q - m;
    }
  }
}

void decode_q5_k(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  for (int group = 0; group < kSuperBlock / 32; ++group) {
    const auto [group_scale, group_minimum] = scale_and_minimum(block + 4, group);
    const float d = scale * group_scale;
    const float m = minimum * group_minimum;
    const std::byte* nibbles = block + 48 + group / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      const int low = (byte_at(nibbles, i) >> (group % 2 * 4)) & 15;
      const int fifth = (byte_at(block, 16 + i) >> group) & 1;
      out[group * 32 + i] = d * static_cast<float>(low | (fifth << 4)) - m;
    }
  }
}

// Two halves of 128 values; in each, four runs of 32 share the high bits of 32 bytes.
void decode_q6_k(const std::byte* block, float* out) {
  const float scale = half_at(block + 208);
  for (int value = 0; value < kSuperBlock; ++value) {
    const int half = value / 128;
    const int run = value % 128 / 32;
    const int i = value % 32;
    const int low = (byte_at(block, half * 64 + run % 2 * 32 + i) >> (run / 2 * 4)) & 15;
    const int high = (byte_at(block, 128 + half * 32 + i) >> (run * 2)) & 3;
    const auto group = static_cast<std::int8_t>(byte_at(block, 192 + value / 16));
    out[value] = scale * static_cast<float>(group) * static_cast<float>((low | (high << 4)) - 32);
  }
}

using BlockDecoder = void (*)(const std::byte*, float*);

void decode_blocks(BlockDecoder decode, NumberFormat format, const std::byte* blocks,
                   std::size_t count, float* out) {
  const FormatShape shape = format_shape(format);
  for (std::size_t value = 0; value < count; value += shape.block_values) {
    decode(blocks, out + value);
    blocks += shape.block_bytes;
  }
}

}  // namespace

void decode_row(NumberFormat format, const std::byte* blocks, std::size_t count, float* out) {
  switch (format) {
    case NumberFormat::F32:
      std::memcpy(out, blocks, count * sizeof(float));
      return;
    case NumberFormat::F16:
      for (std::size_t i = 0; i < count; ++i) out[i] = half_at(blocks + 2 * i);
      return;
    case NumberFormat::BF16:
      for (std::size_t i = 0; i < count; ++i) out[i] = float_from_bf16(bits16(blocks + 2 * i));
      return;
    case NumberFormat::Q8_0:
      return decode_blocks(decode_q8_0, format, blocks, count, out);
    case NumberFormat::Q4_0:
      return decode_blocks(decode_q4_0, format, blocks, count, out);
    case NumberFormat::Q4_1:
      return decode_blocks(decode_q4_1, format, blocks, count, out);
    case NumberFormat::Q5_0:
      return decode_blocks(decode_q5_0, format, blocks, count, out);
    case NumberFormat::Q5_1:
      return decode_blocks(decode_q5_1, format, blocks, count, out);
    case NumberFormat::Q4_K:
      return decode_blocks(decode_q4_k, format, blocks, count, out);
    case NumberFormat::Q5_K:
      return decode_blocks(decode_q5_k, format, blocks, count, out);
    case NumberFormat::Q6_K:
      return decode_blocks(decode_q6_k, format, blocks, count, out);
  }
}

}  // namespace quire::inference
