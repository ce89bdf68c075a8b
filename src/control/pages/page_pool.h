#pragma once
// PagePool hands out KV pages by number and counts who still needs each one.
//
// Owns     the state and the count of holders of every page. The bytes of a page belong to the
//          inference layer; nothing here touches them.
// Thread   engine thread only. Nothing here locks.
// Errors   none: allocate() gives nothing when no page is free. Any misuse is a bug and stops the
//          process.
//
// Holders of a page are its direct ones: working tails, low-level handles, heads of contexts, and
// for a committed page its live children in the trie.
//
// Fence: a page given back while a batch is being built or under way may still be read or written
// by it. It is Fenced until the newest batch of that moment has completed (I5).
//
// Invariants, all checked by verify():
//   P1  The count of holders is positive exactly in the states Working, Sealed and Committed.
//   P2  The free list holds every Free page once and no other page (I1).
//   P3  The fenced list holds every Fenced page once, in order of their fences, all of them newer
//       than the last completed batch.
//   P4  Counters of states, and of cold pages with a fence, equal a recount (I1).
//   P5  No Free page has a fence that is newer than the last completed batch (I5).
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/check.h"
#include "inference/api/types.h"

namespace quire::control {

using inference::BatchId;
using inference::PageId;

enum class PageState : std::uint8_t { Free, Working, Sealed, Committed, Cold, Fenced };

class PagePool {
 public:
  explicit PagePool(std::uint32_t page_count);
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // A Free page, now Working and held once.
  std::optional<PageId> allocate();

  void retain(PageId page);
  // Gives one hold back. When it was the last, a Working or Sealed page becomes Free or Fenced and
  // a Committed one Cold. Returns how many holds remain.
  std::uint32_t release(PageId page);

  void seal(PageId page);    // Working, or already Sealed.
  void reopen(PageId page);  // Sealed with one holder -> Working.
  void commit(PageId page);  // Working with one holder -> Committed.
  void revive(PageId page);  // Cold -> Committed, held once.
  // Committed, held once, not used since revive() -> Cold; no further batch touches it.
  void lay_back(PageId page);
  void evict(PageId page);    // Cold, and no batch touches it -> Free.
  void discard(PageId page);  // Cold -> Free or Fenced: no look-up can find it any more.
  // Cold -> Fenced: the batch being built still reads it. Requires: a batch is open.
  void vacate(PageId page);

  // From open_batch() on, what is released waits for that batch or a newer one.
  void open_batch(BatchId batch);
  void complete_batch(BatchId batch);
  // Whether a batch that is not complete may touch a page that is Cold.
  bool is_fenced(PageId page) const { return at(page).fence > completed_; }

  PageState state(PageId page) const { return at(page).state; }
  void fetch(PageId page) const { __builtin_prefetch(&at(page)); }
  std::uint32_t hold_count(PageId page) const { return at(page).hold_count; }
  std::uint32_t generation(PageId page) const { return at(page).generation; }
  std::uint32_t page_count() const { return static_cast<std::uint32_t>(entries_.size()); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_list_.size()); }
  std::uint32_t cold_count() const { return cold_count_; }
  // Pages that have a holder, and the most that had one at once since the pool was made.
  std::uint32_t held_count() const {
    return page_count() - free_count() - cold_count_ - fenced_count();
  }
  std::uint32_t held_count_max() const { return held_count_max_; }
  // Cold pages that no batch touches.
  std::uint32_t evictable_count() const { return cold_count_ - cold_fenced_count_; }
  std::uint32_t fenced_count() const { return static_cast<std::uint32_t>(fenced_list_.size()); }

  // Walks everything and stops the process on the first broken invariant. O(pages); for tests.
  void verify() const;

 private:
  struct Entry {
    PageState state = PageState::Free;
    std::uint32_t hold_count = 0;
    std::uint32_t generation = 0;  // Raised by each allocation (I4).
    std::uint64_t fence = 0;       // Newest batch when it was last released.
  };

  Entry& at(PageId page) {
    const auto index = static_cast<std::uint32_t>(page);
    QUIRE_CHECK(index < entries_.size(), "no such page");
    return entries_[index];
  }
  const Entry& at(PageId page) const { return const_cast<PagePool*>(this)->at(page); }
  void give_back(PageId page, Entry& entry);
  void leave_cold(Entry& entry);

  std::vector<Entry> entries_;      // Indexed by PageId; never resized after construction.
  std::vector<PageId> free_list_;   // A stack: the page freed last is the warmest.
  std::deque<PageId> fenced_list_;  // Oldest fence first.
  struct ColdFence {
    PageId page;
    std::uint64_t fence;
  };
  std::deque<ColdFence> cold_fences_;  // Oldest first; one that no longer holds is skipped.
  std::uint32_t cold_count_ = 0;
  std::uint32_t cold_fenced_count_ = 0;
  std::uint32_t held_count_max_ = 0;
  std::uint64_t newest_ = 0;     // Newest batch opened.
  std::uint64_t completed_ = 0;  // Newest batch completed; they complete in order.
};

}  // namespace quire::control
