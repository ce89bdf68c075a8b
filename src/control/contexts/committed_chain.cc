#include "control/contexts/committed_chain.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/contexts/page_ledger.h"

namespace quire::control {
namespace {

bool is_gone(const SlotSet& dropped, std::uint32_t page_size, std::uint32_t index) {
  return dropped.covers({index * page_size, (index + 1) * page_size});
}

// The first page that is wholly dropped; `end` if there is none before it.
std::uint32_t first_gone(const SlotSet& dropped, std::uint32_t page_size, std::uint32_t end) {
  for (const SlotRange& range : dropped.ranges()) {
    const std::uint32_t first = (range.begin + page_size - 1) / page_size;
    if (first >= end) break;
    if (first < range.end / page_size) return first;
  }
  return end;
}

void drop_alone(PageCache& cache, PageLedger& ledger, const WindowPage& page,
                const ColdHint& hint) {
  ledger.release(cache.page_of(page.node));
  cache.drop_page(page.node, hint);
}

}  // namespace

std::span<const WindowPage> CommittedChain::window_from(std::uint32_t index) const {
  return {std::ranges::lower_bound(window_, index, {}, &WindowPage::index), window_.end()};
}

bool CommittedChain::holds(std::uint32_t index) const {
  if (index < anchor_count_) return true;
  const std::span<const WindowPage> from = window_from(index);
  return !from.empty() && from.front().index == index;
}

std::vector<WindowPage> CommittedChain::held_pages(const PageCache& cache,
                                                   std::uint32_t first) const {
  const std::uint32_t from = std::min(first, anchor_count_);
  std::vector<WindowPage> pages(anchor_count_ - from);
  NodeId node = anchor_;
  for (std::uint32_t index = anchor_count_; index > from; --index) {
    pages[index - 1 - from] = {.index = index - 1, .node = node};
    node = cache.parent(node);
  }
  const auto skipped = std::min<std::size_t>(first - from, window_.size());
  pages.insert(pages.end(), window_.begin() + static_cast<std::ptrdiff_t>(skipped), window_.end());
  return pages;
}

std::vector<NodeId> CommittedChain::nodes(const PageCache& cache) const {
  std::vector<NodeId> all(page_count_);
  NodeId node = head_;
  for (std::uint32_t index = page_count_; index > 0; --index) {
    all[index - 1] = node;
    node = cache.parent(node);
  }
  return all;
}

void CommittedChain::open(PageCache& cache, NodeId root) {
  head_ = anchor_ = root;
  cache.hold_name(root);
}

void CommittedChain::push(PageCache& cache, PageLedger& ledger, NodeId node) {
  const NodeId before = head_;
  cache.hold_name(node);
  has_opaque_page_ |= cache.trie().is_opaque(node);
  if (is_windowed()) {
    ledger.acquire(cache.page_of(node));
    window_.push_back({.index = page_count_, .node = node});
  } else {
    ledger.acquire_chain(cache, node);
    ledger.release_chain(cache, before);
    cache.drop(before);
    anchor_ = node;
    ++anchor_count_;
  }
  head_ = node;
  cache.drop_name(before);
  ++page_count_;
}

void CommittedChain::push_dropped(PageCache& cache, NodeId node) {
  cache.hold_name(node);
  cache.drop_name(std::exchange(head_, node));
  ++page_count_;
}

void CommittedChain::push_found(PageCache& cache, PageLedger& ledger,
                                std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) cache.note_found(node);
  if (is_windowed()) {
    for (const NodeId node : nodes) {
      cache.hold_page(node);
      push(cache, ledger, node);
    }
    return;
  }
  const NodeId before = head_;
  const NodeId last = nodes.back();
  cache.hold(last);
  cache.hold_name(last);
  ledger.acquire_chain(cache, last);
  ledger.release_chain(cache, before);
  cache.drop(before);
  cache.drop_name(before);
  head_ = anchor_ = last;
  page_count_ += static_cast<std::uint32_t>(nodes.size());
  anchor_count_ = page_count_;
}

void CommittedChain::cut(PageCache& cache, PageLedger& ledger, NodeId head, std::uint32_t count,
                         const ColdHint& hint) {
  while (!window_.empty() && window_.back().index >= count) {
    drop_alone(cache, ledger, window_.back(), hint);
    window_.pop_back();
  }
  cache.hold_name(head);
  if (anchor_count_ > count) move_anchor(cache, ledger, head, count, hint);
  cache.drop_name(head_);
  head_ = head;
  page_count_ = count;
}

void CommittedChain::part(PageCache& cache, PageLedger& ledger, const SlotSet& dropped,
                          const ColdHint& hint) {
  const std::uint32_t page_size = cache.page_size();
  const std::uint32_t end = anchor_count_;
  const std::uint32_t first = first_gone(dropped, page_size, end);
  if (first == end) return;
  std::vector<WindowPage> kept;
  NodeId node = anchor_;
  for (std::uint32_t index = end; index > first; --index) {
    if (!is_gone(dropped, page_size, index - 1)) kept.push_back({index - 1, node});
    node = cache.parent(node);
  }
  const std::vector<WindowPage> behind = std::exchange(window_, {});
  std::reverse(kept.begin(), kept.end());
  for (const WindowPage& page : kept) hold_alone(cache, ledger, page);
  window_.insert(window_.end(), behind.begin(), behind.end());
  move_anchor(cache, ledger, node, first, hint);
}

