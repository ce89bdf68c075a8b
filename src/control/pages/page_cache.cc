#include "control/pages/page_cache.h"

#include <algorithm>

#include "base/check.h"

namespace quire::control {

using inference::kNoPage;

PageCache::PageCache(const PageCacheOptions& options)
    : options_(options),
      pool_(options.page_count),
      trie_({.page_count = options.page_count,
             .page_size = options.space.page_size,
             .hash_key = options.hash_key,
             .hash_bits = options.hash_bits}),
      cold_links_(options.page_count),
      root_of_(options.page_count, 0) {}

NodeId PageCache::root(const Digest& sharing_domain) {
  const auto found = root_by_domain_.find(sharing_domain);
  if (found != root_by_domain_.end()) return found->second;
  options_.space.sharing_domain = sharing_domain;
  domains_.push_back(sharing_domain);
  return root_by_domain_.emplace(sharing_domain, trie_.add_root(root_name(options_.space)))
      .first->second;
}

const PageNameSpace& PageCache::space_of(NodeId node) {
  const std::uint32_t index = static_cast<std::uint32_t>(node);
  const std::uint32_t root = is_root(node) ? index - page_count() : root_of_[index];
  options_.space.sharing_domain = domains_[root];
  return options_.space;
}

std::uint32_t PageCache::available() const {
  // Cold pages go from the oldest on; those that a batch touches are the newest.
  std::uint32_t fenced = 0;
  for (PageId page = cold_newest_; page != kNoPage && pool_.is_fenced(page);
       page = cold_links_[static_cast<std::uint32_t>(page)].older) {
    ++fenced;
  }
  return pool_.free_count() + pool_.cold_count() - fenced;
}

bool PageCache::take(std::uint32_t count, std::vector<PageId>& pages) {
  if (pool_.free_count() < count && available() < count) return false;
  while (pool_.free_count() < count) QUIRE_CHECK(evict_oldest(), "available() counted too many");
  for (std::uint32_t index = 0; index < count; ++index) pages.push_back(*pool_.allocate());
  return true;
}

bool PageCache::evict_oldest() {
  const PageId page = cold_oldest_;
  if (page == kNoPage || pool_.is_fenced(page)) return false;
  unlink_cold(page);
  trie_.erase(page);
  pool_.evict(page);
  return true;
}

void PageCache::evict_all() {
  while (evict_oldest()) {
  }
}

void PageCache::push_cold(PageId page) {
  ColdLink& link = cold_links_[static_cast<std::uint32_t>(page)];
  link = {.newer = kNoPage, .older = cold_newest_};
  if (cold_newest_ != kNoPage) cold_links_[static_cast<std::uint32_t>(cold_newest_)].newer = page;
  cold_newest_ = page;
  if (cold_oldest_ == kNoPage) cold_oldest_ = page;
}

void PageCache::unlink_cold(PageId page) {
  const ColdLink link = cold_links_[static_cast<std::uint32_t>(page)];
  (link.newer == kNoPage ? cold_newest_
                         : cold_links_[static_cast<std::uint32_t>(link.newer)].older) = link.older;
  (link.older == kNoPage ? cold_oldest_
                         : cold_links_[static_cast<std::uint32_t>(link.older)].newer) = link.newer;
  cold_links_[static_cast<std::uint32_t>(page)] = {};
}

PageMatch PageCache::find(NodeId parent, const PageContent& content) const {
  if (!options_.is_shared) return {};
  const NodeId node = trie_.find(parent, content);
  if (node == kNoNode) return {};
  return {.state = trie_.state(node), .node = node};
}

void PageCache::attach(NodeId node) {
  while (!trie_.is_root(node)) {
    const PageId page = page_of(node);
    if (pool_.state(page) != PageState::Cold) {
      pool_.retain(page);
      return;
    }
    unlink_cold(page);
    pool_.revive(page);
    node = trie_.parent(node);  // A live page holds its parent.
  }
}

void PageCache::hold(NodeId node) {
  QUIRE_CHECK(trie_.state(node) == NodeState::Published || trie_.state(node) == NodeState::Opaque,
              "I6: attached before it was written");
  attach(node);
}

void PageCache::drop(NodeId node) {
  while (!trie_.is_root(node)) {
    const PageId page = page_of(node);
    const NodeId parent = trie_.parent(node);
    if (pool_.release(page) > 0) return;
    if (trie_.state(node) == NodeState::Opaque) {
      trie_.erase(page);
      pool_.discard(page);
    } else {
      push_cold(page);
    }
    node = parent;
  }
}

bool PageCache::claim(PageId page, NodeId parent, const PageContent& content) {
  if (!options_.is_shared || trie_.find(parent, content) != kNoNode) return false;
  trie_.insert(page, parent, content, NodeState::InFlight);
  return true;
}

void PageCache::unclaim(PageId page) {
  QUIRE_CHECK(trie_.state(node_of(page)) == NodeState::InFlight, "only a claim lapses");
  trie_.erase(page);
}

NodeId PageCache::publish(PageId page, NodeId parent, const PageContent& content) {
  const NodeId node = node_of(page);
  const PageNameSpace& space = space_of(parent);
  root_of_[static_cast<std::uint32_t>(page)] =
      is_root(parent) ? static_cast<std::uint32_t>(parent) - page_count()
                      : root_of_[static_cast<std::uint32_t>(parent)];
  if (options_.is_shared) {
    trie_.publish(page, page_name(space, trie_.name(parent), content));
  }
  pool_.commit(page);
  attach(parent);
  ++committed_count_;
  return node;
}

NodeId PageCache::commit(PageId page, NodeId parent, const PageContent& content) {
  const NodeId node = node_of(page);
  if (!options_.is_shared) {
    trie_.insert(page, parent, content, NodeState::Opaque);
    return publish(page, parent, content);
  }
  if (trie_.state(node) == NodeState::InFlight) {
    QUIRE_CHECK(trie_.parent(node) == parent, "a claim was made below another parent");
    return publish(page, parent, content);
  }
  const NodeId twin = trie_.find(parent, content);
  if (twin == kNoNode) {
    trie_.insert(page, parent, content, NodeState::InFlight);
    return publish(page, parent, content);
  }
  hold(twin);
  pool_.release(page);
  return twin;
}

void PageCache::release(PageId page) {
  QUIRE_CHECK(trie_.state(node_of(page)) == NodeState::Absent, "C3");
  pool_.release(page);
}

void PageCache::verify() const {
  pool_.verify();
  trie_.verify();
  std::vector<std::uint32_t> order(page_count(), 0);  // 0: not in the list.
  std::uint32_t listed = 0;
  for (PageId page = cold_oldest_; page != kNoPage;
       page = cold_links_[static_cast<std::uint32_t>(page)].newer) {
    QUIRE_CHECK(pool_.state(page) == PageState::Cold, "C1");
    QUIRE_CHECK(order[static_cast<std::uint32_t>(page)] == 0, "C1");
    order[static_cast<std::uint32_t>(page)] = ++listed;
  }
  QUIRE_CHECK(listed == pool_.cold_count(), "C1");
  std::vector<std::uint32_t> live_children(page_count(), 0);
  for (std::uint32_t index = 0; index < page_count(); ++index) {
    const PageState state = pool_.state(PageId{index});
    const NodeState node = trie_.state(NodeId{index});
    if (state == PageState::Committed || state == PageState::Cold) {
      QUIRE_CHECK(node == NodeState::Published || node == NodeState::Opaque, "C2");
      QUIRE_CHECK(state != PageState::Cold || node == NodeState::Published, "C2");
      const NodeId above = trie_.parent(NodeId{index});
      if (trie_.is_root(above)) continue;
      const auto parent_index = static_cast<std::uint32_t>(above);
      if (state == PageState::Committed)
        ++live_children[parent_index];
      else
        QUIRE_CHECK(order[parent_index] == 0 || order[parent_index] > order[index], "C1");
    } else {
      QUIRE_CHECK(
          node == NodeState::Absent || (node == NodeState::InFlight && state == PageState::Working),
          "C3");
    }
  }
  for (std::uint32_t index = 0; index < page_count(); ++index) {
    if (live_children[index] == 0) continue;
    QUIRE_CHECK(pool_.hold_count(PageId{index}) >= live_children[index], "C4");
  }
}

}  // namespace quire::control
