#include "inference/memory/kv_pool.h"

#include <cstring>
#include <string>

#include "base/check.h"

namespace quire::inference {

Result<KvPool> KvPool::create(const KvLayout& layout, std::uint32_t page_count) {
  QUIRE_CHECK(layout.page_size == 8 || layout.page_size == 16 || layout.page_size == 32,
              "page size");
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(layout.page_bytes(), std::size_t{page_count}, &bytes)) {
    return Error(ErrorCode::Unavailable, "cannot reserve " + std::to_string(page_count) +
                                             " pages of " + std::to_string(layout.page_bytes()) +
                                             " bytes");
  }
  MappedMemory memory = TRY(MappedMemory::create(bytes));
  MappedMemory positions =
      TRY(MappedMemory::create(std::size_t{page_count} * layout.page_size * sizeof(std::uint32_t)));
  return KvPool(layout, page_count, std::move(memory), std::move(positions));
}

void KvPool::copy(const PageCopy& copy) {
  QUIRE_CHECK(static_cast<std::uint32_t>(copy.from) < page_count_, "copy from a page of the pool");
  QUIRE_CHECK(static_cast<std::uint32_t>(copy.to) < page_count_, "copy to a page of the pool");
  std::memmove(positions(copy.to) + copy.to_slot, positions(copy.from) + copy.from_slot,
               copy.slot_count * sizeof(std::uint32_t));
  const std::byte* from = page(copy.from);
  std::byte* to = page(copy.to);
  if (copy.slot_count == layout_.page_size) {
    std::memmove(to, from, layout_.page_bytes());
    return;
  }
  const std::size_t element = kv_format_bytes(layout_.format);
  const std::size_t column = layout_.page_size * element;  // One dimension of all keys.
  const std::size_t row = layout_.head_dim * element;      // All dimensions of one value.
  const std::size_t head_count = std::size_t{layout_.layer_count} * layout_.kv_head_count;
  for (std::size_t head = 0; head < head_count; ++head) {
    const std::byte* keys = from + head * layout_.head_bytes();
    std::byte* keys_to = to + head * layout_.head_bytes();
    for (std::uint32_t d = 0; d < layout_.head_dim; ++d) {
      std::memmove(keys_to + d * column + copy.to_slot * element,
                   keys + d * column + copy.from_slot * element, copy.slot_count * element);
    }
    const std::size_t values_at = layout_.head_dim * column;
    std::memmove(keys_to + values_at + copy.to_slot * row, keys + values_at + copy.from_slot * row,
                 copy.slot_count * row);
  }
}

}  // namespace quire::inference
