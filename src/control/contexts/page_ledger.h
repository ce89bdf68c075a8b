#pragma once
// PageLedger counts the different pages that one instance holds, for its quota and its statistics,
// and knows the contexts that gave pages up: away_pages.h counts those. And it counts the embed
// slots that the instance's outputs take.
//
// Pages shared inside the instance (forks, equal prefixes) count once. Each page has holds of two
// kinds, as in PageCache. One is as a part of a chain: heads of contexts, and children that are
// held as a chain. The other is alone: tails, handles, pages after a dropped range. So a fork and a
// step cost O(1), and a chain is let go in its own length.
//
// Thread   engine thread only.
//
// Invariant, checked by the Controller's verify(): the count equals the union of all chains, tails
// and handles of the instance.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/flat_map.h"
#include "control/api/types.h"
#include "control/pages/page_cache.h"

namespace quire::control {

class Context;

// How many pages the instances of one tenant hold, of all models; one that several hold counts for
// each of them.
struct TenantPages {
  TenantOptions options;
  std::uint64_t page_count = 0;
  std::uint32_t instance_count = 0;
};

class PageLedger {
 public:
  // Counted there too from here on; it outlives the ledger. Requires: nothing is held.
  void count_in(TenantPages& tenant) { tenant_ = &tenant; }
  // No more; what is still held is let go with the instance.
  void leave_tenant() {
    if (tenant_ != nullptr) tenant_->page_count -= noted_count_;
    tenant_ = nullptr;
  }
  std::uint32_t page_count() const { return static_cast<std::uint32_t>(holds_.count()); }
  std::uint32_t page_count_max() const { return page_count_max_; }
  bool holds(PageId page) const { return holds_.find(key(page)) != nullptr; }

  void fetch(PageId page) const { holds_.fetch(key(page)); }  // For a call about it soon.

  // A tail, a handle, or a page held alone.
  void acquire(PageId page) {
    ++holds_[key(page)].alone;
    note_count();
  }
  void release(PageId page) {
    Holds* holds = holds_.find(key(page));
    QUIRE_CHECK(holds != nullptr && holds->alone > 0, "the ledger lost a page");
    if (--holds->alone == 0 && holds->chain == 0) holds_.erase(key(page));
    note_count();
  }

  // Whether the next release() of it is the last.
  bool is_held_once(PageId page) const {
    const Holds* holds = holds_.find(key(page));
    return holds != nullptr && holds->chain == 0 && holds->alone == 1;
  }

  // One more context ends at `head`, and holds all above it.
  void acquire_chain(const PageCache& cache, NodeId head) {
    for (; !cache.is_root(head); head = cache.parent(head)) {
      if (holds_[key(cache.page_of(head))].chain++ > 0) break;
    }
    note_count();
  }
  // Requires: the pages are still resident.
  void release_chain(const PageCache& cache, NodeId head) {
    for (; !cache.is_root(head); head = cache.parent(head)) {
      Holds* holds = holds_.find(key(cache.page_of(head)));
      QUIRE_CHECK(holds != nullptr && holds->chain > 0, "the ledger lost a chain");
      if (--holds->chain > 0) break;
      if (holds->alone == 0) holds_.erase(key(cache.page_of(head)));
    }
    note_count();
  }

  // Embed slots.
  std::uint32_t output_count() const { return output_count_; }
  void acquire_output() { ++output_count_; }
  void release_output() {
    QUIRE_CHECK(output_count_ > 0, "the ledger lost an output");
    --output_count_;
  }

  // For away_pages.h: contexts that lack pages they had, in no order. Each knows its place.
  std::span<Context* const> away() const { return away_; }
  void add_away(Context& context);
  void remove_away(Context& context);

 private:
  struct Holds {
    std::uint32_t chain = 0;
    std::uint32_t alone = 0;
  };
  static std::uint32_t key(PageId page) { return static_cast<std::uint32_t>(page) + 1; }
  void note_count() {
    const std::uint32_t count = page_count();
    page_count_max_ = std::max(page_count_max_, count);
    if (tenant_ == nullptr) return;
    tenant_->page_count += count;
    tenant_->page_count -= noted_count_;
    noted_count_ = count;
  }

  FlatMap<Holds> holds_;  // Page + 1 -> holds.
  std::uint32_t page_count_max_ = 0;
  std::uint32_t output_count_ = 0;
  TenantPages* tenant_ = nullptr;
  std::uint32_t noted_count_ = 0;  // As the tenant knows it.
  std::vector<Context*> away_;
};

}  // namespace quire::control
