#include "inference/memory/basic_buffer.h"

#include <algorithm>
#include <cstring>

namespace quire::inference {

Result<void> BasicBuffer::grow(std::uint32_t block_count) {
  if (block_count <= block_count_) return {};
  const std::uint32_t grown = std::max(block_count, block_count_ * 2);
  MappedMemory memory = TRY(MappedMemory::create(grown * layout_.page_bytes()));
  if (block_count_ > 0) {
    std::memcpy(memory.data(), memory_.data(), block_count_ * layout_.page_bytes());
  }
  memory_ = std::move(memory);
  positions_.resize(std::size_t{grown} * layout_.page_size());
  block_count_ = grown;
  return {};
}

}  // namespace quire::inference
