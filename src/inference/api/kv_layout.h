#pragma once
// KvLayout: where keys and values lie in a page, and how many bytes they take.
//
// A page is the heads of its layers, one after the other; a layer may have other heads than the one
// before, or none. A head is keys [head_dim][page_size], then values [page_size][head_dim], in one
// number format, then their scales. So sixteen slots of one dimension are one load, and a page can
// be moved to another tier as one piece.
//
// Q8 has keys [head_dim / 4][page_size][4], so that an instruction multiplies four dimensions of a
// slot and adds them up. The scales are F32: those of the keys [page_size], then those of the
// values [page_size].
// scalar/kv_quantised.h says what the codes are.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/api/types.h"

namespace quire::inference {

// One kv head in one page.
struct KvHeadLayout {
  std::uint32_t head_dim = 0;
  std::uint32_t page_size = 16;
  KvFormat format = KvFormat::F16;

  std::size_t key_bytes() const { return std::size_t{head_dim} * page_size * number_bytes(); }
  std::size_t value_bytes() const { return std::size_t{page_size} * head_dim * number_bytes(); }
  // Only Q8 has scales.
  std::size_t scale_bytes() const {
    return format == KvFormat::Q8 ? 2 * page_size * sizeof(float) : 0;
  }
  std::size_t bytes() const { return key_bytes() + value_bytes() + scale_bytes(); }

  // From the head's begin to a number of a slot.
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

class KvLayout {
 public:
  KvLayout() = default;
  KvLayout(std::span<const KvHeads> layers, std::uint32_t page_size, KvFormat format)
      : page_size_(page_size), format_(format) {
    for (const KvHeads& heads : layers) {
      layers_.push_back({heads, page_bytes_});
      page_bytes_ += head_of(heads).bytes() * heads.count;
    }
  }

  std::uint32_t page_size() const { return page_size_; }  // Slots.
  KvFormat format() const { return format_; }
  std::uint32_t layer_count() const { return static_cast<std::uint32_t>(layers_.size()); }
  std::uint32_t head_count(std::uint32_t layer) const { return layers_[layer].heads.count; }
  KvHeadLayout head(std::uint32_t layer) const { return head_of(layers_[layer].heads); }

  // Bytes of all layers.
  std::size_t page_bytes() const { return page_bytes_; }
  std::size_t token_bytes() const { return page_bytes_ / page_size_; }
  // Bytes of a page in another tier: its keys and values, then its positions [page_size].
  std::size_t transfer_bytes() const {
    return page_bytes_ + std::size_t{page_size_} * sizeof(std::uint32_t);
  }
  // From a page's begin to a head.
  std::size_t head_offset(std::uint32_t layer, std::uint32_t head) const {
    const Layer& of = layers_[layer];
    return of.offset + head * head_of(of.heads).bytes();
  }

 private:
  struct Layer {
    KvHeads heads;
    std::size_t offset = 0;  // In the page.
  };
  KvHeadLayout head_of(const KvHeads& heads) const {
    return {.head_dim = heads.head_dim, .page_size = page_size_, .format = format_};
  }

  std::uint32_t page_size_ = 16;
  KvFormat format_ = KvFormat::F16;
  std::size_t page_bytes_ = 0;
  std::vector<Layer> layers_;
};

}  // namespace quire::inference
