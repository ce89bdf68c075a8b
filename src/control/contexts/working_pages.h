#pragma once
// WorkingPages are the pages of a context after its committed ones: the tail, whose first page may
// be partly written.
//
// The pool's holds are taken and given back in `cache`, and counted in `ledger`.
//
// Thread   engine thread only.
#include <cstdint>
#include <span>
#include <vector>

#include "control/pages/page_cache.h"

namespace quire::control {

class PageLedger;

// Pages that so many tokens, or slots, take.
inline std::uint32_t page_count_for(std::uint64_t token_count, std::uint32_t page_size) {
  return static_cast<std::uint32_t>((token_count + page_size - 1) / page_size);
}

class WorkingPages {
 public:
  std::span<const PageId> pages() const { return pages_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(pages_.size()); }
  bool is_empty() const { return pages_.empty(); }
  // The node of a committed page that a rewind ended within; otherwise kNoNode. The first page is
  // that node's, held as a page, until a write copies it.
  NodeId boundary() const { return boundary_; }
  // Pages, from the first, that are claimed in the trie.
  std::uint32_t claim_count() const { return claim_count_; }
  // Pages, from the first, that stay though empty. After a suspension some of them may be lacking
  // until something needs them; while pages are lost, they count as pages of the tail.
  std::uint32_t reserved_count() const { return reserved_count_; }
  // The number of reserved pages that are lacking.
  std::uint32_t missing_count() const {
    return reserved_count_ > count() ? reserved_count_ - count() : 0;
  }
  // The first page has slots that were never written, or whose content has no name.
  bool has_unnamed_start() const { return has_unnamed_start_; }

  // Adds `count` pages; false if there are not as many.
  bool take(PageCache& cache, PageLedger& ledger, std::uint32_t count);
  // These come with what is written in them; the caller's holds become the context's. `boundary`:
  // of which the first is the page.
  void begin(PageLedger& ledger, std::span<const PageId> pages, NodeId boundary = kNoNode);
  // Gives pages back until `keep_count` are left; no more than these stay reserved. False: there
  // were not so many.
  bool release_to(PageCache& cache, PageLedger& ledger, std::uint32_t keep_count,
                  const ColdHint& hint);
  void release_first(PageCache& cache, PageLedger& ledger, const ColdHint& hint);
  // Page `by` takes the place of page `index`, one before it, which is given back.
  void replace(PageCache& cache, PageLedger& ledger, std::uint32_t index, std::uint32_t by,
               const ColdHint& hint);
  // The first page is committed: its hold in the pool became one on a node.
  void commit_first(PageLedger& ledger);

  // Shares the parent's first page.
  void fork_first_from(PageCache& cache, PageLedger& ledger, const WorkingPages& parent);

  void note_claim() { ++claim_count_; }
  void lapse_claims(PageCache& cache);
  void reserve(std::uint32_t count) { reserved_count_ = count; }
  // The first `count` are reserved no more, being committed.
  void unreserve(std::uint32_t count);
  void set_unnamed_start(bool is_unnamed) { has_unnamed_start_ = is_unnamed; }

 private:
  void release(PageCache& cache, PageLedger& ledger, PageId page, const ColdHint& hint);

  std::vector<PageId> pages_;
  NodeId boundary_ = kNoNode;
  std::uint32_t claim_count_ = 0;
  std::uint32_t reserved_count_ = 0;
  bool has_unnamed_start_ = false;
};

}  // namespace quire::control
