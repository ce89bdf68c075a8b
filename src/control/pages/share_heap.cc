#include "control/pages/share_heap.h"

#include "base/check.h"

namespace quire::control {

bool ShareHeap::is_above(const Item& one, const Item& other) {
  const std::uint64_t left = std::uint64_t{one.page_count} * other.weight;
  const std::uint64_t right = std::uint64_t{other.page_count} * one.weight;
  return left != right ? left > right : one.tenant < other.tenant;
}

void ShareHeap::place(std::uint32_t position, const Item& item) {
  heap_[position] = item;
  position_[item.tenant] = position;
}

void ShareHeap::settle(std::uint32_t position) {
  const Item item = heap_[position];
  while (position > 0 && is_above(item, heap_[(position - 1) / 2])) {
    place(position, heap_[(position - 1) / 2]);
    position = (position - 1) / 2;
  }
  for (;;) {
    std::uint32_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && is_above(heap_[child + 1], heap_[child])) ++child;
    if (!is_above(heap_[child], item)) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, item);
}

void ShareHeap::put(std::uint32_t tenant, std::uint32_t page_count, std::uint32_t weight) {
  if (tenant >= position_.size()) position_.resize(tenant + 1, kNone);
  if (position_[tenant] == kNone) {
    position_[tenant] = static_cast<std::uint32_t>(heap_.size());
    heap_.emplace_back();
  }
  heap_[position_[tenant]] = {.tenant = tenant, .page_count = page_count, .weight = weight};
  settle(position_[tenant]);
}

void ShareHeap::erase(std::uint32_t tenant) {
  const std::uint32_t position = position_[tenant];
  QUIRE_CHECK(position != kNone, "not in the heap");
  const Item last = heap_.back();
  heap_.pop_back();
  position_[tenant] = kNone;
  if (last.tenant == tenant) return;
  place(position, last);
  settle(position);
}

void ShareHeap::verify() const {
  for (std::uint32_t position = 0; position < heap_.size(); ++position) {
    QUIRE_CHECK(position_[heap_[position].tenant] == position, "a tenant is where it says");
    if (position == 0) continue;
    QUIRE_CHECK(!is_above(heap_[position], heap_[(position - 1) / 2]), "the heap is ordered");
  }
}

}  // namespace quire::control
