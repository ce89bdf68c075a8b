#include "inference/memory/kv_pool.h"

#include <bit>
#include <cstring>
#include <string>

#include "base/check.h"

namespace quire::inference {
namespace {

// A slot of a page, or of a head in a page, that begins at `page`.
struct SlotOf {
  std::byte* page = nullptr;
  std::uint32_t slot = 0;
};

// Copies keys and values of `slot_count` slots of one head. They may overlap within one page.
void copy_head(const KvHeadLayout& layout, SlotOf from, SlotOf to, std::uint32_t slot_count) {
  const std::uint32_t together = layout.dimensions_together();
  for (std::uint32_t d = 0; d < layout.head_dim; d += together) {
    std::memmove(to.page + layout.key_offset(d, to.slot),
                 from.page + layout.key_offset(d, from.slot),
                 slot_count * together * layout.number_bytes());
  }
  std::memmove(to.page + layout.value_offset(to.slot, 0),
               from.page + layout.value_offset(from.slot, 0),
               slot_count * (layout.value_bytes() / layout.page_size));
  if (layout.scale_bytes() == 0) return;
  std::memmove(to.page + layout.key_scale_offset(to.slot),
               from.page + layout.key_scale_offset(from.slot), slot_count * sizeof(float));
  std::memmove(to.page + layout.value_scale_offset(to.slot),
               from.page + layout.value_scale_offset(from.slot), slot_count * sizeof(float));
}

void copy_slots(const KvLayout& layout, SlotOf from, SlotOf to, std::uint32_t slot_count) {
  for (std::uint32_t layer = 0; layer < layout.layer_count(); ++layer) {
    const KvHeadLayout head_layout = layout.head(layer);
    for (std::uint32_t head = 0; head < layout.head_count(layer); ++head) {
      const std::size_t offset = layout.head_offset(layer, head);
      copy_head(head_layout, {from.page + offset, from.slot}, {to.page + offset, to.slot},
                slot_count);
    }
  }
}

}  // namespace

Result<KvPool> KvPool::create(const KvLayout& layout, std::uint32_t page_count) {
  QUIRE_CHECK(layout.page_size() == 8 || layout.page_size() == 16 || layout.page_size() == 32,
              "page size");
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(layout.page_bytes(), std::size_t{page_count}, &bytes)) {
    return Error(ErrorCode::Unavailable, "cannot reserve " + std::to_string(page_count) +
                                             " pages of " + std::to_string(layout.page_bytes()) +
                                             " bytes");
  }
  MappedMemory memory = TRY(MappedMemory::create(bytes));
  MappedMemory positions = TRY(
      MappedMemory::create(std::size_t{page_count} * layout.page_size() * sizeof(std::uint32_t)));
  return KvPool(layout, page_count, std::move(memory), std::move(positions));
}

void KvPool::copy(const PageCopy& copy) {
  QUIRE_CHECK(static_cast<std::uint32_t>(copy.from) < page_count_, "copy from a page of the pool");
  QUIRE_CHECK(static_cast<std::uint32_t>(copy.to) < page_count_, "copy to a page of the pool");
  std::memmove(positions(copy.to) + copy.to_slot, positions(copy.from) + copy.from_slot,
               copy.slot_count * sizeof(std::uint32_t));
  if (copy.slot_count == layout_.page_size()) {
    std::memmove(page(copy.to), page(copy.from), layout_.page_bytes());
    return;
  }
  copy_slots(layout_, {page(copy.from), copy.from_slot}, {page(copy.to), copy.to_slot},
             copy.slot_count);
}

void KvPool::load(PageId id, std::span<const std::byte> bytes) {
  QUIRE_CHECK(static_cast<std::uint32_t>(id) < page_count_, "load into a page of the pool");
  QUIRE_CHECK(bytes.size() == layout_.transfer_bytes(), "a load of one page");
  std::memcpy(page(id), bytes.data(), layout_.page_bytes());
  std::memcpy(positions(id), bytes.data() + layout_.page_bytes(),
              layout_.page_size() * sizeof(std::uint32_t));
}

void KvPool::save(PageId id, std::uint32_t slots, std::span<std::byte> bytes) {
  QUIRE_CHECK(static_cast<std::uint32_t>(id) < page_count_, "save a page of the pool");
  QUIRE_CHECK(bytes.size() == layout_.transfer_bytes(), "a save of one page");
  std::byte* const positions_to = bytes.data() + layout_.page_bytes();
  const std::uint32_t all = kAllSlots >> (kPageSizeMax - layout_.page_size());
  if ((slots & all) == all) {
    std::memcpy(bytes.data(), page(id), layout_.page_bytes());
    std::memcpy(positions_to, positions(id), layout_.page_size() * sizeof(std::uint32_t));
    return;
  }
  std::memset(bytes.data(), 0, bytes.size());
  for (std::uint32_t rest = slots & all; rest != 0;) {
    const auto first = static_cast<std::uint32_t>(std::countr_zero(rest));
    const auto count = static_cast<std::uint32_t>(std::countr_one(rest >> first));
    copy_slots(layout_, {page(id), first}, {bytes.data(), first}, count);
    std::memcpy(positions_to + first * sizeof(std::uint32_t), positions(id) + first,
                count * sizeof(std::uint32_t));
    rest &= ~((kAllSlots >> (kPageSizeMax - count)) << first);
  }
}

}  // namespace quire::inference
