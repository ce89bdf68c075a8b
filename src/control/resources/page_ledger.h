#pragma once
// PageLedger counts the different pages that one instance holds, for its quota and its statistics.
//
// Pages shared inside the instance (forks, equal prefixes) count once. Holds are counted for each
// page as the trie counts them: heads and children of what the instance holds, tails, handles; so
// that a fork and a step cost O(1) and a chain is let go in its own length.
//
// Thread   engine thread only.
//
// Invariant, checked by the Controller's verify(): the count equals the union of all chains, tails
// and handles of the instance.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "control/pages/page_cache.h"
#include "control/resources/flat_map.h"

namespace quire::control {

class PageLedger {
 public:
  std::uint32_t page_count() const { return static_cast<std::uint32_t>(holds_.count()); }
  std::uint32_t page_count_max() const { return page_count_max_; }
  bool holds(PageId page) const { return holds_.find(key(page)) != nullptr; }

  // A tail or a handle.
  void acquire(PageId page) {
    ++holds_[key(page)];
    page_count_max_ = std::max(page_count_max_, page_count());
  }
  // True if the page is no longer held at all.
  bool release(PageId page) {
    std::uint32_t* count = holds_.find(key(page));
    QUIRE_CHECK(count != nullptr && *count > 0, "the ledger lost a page");
    if (--*count > 0) return false;
    holds_.erase(key(page));
    return true;
  }

  // One more context ends at `head`.
  void acquire_head(const PageCache& cache, NodeId head) {
    if (!cache.is_root(head)) acquire(PageCache::page_of(head));
  }
  // A head moves from `head` to its child. What was the head's hold becomes the child's, unless the
  // child was held before and so has one already.
  void advance_head(const PageCache& cache, NodeId head, NodeId child) {
    const bool is_new = !holds(PageCache::page_of(child));
    acquire(PageCache::page_of(child));
    if (!is_new && !cache.is_root(head)) release(PageCache::page_of(head));
  }
  void release_head(const PageCache& cache, NodeId head) {
    while (!cache.is_root(head) && release(PageCache::page_of(head))) head = cache.parent(head);
  }

 private:
  static std::uint32_t key(PageId page) { return static_cast<std::uint32_t>(page) + 1; }

  FlatMap<std::uint32_t> holds_;  // Page + 1 -> holds.
  std::uint32_t page_count_max_ = 0;
};

}  // namespace quire::control
