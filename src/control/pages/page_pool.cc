#include "control/pages/page_pool.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::control {

PagePool::PagePool(std::uint32_t page_count) : entries_(page_count) {
  free_list_.reserve(page_count);
  for (std::uint32_t index = page_count; index > 0; --index)
    free_list_.push_back(PageId{index - 1});
}

std::optional<PageId> PagePool::allocate() {
  if (free_list_.empty()) return std::nullopt;
  const PageId page = free_list_.back();
  free_list_.pop_back();
  Entry& claimed = at(page);
  QUIRE_CHECK(claimed.state == PageState::Free, "P2");
  QUIRE_CHECK(claimed.hold_count == 0, "P1");
  claimed.state = PageState::Working;
  claimed.hold_count = 1;
  ++claimed.generation;
  held_count_max_ = std::max(held_count_max_, held_count());
  return page;
}

void PagePool::retain(PageId page) {
  Entry& held = at(page);
  QUIRE_CHECK(held.hold_count > 0, "P1");
  ++held.hold_count;
  QUIRE_CHECK(held.hold_count != 0, "I3: the count of holders overflowed");
}

std::uint32_t PagePool::release(PageId page) {
  Entry& held = at(page);
  QUIRE_CHECK(held.hold_count > 0, "I3: released more often than held");
  if (--held.hold_count > 0) return held.hold_count;
  held.fence = newest_;
  if (held.state == PageState::Committed) {
    held.state = PageState::Cold;
    ++cold_count_;
    if (held.fence > completed_) {
      ++cold_fenced_count_;
      cold_fences_.push_back({page, held.fence});
    }
  } else {
    give_back(page, held);
  }
  return 0;
}

void PagePool::give_back(PageId page, Entry& entry) {
  if (entry.fence > completed_ && !is_planted(Fault::FreedWithoutFence)) {
    entry.state = PageState::Fenced;
    fenced_list_.push_back(page);
  } else {
    entry.state = PageState::Free;
    free_list_.push_back(page);
  }
}

void PagePool::seal(PageId page) {
  Entry& sealed = at(page);
  QUIRE_CHECK(sealed.state == PageState::Working || sealed.state == PageState::Sealed,
              "only a page with one owner can be sealed");
  sealed.state = PageState::Sealed;
}

void PagePool::reopen(PageId page) {
  Entry& opened = at(page);
  QUIRE_CHECK(opened.state == PageState::Sealed && opened.hold_count == 1,
              "I8: a page with another holder was opened for writing");
  opened.state = PageState::Working;
}

void PagePool::commit(PageId page) {
  Entry& frozen = at(page);
  QUIRE_CHECK(frozen.state == PageState::Working && frozen.hold_count == 1,
              "I8: only a working page can be committed");
  frozen.state = PageState::Committed;
}

void PagePool::revive(PageId page) {
  Entry& cold = at(page);
  QUIRE_CHECK(cold.state == PageState::Cold && cold.hold_count == 0, "P1");
  leave_cold(cold);
  cold.state = PageState::Committed;
  cold.hold_count = 1;
  held_count_max_ = std::max(held_count_max_, held_count());
}

void PagePool::lay_back(PageId page) {
  Entry& held = at(page);
  QUIRE_CHECK(held.state == PageState::Committed && held.hold_count == 1, "P1");
  held.hold_count = 0;
  held.state = PageState::Cold;
  ++cold_count_;
  if (held.fence > completed_) ++cold_fenced_count_;  // It is listed since it was released.
}

void PagePool::leave_cold(Entry& entry) {
  --cold_count_;
  if (entry.fence > completed_) --cold_fenced_count_;
}

void PagePool::evict(PageId page) {
  QUIRE_CHECK(!is_fenced(page), "I5: evicted under a batch");
  discard(page);
}

void PagePool::discard(PageId page) {
  Entry& cold = at(page);
  QUIRE_CHECK(cold.state == PageState::Cold && cold.hold_count == 0, "only cold pages are evicted");
  leave_cold(cold);
  cold.fence = cold.fence > completed_ ? newest_ : cold.fence;  // Keeps P3's order.
  give_back(page, cold);
}

void PagePool::vacate(PageId page) {
  Entry& cold = at(page);
  QUIRE_CHECK(cold.state == PageState::Cold && cold.hold_count == 0, "only cold pages are vacated");
  QUIRE_CHECK(newest_ > completed_, "vacated for no batch");
  leave_cold(cold);
  cold.fence = newest_;
  give_back(page, cold);
}

void PagePool::open_batch(BatchId batch) {
  QUIRE_CHECK(static_cast<std::uint64_t>(batch) > newest_, "batches are numbered upwards");
  newest_ = static_cast<std::uint64_t>(batch);
}

void PagePool::complete_batch(BatchId batch) {
  const auto id = static_cast<std::uint64_t>(batch);
  QUIRE_CHECK(id > completed_ && id <= newest_, "batches complete once and in order");
  for (; !cold_fences_.empty() && cold_fences_.front().fence <= id; cold_fences_.pop_front()) {
    Entry& entry = at(cold_fences_.front().page);
    if (entry.state == PageState::Cold && entry.fence == cold_fences_.front().fence) {
      --cold_fenced_count_;
      entry.fence = 0;  // It may be listed twice.
    }
  }
  completed_ = id;
  while (!fenced_list_.empty()) {
    const PageId page = fenced_list_.front();
    Entry& entry = at(page);
    if (entry.fence > completed_) break;
    fenced_list_.pop_front();
    entry.state = PageState::Free;
    free_list_.push_back(page);
  }
}

void PagePool::verify() const {
  std::vector<std::uint8_t> listed(entries_.size(), 0);
  for (const PageId page : free_list_) {
    QUIRE_CHECK(at(page).state == PageState::Free, "P2");
    QUIRE_CHECK(at(page).fence <= completed_, "P5");
    QUIRE_CHECK(listed[static_cast<std::uint32_t>(page)]++ == 0, "P2");
  }
  std::uint64_t fence = 0;
  for (const PageId page : fenced_list_) {
    QUIRE_CHECK(at(page).state == PageState::Fenced, "P3");
    QUIRE_CHECK(listed[static_cast<std::uint32_t>(page)]++ == 0, "P3");
    QUIRE_CHECK(at(page).fence > completed_ && at(page).fence >= fence, "P3");
    fence = at(page).fence;
  }
  std::uint32_t cold = 0;
  std::uint32_t cold_fenced = 0;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    const Entry& each = entries_[index];
    const bool is_live = each.state == PageState::Working || each.state == PageState::Sealed ||
                         each.state == PageState::Committed;
    QUIRE_CHECK(is_live == (each.hold_count > 0), "P1");
    const bool is_listed = each.state == PageState::Free || each.state == PageState::Fenced;
    QUIRE_CHECK(is_listed == (listed[index] == 1), "P2, P3");
    cold += each.state == PageState::Cold;
    cold_fenced += each.state == PageState::Cold && each.fence > completed_;
  }
  QUIRE_CHECK(cold == cold_count_ && cold_fenced == cold_fenced_count_, "P4");
}

}  // namespace quire::control
