#pragma once
// KvLayout: where keys and values lie in a page.
//
// A page is [layer][kv head] of heads; a head is keys [head_dim][page_size], then values
// [page_size][head_dim], in one number format. So sixteen slots of one dimension are one load, and
// a page can be moved to another tier as one piece.
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

  std::size_t head_bytes() const {
    return std::size_t{2} * head_dim * page_size * kv_format_bytes(format);
  }
  std::size_t page_bytes() const { return head_bytes() * kv_head_count * layer_count; }
  // Of a page in another tier: its keys and values, then its positions [page_size].
  std::size_t transfer_bytes() const {
    return page_bytes() + std::size_t{page_size} * sizeof(std::uint32_t);
  }
  std::size_t head_offset(std::uint32_t layer, std::uint32_t head) const {
    return (std::size_t{layer} * kv_head_count + head) * head_bytes();
  }
};

}  // namespace quire::inference
