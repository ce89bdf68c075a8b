#pragma once
// KvPool: the bytes of all pages of one pool, and the position of each slot.
//
// Owns     the memory: reserved at once, resident page by page as it is first written. A recycled
//          page keeps its old bytes; who may look at a slot is decided by visible bits alone.
// Thread   device thread, and its workers inside a batch, who write disjoint slots.
// Errors   Unavailable when the memory cannot be reserved.
#include <span>

#include "inference/api/batch.h"
#include "inference/api/kv_layout.h"
#include "inference/memory/mapped_memory.h"

namespace quire::inference {

class KvPool {
 public:
  static Result<KvPool> create(const KvLayout& layout, std::uint32_t page_count);

  const KvLayout& layout() const { return layout_; }
  std::uint32_t page_count() const { return page_count_; }
  // Requires for all: the page ids lie below page_count().
  std::byte* page(PageId id) {
    return memory_.data() + std::size_t{static_cast<std::uint32_t>(id)} * layout_.page_bytes();
  }
  std::uint32_t* positions(PageId id) {  // [page_size]
    return reinterpret_cast<std::uint32_t*>(positions_.data()) +
           std::size_t{static_cast<std::uint32_t>(id)} * layout_.page_size();
  }
  void copy(const PageCopy& copy);
  // Both require layout().transfer_bytes() bytes. Those of different pages may run at once.
  void load(PageId id, std::span<const std::byte> bytes);
  // Slots without a bit in `slots` come as zeros.
  void save(PageId id, std::uint32_t slots, std::span<std::byte> bytes);

 private:
  KvPool(const KvLayout& layout, std::uint32_t page_count, MappedMemory memory,
         MappedMemory positions)
      : layout_(layout),
        page_count_(page_count),
        memory_(std::move(memory)),
        positions_(std::move(positions)) {}

  KvLayout layout_;
  std::uint32_t page_count_ = 0;
  MappedMemory memory_;
  MappedMemory positions_;
};

}  // namespace quire::inference
