#pragma once
// PageCache is the pool and the trie of one model together: it finds, shares, allocates, commits
// and evicts pages.
//
// Owns     a PagePool, a PageTrie and the order in which cold pages are given up.
// Thread   engine thread only.
// Errors   take() says no; callers turn that into waiting or NoFreePage. Misuse stops the process.
//
// Holds. Every call named hold_* or take raises counts that the caller gives back with drop() or
// release(). A live committed page holds its parent, so a chain is held by its last page alone; a
// chain is let go iteratively. A page that nobody holds goes cold: it is kept, can be found again,
// and counts as free. Its parent goes cold after it, so the list by time of going cold always has
// leaves first, and its oldest page can always be evicted.
//
// Invariants, all checked by verify():
//   C1  The cold list holds every Cold page once, each after all of its children.
//   C2  A Committed or Cold page has a node that is Published or Opaque; an Opaque page is never
//   Cold. C3  A Working page may have an InFlight node; Free, Fenced and Sealed pages have none. C4
//   The holds of a committed page are at least the number of its live children.
#include <cstdint>
#include <map>
#include <vector>

#include "control/pages/page_name.h"
#include "control/pages/page_pool.h"
#include "control/pages/page_trie.h"

namespace quire::control {

struct PageCacheOptions {
  std::uint32_t page_count = 0;
  PageNameSpace space{};  // Its page_size is the page size.
  bool is_shared = true;  // False: nothing is ever found (KvMode::Basic).
  std::uint64_t hash_key = 0;
  std::uint32_t hash_bits = 64;
};

struct PageMatch {
  NodeState state = NodeState::Absent;
  NodeId node = kNoNode;
};

class PageCache {
 public:
  explicit PageCache(const PageCacheOptions& options);

  std::uint32_t page_size() const { return options_.space.page_size; }
  std::uint32_t page_count() const { return pool_.page_count(); }

  // The empty prefix of a sharing domain; one root for each, kept for ever.
  NodeId root(const Digest& sharing_domain);

  // Pages that take() could give now.
  std::uint32_t available() const;
  // Appends `count` working pages to `pages`, evicting cold ones as needed; all or nothing.
  bool take(std::uint32_t count, std::vector<PageId>& pages);

  PageMatch find(NodeId parent, const PageContent& content) const;
  void hold(NodeId node);  // A head: a context ends here.
  void drop(NodeId node);

  // Says that a batch will write `page` with `content` below `parent`. False if another page
  // already is, or will be, that content.
  bool claim(PageId page, NodeId parent, const PageContent& content);
  void unclaim(PageId page);  // In reverse order of the claims.
  // The page is written. Takes over the caller's hold on `page` and gives a hold on the node that
  // now stands for it: its own, or that of an equal page that came first (I11).
  NodeId commit(PageId page, NodeId parent, const PageContent& content);

  void retain(PageId page) { pool_.retain(page); }
  void release(PageId page);  // Of a working or sealed page.
  void seal(PageId page) { pool_.seal(page); }
  void reopen(PageId page) { pool_.reopen(page); }
  bool is_shared_tail(PageId page) const {
    return pool_.state(page) == PageState::Sealed && pool_.hold_count(page) > 1;
  }
  bool is_sealed(PageId page) const { return pool_.state(page) == PageState::Sealed; }

  void open_batch(BatchId batch) { pool_.open_batch(batch); }
  void complete_batch(BatchId batch) { pool_.complete_batch(batch); }

  NodeId parent(NodeId node) const { return trie_.parent(node); }
  bool is_root(NodeId node) const { return trie_.is_root(node); }
  TokenId last_token(NodeId node) const { return trie_.tokens(node).back(); }
  const PageName& name(NodeId node) const { return trie_.name(node); }
  static PageId page_of(NodeId node) { return PageId{static_cast<std::uint32_t>(node)}; }
  const PagePool& pool() const { return pool_; }
  const PageTrie& trie() const { return trie_; }
  std::uint64_t committed_count() const { return committed_count_; }

  // Evicts every cold page that no batch touches. For tests and for giving memory back.
  void evict_all();
  void verify() const;

 private:
  struct ColdLink {
    PageId newer = inference::kNoPage;
    PageId older = inference::kNoPage;
  };
  static NodeId node_of(PageId page) { return NodeId{static_cast<std::uint32_t>(page)}; }
  const PageNameSpace& space_of(NodeId node);
  bool evict_oldest();
  void push_cold(PageId page);
  void unlink_cold(PageId page);
  void attach(NodeId node);  // One hold more, reviving the chain where it is cold.
  NodeId publish(PageId page, NodeId parent, const PageContent& content);

  PageCacheOptions options_;
  PagePool pool_;
  PageTrie trie_;
  std::vector<ColdLink> cold_links_;  // [page_count]
  PageId cold_oldest_ = inference::kNoPage;
  PageId cold_newest_ = inference::kNoPage;
  std::map<Digest, NodeId> root_by_domain_;
  std::vector<Digest> domains_;         // Of each root, in order.
  std::vector<std::uint32_t> root_of_;  // [page_count] index into domains_, of pages with a node.
  std::uint64_t committed_count_ = 0;
};

}  // namespace quire::control
