#pragma once
// How keys and values lie in memory, for each element: read as sixteen floats, and written. As
// vector_math.h, this stays local to the file that includes it. KvHeadLayout says where what lies.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "inference/kernels/vector_math.h"

namespace quire::inference {
namespace {

constexpr uint32_t kHeadDimMax = 256;

struct F32Element {
  static constexpr size_t kBytes = 4, kKeySlotBytes = kBytes, kScaleBytes = 0;
  static constexpr bool kHasCodes = false;
  template <typename L>
  static typename L::Float load(const uint8_t* from) {
    return L::load(reinterpret_cast<const float*>(from));
  }
  template <typename L>
  static typename L::Float load(const uint8_t* low, const uint8_t* high) {
    return L::load_f32(low, high);
  }
  template <typename L>
  static void store(uint8_t* to, typename L::Float x) {
    L::store(reinterpret_cast<float*>(to), x);
  }
};
struct F16Element {
  static constexpr size_t kBytes = 2, kKeySlotBytes = kBytes, kScaleBytes = 0;
  static constexpr bool kHasCodes = false;
  template <typename L>
  static typename L::Float load(const uint8_t* from) {
    return L::load_f16(from);
  }
  template <typename L>
  static typename L::Float load(const uint8_t* low, const uint8_t* high) {
    return L::load_f16(low, high);
  }
  template <typename L>
  static void store(uint8_t* to, typename L::Float x) {
    L::store_f16(to, x);
  }
};
struct BF16Element {
  static constexpr size_t kBytes = 2, kKeySlotBytes = kBytes, kScaleBytes = 0;
  static constexpr bool kHasCodes = false;
  template <typename L>
  static typename L::Float load(const uint8_t* from) {
    return L::load_bf16(from);
  }
  template <typename L>
  static typename L::Float load(const uint8_t* low, const uint8_t* high) {
    return L::load_bf16(low, high);
  }
  template <typename L>
  static void store(uint8_t* to, typename L::Float x) {
    L::store_bf16(to, x);
  }
};

// Codes of 8 bits, four dimensions of a key side by side; a key and a value have a scale each.
struct Q8Element {
  static constexpr size_t kBytes = 1, kKeySlotBytes = 4, kScaleBytes = 8;
  static constexpr bool kHasCodes = true;
  template <typename L>
  static typename L::Float load(const uint8_t* from) {
    return L::load_codes(from);
  }
};

template <typename L, typename E>
void store_element(uint32_t head_dim, uint32_t page_size, uint32_t slot, const float* key,
                   const float* value, uint8_t* head) {
  uint8_t* keys = head + slot * E::kBytes;
  uint8_t* values = head + (size_t{head_dim} * page_size + size_t{slot} * head_dim) * E::kBytes;
  const size_t stride = page_size * E::kBytes;
  for (uint32_t d = 0; d < head_dim; d += 16) {
    uint8_t converted[16 * E::kBytes];
    E::template store<L>(converted, L::load(key + d));
    for (uint32_t i = 0; i < 16; ++i) {
      __builtin_memcpy(keys + (d + i) * stride, converted + i * E::kBytes, E::kBytes);
    }
    E::template store<L>(values + d * E::kBytes, L::load(value + d));
  }
}

// KvHeadLayout has the places.
template <typename L>
void store_codes(uint32_t head_dim, uint32_t page_size, uint32_t slot, const float* key,
                 const float* value, uint8_t* head) {
  float turned[kHeadDimMax] = {};
  int8_t codes[kHeadDimMax];
  int32_t sum;
  const size_t part_bytes = size_t{head_dim} * page_size;
  for (uint32_t d = 0; d < head_dim; ++d) turned[d] = key[d];
  turn(head_dim, turned);
  const float key_scale = quantise_row<L>(head_dim, turned, codes, &sum);
  for (uint32_t d = 0; d < head_dim; d += 4) {
    __builtin_memcpy(head + (size_t{d} / 4 * page_size + slot) * 4, codes + d, 4);
  }
  const float value_scale = quantise_row<L>(head_dim, value, codes, &sum);
  __builtin_memcpy(head + part_bytes + size_t{slot} * head_dim, codes, head_dim);
  uint8_t* scales = head + 2 * part_bytes + slot * sizeof(float);
  __builtin_memcpy(scales, &key_scale, sizeof(float));
  __builtin_memcpy(scales + page_size * sizeof(float), &value_scale, sizeof(float));
}

template <typename L>
void store_kv(VectorElement element, uint32_t head_dim, uint32_t page_size, uint32_t slot,
              const float* key, const float* value, std::byte* head) {
  auto* to = reinterpret_cast<uint8_t*>(head);
  switch (element) {
    case VectorElement::F32:
      return store_element<L, F32Element>(head_dim, page_size, slot, key, value, to);
    case VectorElement::F16:
      return store_element<L, F16Element>(head_dim, page_size, slot, key, value, to);
    case VectorElement::BF16:
      return store_element<L, BF16Element>(head_dim, page_size, slot, key, value, to);
    case VectorElement::Q8:
      return store_codes<L>(head_dim, page_size, slot, key, value, to);
  }
}

}  // namespace
}  // namespace quire::inference
