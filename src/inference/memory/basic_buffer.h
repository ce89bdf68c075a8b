#pragma once
// BasicBuffer: keys and values of one sequence in one contiguous buffer that grows by reallocation,
// the teaching reference against which pages are measured. Blocks have the layout of a page and lie
// one after the other in the order of the table; page ids mean nothing here.
//
// Growth doubles the buffer and copies all of it, so that for a moment three times the old size is
// held: what paging exists to avoid.
//
// Owns     the buffer.  Thread  as KvPool.
// Errors   Unavailable when a larger buffer cannot be had; the old one stays.
#include <vector>

#include "inference/api/kv_layout.h"
#include "inference/memory/mapped_memory.h"

namespace quire::inference {

class BasicBuffer {
 public:
  explicit BasicBuffer(const KvLayout& layout) : layout_(layout) {}

  std::uint32_t block_count() const { return block_count_; }
  // Makes room for so many blocks. Blocks may move.
  Result<void> grow(std::uint32_t block_count);
  // Requires for both: index < block_count().
  std::byte* block(std::uint32_t index) { return memory_.data() + index * layout_.page_bytes(); }
  std::uint32_t* positions(std::uint32_t index) {
    return positions_.data() + std::size_t{index} * layout_.page_size();
  }

 private:
  KvLayout layout_;
  std::uint32_t block_count_ = 0;
  MappedMemory memory_;
  std::vector<std::uint32_t> positions_;
};

}  // namespace quire::inference
