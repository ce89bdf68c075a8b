#include "control/contexts/working_pages.h"

#include <algorithm>
#include <utility>

#include "base/planted_fault.h"
#include "control/contexts/page_ledger.h"

namespace quire::control {

bool WorkingPages::take(PageCache& cache, PageLedger& ledger, std::uint32_t count) {
  const std::size_t first = pages_.size();
  if (count == 0) return true;
  if (!cache.take(count, pages_)) return false;
  for (std::size_t index = first; index < pages_.size(); ++index) ledger.acquire(pages_[index]);
  return true;
}

void WorkingPages::begin(PageLedger& ledger, std::span<const PageId> pages, NodeId boundary) {
  pages_.assign(pages.begin(), pages.end());
  for (const PageId page : pages_) ledger.acquire(page);
  boundary_ = boundary;
}

bool WorkingPages::release_to(PageCache& cache, PageLedger& ledger, std::uint32_t keep_count,
                              const ColdHint& hint) {
  reserved_count_ = std::min(reserved_count_, keep_count);
  if (pages_.size() <= keep_count) return false;
  while (pages_.size() > keep_count) {
    release(cache, ledger, pages_.back(), hint);
    pages_.pop_back();
  }
  return true;
}

void WorkingPages::release_first(PageCache& cache, PageLedger& ledger, const ColdHint& hint) {
  release(cache, ledger, pages_.front(), hint);
  pages_.erase(pages_.begin());
}

void WorkingPages::replace(PageCache& cache, PageLedger& ledger, std::uint32_t index,
                           std::uint32_t by, const ColdHint& hint) {
  const PageId before = std::exchange(pages_[index], pages_[by]);
  pages_.erase(pages_.begin() + by);
  ledger.release(before);
  if (boundary_ != kNoNode) {
    cache.drop_page(std::exchange(boundary_, kNoNode), hint);
  } else {
    cache.release(before);
  }
}

void WorkingPages::commit_first(PageLedger& ledger) {
  ledger.release(pages_.front());
  pages_.erase(pages_.begin());
  claim_count_ -= std::min<std::uint32_t>(claim_count_, 1);
}

void WorkingPages::fork_first_from(PageCache& cache, PageLedger& ledger,
                                   const WorkingPages& parent) {
  begin(ledger, parent.pages().first(1), parent.boundary_);
  if (boundary_ != kNoNode) {
    cache.hold_page(boundary_);
  } else {
    cache.seal(pages_.front());
    if (!is_planted(Fault::ForkWithoutCount)) cache.retain(pages_.front());
  }
}

void WorkingPages::lapse_claims(PageCache& cache) {
  while (claim_count_ > 0) cache.unclaim(pages_[--claim_count_]);
}

void WorkingPages::unreserve(std::uint32_t count) {
  reserved_count_ -= std::min(reserved_count_, count);
}

// The boundary's page is held by its node.
void WorkingPages::release(PageCache& cache, PageLedger& ledger, PageId page,
                           const ColdHint& hint) {
  ledger.release(page);
  if (page == pages_.front() && boundary_ != kNoNode) {
    cache.drop_page(std::exchange(boundary_, kNoNode), hint);
  } else {
    cache.release(page);
  }
}

}  // namespace quire::control