void CommittedChain::drop_gone(PageCache& cache, PageLedger& ledger, const SlotSet& dropped,
                               SlotRange range, const ColdHint& hint) {
  const std::uint32_t page_size = cache.page_size();
  const auto from_page = [&](std::uint32_t first) {
    return window_.end() - static_cast<std::ptrdiff_t>(window_from(first).size());
  };
  const auto end = from_page((range.end + page_size - 1) / page_size);
  auto kept = from_page(range.begin / page_size);
  for (auto each = kept; each != end; ++each) {
    if (is_gone(dropped, page_size, each->index)) {
      drop_alone(cache, ledger, *each, hint);
    } else {
      *kept++ = *each;
    }
  }
  window_.erase(kept, end);
}

void CommittedChain::fork_name(PageCache& cache, const CommittedChain& parent) {
  head_ = parent.head_;
  page_count_ = parent.page_count_;
  anchor_ = parent.anchor_;
  anchor_count_ = parent.anchor_count_;
  has_opaque_page_ = parent.has_opaque_page_;
  cache.hold_name(head_);
}

void CommittedChain::fork_holds(PageCache& cache, PageLedger& ledger,
                                const CommittedChain& parent) {
  cache.hold(anchor_);
  ledger.acquire_chain(cache, anchor_);
  window_.reserve(parent.window_.size());
  for (const WindowPage& page : parent.window_) hold_alone(cache, ledger, page);
}

void CommittedChain::let_go(PageCache& cache, PageLedger& ledger, const ColdHint& hint) {
  for (const WindowPage& page : window_) drop_alone(cache, ledger, page, hint);
  window_.clear();
  ledger.release_chain(cache, anchor_);
  cache.drop(anchor_, hint);
  anchor_ = kNoNode;
  anchor_count_ = 0;
}

void CommittedChain::hold_again(PageCache& cache, PageLedger& ledger,
                                std::span<const WindowPage> pages, std::uint32_t anchor_count) {
  anchor_count_ = anchor_count;
  anchor_ = anchor_count == 0 ? cache.root_of(head_) : pages[anchor_count - 1].node;
  cache.hold(anchor_);
  ledger.acquire_chain(cache, anchor_);
  for (const WindowPage& page : pages.subspan(anchor_count)) hold_alone(cache, ledger, page);
}

NodeId CommittedChain::end_at(PageCache& cache, PageLedger& ledger, NodeId anchor,
                              std::uint32_t count) {
  anchor_ = anchor;
  anchor_count_ = page_count_ = count;
  cache.hold(anchor_);
  ledger.acquire_chain(cache, anchor_);
  cache.hold_name(anchor_);
  return std::exchange(head_, anchor_);
}

void CommittedChain::close(PageCache& cache) {
  QUIRE_CHECK(window_.empty(), "X1");
  cache.drop_name(head_);
  *this = CommittedChain();
}

void CommittedChain::verify_path(const PageCache& cache) const {
  NodeId node = head_;
  for (std::uint32_t index = page_count_; index > 0; --index) {
    QUIRE_CHECK(!cache.is_root(node), "X1");
    node = cache.parent(node);
  }
  QUIRE_CHECK(cache.is_root(node), "X1");
}

void CommittedChain::verify_holds(const PageCache& cache, const SlotSet& dropped) const {
  const std::vector<NodeId> path = nodes(cache);
  QUIRE_CHECK(anchor_count_ <= page_count_, "X1");
  const NodeId root = path.empty() ? head_ : cache.parent(path.front());
  QUIRE_CHECK(anchor_ == (anchor_count_ == 0 ? root : path[anchor_count_ - 1]), "X1");
  QUIRE_CHECK(cache.is_root(anchor_) || cache.trie().chain_hold_count(anchor_) > 0, "X1");
  QUIRE_CHECK(cache.trie().name_hold_count(head_) > 0, "X1");
  std::size_t next = 0;
  for (std::uint32_t index = anchor_count_; index < page_count_; ++index) {
    if (next < window_.size() && window_[next].index == index) {
      QUIRE_CHECK(window_[next].node == path[index], "X1");
      QUIRE_CHECK(cache.is_resident(path[index]), "X1");
      QUIRE_CHECK(cache.pool().state(cache.page_of(path[index])) == PageState::Committed, "X1");
      ++next;
    } else {
      QUIRE_CHECK(is_gone(dropped, cache.page_size(), index), "X1");
    }
  }
  QUIRE_CHECK(next == window_.size(), "X1");
}

void CommittedChain::hold_alone(PageCache& cache, PageLedger& ledger, const WindowPage& page) {
  cache.hold_page(page.node);
  ledger.acquire(cache.page_of(page.node));
  window_.push_back(page);
}

// The chain is held at `node` from now on, which has `count` pages.
void CommittedChain::move_anchor(PageCache& cache, PageLedger& ledger, NodeId node,
                                 std::uint32_t count, const ColdHint& hint) {
  cache.hold(node);
  ledger.acquire_chain(cache, node);
  ledger.release_chain(cache, anchor_);
  cache.drop(anchor_, hint);
  anchor_ = node;
  anchor_count_ = count;
}

}  // namespace quire::control
