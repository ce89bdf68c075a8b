#pragma once
// KvLayout: where keys and values lie in a page, and how many bytes they take.
//
// A page is [layer][kv head] of heads; a head is keys [head_dim][page_size], then values
// [page_size][head_dim], in one number format, then their scales. So sixteen slots of one dimension
// are one load, and a page can be moved to another tier as one piece.
//
// Q8 has keys [head_dim / 4][page_size][4], so that an instruction multiplies four dimensions of a
// slot and adds them up. The scales are F32: those of the keys [page_size], then those of the
// values [page_size].
// scalar/kv_quantised.h says what the codes are.
#include <cstddef>
#include <cstdint>

#include "inference/api/types.h"

namespace quire::inference {

struct KvLayout {
  std::uint32_t layer_count = 0;
  std::uint32_t kv_head_count = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t page_size = 16;
  KvFormat format = KvFormat::F16;

  // Bytes of one kv head in one page: its keys, its values, and the scales of both. Only Q8 has
  // scales.
  std::size_t key_bytes() const { return std::size_t{head_dim} * page_size * number_bytes(); }
  std::size_t value_bytes() const { return std::size_t{page_size} * head_dim * number_bytes(); }
  std::size_t scale_bytes() const {
    return format == KvFormat::Q8 ? 2 * page_size * sizeof(float) : 0;
  }
  std::size_t head_bytes() const { return key_bytes() + value_bytes() + scale_bytes(); }
  std::size_t page_bytes() const { return head_bytes() * kv_head_count * layer_count; }
  // Bytes of one slot, over all layers.
  std::size_t token_bytes() const { return page_bytes() / page_size; }
  // Bytes of a page in another tier: its keys and values, then its positions [page_size].
  std::size_t transfer_bytes() const {
    return page_bytes() + std::size_t{page_size} * sizeof(std::uint32_t);
  }

  // From a page's begin to a head, and from a head's begin to a number of a slot.
  std::size_t head_offset(std::uint32_t layer, std::uint32_t head) const {
    return (std::size_t{layer} * kv_head_count + head) * head_bytes();
  }
  std::size_t key_offset(std::uint32_t dimension, std::uint32_t slot) const {
    const std::size_t together = dimensions_together();
    return ((dimension / together * page_size + slot) * together + dimension % together) *
           number_bytes();
  }
  std::size_t value_offset(std::uint32_t slot, std::uint32_t dimension) const {
    return key_bytes() + (std::size_t{slot} * head_dim + dimension) * number_bytes();
  }

  std::size_t key_scale_offset(std::uint32_t slot) const {
    return key_bytes() + value_bytes() + slot * sizeof(float);
  }
  std::size_t value_scale_offset(std::uint32_t slot) const {
    return key_scale_offset(page_size + slot);
  }

  // Bytes of one number of a key or a value.
  std::size_t number_bytes() const {
    return format == KvFormat::F32 ? 4 : format == KvFormat::Q8 ? 1 : 2;
  }
  // So many dimensions of a slot's key lie side by side.
  std::uint32_t dimensions_together() const { return format == KvFormat::Q8 ? 4 : 1; }
};

// The layout of a model's pages.
inline KvLayout kv_layout_of(const ModelInfo& model, std::uint32_t page_size, KvFormat format) {
  return {.layer_count = model.layer_count,
          .kv_head_count = model.kv_head_count,
          .head_dim = model.head_dim,
          .page_size = page_size,
          .format = format};
}

}  // namespace quire::inference
