#pragma once
// PageCache is the pool and the trie of one model together: it finds, shares, allocates, commits
// and evicts pages.
//
// Owns     a PagePool, a PageTrie and the ColdPages that say which page is given up.
// Thread   engine thread only. Reads no clock: set_time() says what time it is.
// Errors   make_room() and take() say no; callers turn that into waiting or NoFreePage. Misuse
//          stops the process.
//
// Three holds, each given back by the call of its own:
//   chain  hold / drop            the bytes of a node and of all its ancestors: a context. A chain
//                                 is held by its last node alone, in O(1), and let go iteratively.
//   page   hold_page / drop_page  the bytes of one node: a context that dropped some of its pages,
//                                 an export, a page opened again for writing.
//   name   hold_name / drop_name  what the node says, bytes or not.
// A page whose bytes are not held goes cold: it is kept, can be found again, and counts as free.
// ColdPages decides which of them goes first: leaves, then the hint of the last holder, then shares
// of tenants, then the policy.
//
// Invariants, all checked by verify():
//   C1  ColdPages knows every Committed and Cold page and no other, as held and as cold.
//   C2  A Committed or Cold page has a Resident node; a Cold one is not opaque.
//   C3  A Working page may have an InFlight node; Free, Fenced and Sealed pages have none.
//   C4  Where a node is held as a chain its parent is too; a parent's chain holds are at least the
//       count of such children, and a page's holds at least its chain holds (I2).
//   C5  The parent that ColdPages knows of a page is the page of its node's parent.
//
// Invariants that several classes keep together. The class that checks one cites it:
//   I1  Each page of the pool is in exactly one state, and is counted there once.
//   I2  The holds of a page and of a name equal a recount from all objects.
//   I3  No hold is given back twice, and a page that is held keeps its bytes.
//   I4  Each allocation of a page has a generation of its own.
//   I5  A page that a batch may still read or write is free only after that batch has completed.
//   I6  A page is attached to a context only after its bytes are written.
//   I8  Only a Working page with one holder is written.
//   I9  No two different contents of a page have one name.
//   I10  A hit is compared in full: a weak hash costs time, and never gives wrong tokens.
//   I11  One parent and one content have one listed node.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "control/pages/cold_pages.h"
#include "control/pages/ghost_table.h"
#include "control/pages/page_name.h"
#include "control/pages/page_pool.h"
#include "control/pages/page_trie.h"
#include "control/pages/slot_view.h"

namespace quire::control {

struct PageCacheOptions {
  std::uint32_t page_count = 0;
  PageNameSpace space{};  // Its page_size is the page size.
  bool is_shared = true;  // False: nothing is ever found (KvMode::Basic).
  std::uint64_t hash_key = 0;
  Digest nonce{};  // Of this start of the engine: names of opaque pages never come again.
  std::uint32_t hash_bits = 64;
  EvictionPolicyKind eviction = EvictionPolicyKind::Default;
  bool explains_misses = false;  // Keeps what explain_miss() asks for.
};

// Named: known, but its bytes are not in the pool.
enum class MatchState : std::uint8_t { Absent, Named, InFlight, Resident };

struct PageMatch {
  MatchState state = MatchState::Absent;
  NodeId node = kNoNode;
};

enum class HoldKind : std::uint8_t { Chain, Page };

struct Eviction {
  std::uint64_t at_ns = 0;                 // In whole microseconds.
  EvictionHint hint = EvictionHint::None;  // What its last holder had said of the page.
};

// Asked about each page that is to be evicted.
class EvictionSink {
 public:
  virtual ~EvictionSink() = default;
  // True: the batch being built reads the bytes of `node`, and its page is free when that is done.
  // `is_done`: its program said that it needs it no more.
  virtual bool takes(NodeId node, bool is_done) = 0;
};

class LostPageSink {  // Hears of each node that loses its bytes.
 public:
  virtual ~LostPageSink() = default;
  virtual void page_gone(NodeId node) = 0;
};

class PageCache {
 public:
  explicit PageCache(const PageCacheOptions& options);

  std::uint32_t page_size() const { return options_.space.page_size; }
  std::uint32_t page_count() const { return pool_.page_count(); }

  // The empty prefix of a sharing domain; one root for each, kept forever. Pages below it are
  // charged to the tenant that it was made for.
  NodeId root(const Digest& sharing_domain, TenantId tenant = TenantId{});

  // The tenant's share of the pool against the other tenants' weights, which decides whose cold
  // pages are evicted; 1 unless set. Holds for pages that are here already and for those to come.
  void set_weight(TenantId tenant, std::uint32_t weight);

  // The time of all that follows, until it is said anew. Monotonic.
  void set_time(std::uint64_t now_ns) { now_ns_ = std::max(now_ns_, now_ns); }

  // Pages that are free or can become so now, about: fewer where the ancestors of a page that a
  // batch still touches went cold before it.
  std::uint32_t available() const { return pool_.free_count() + pool_.evictable_count(); }
  std::uint32_t available_soon() const {  // When the batches under way are done.
    return pool_.free_count() + pool_.fenced_count() + pool_.cold_count();
  }
  // Evicts until `count` pages are free; false if that cannot be, or not before the batch being
  // built is done, because the sink took some of them.
  bool make_room(std::uint32_t count);
  void set_eviction_sink(EvictionSink* sink) { eviction_sink_ = sink; }
  void set_lost_page_sink(LostPageSink* sink) { lost_page_sink_ = sink; }
  // Appends `count` working pages to `pages`; all or nothing.
  bool take(std::uint32_t count, std::vector<PageId>& pages);

  PageMatch find(NodeId parent, const PageContent& content) const;
  // With the hash of trie().hash_below().
  PageMatch find(NodeId parent, const PageContent& content, std::uint64_t hash) const;

  // The hint is for pages whose last hold this is.
  void hold(NodeId node);
  void drop(NodeId node, const ColdHint& hint = {});
  void hold_page(NodeId node);
  void drop_page(NodeId node, const ColdHint& hint = {});
  void hold(NodeId node, HoldKind kind);
  // `node` was found and is held next: a use, though it may not have been cold.
  void note_found(NodeId node);
  void hold_name(NodeId node) { trie_.hold_name(node); }
  void drop_name(NodeId node) { trie_.drop_name(node); }

  // Says that a batch will write `page` with `content` below `parent`. False if another page
  // already is, or will be, that content.
  bool claim(PageId page, NodeId parent, const PageContent& content);
  // The same for bytes that come from elsewhere, under a name that the caller has checked against
  // the content (an opaque page's says nothing). Requires: no other page has these bytes, or will.
  void claim_named(PageId page, NodeId parent, const PageContent& content, bool is_opaque,
                   const PageName& name);
  // A node without bytes, so that other nodes can descend from it. The caller holds its name next.
  NodeId insert_name(NodeId parent, const PageContent& content, bool is_opaque,
                     const PageName& name);
  // The node of that name, its bytes here or not; kNoNode if there is none.
  NodeId find_name(const PageName& name) const { return trie_.find_name(name); }
  // The name of `content` below one named `parent`, in the sharing domain of `node`.
  PageName name_below(NodeId node, const PageName& parent, const PageContent& content) const {
    return roots_.at(trie_.root(node)).namer.page(parent, content);
  }
  void unclaim(PageId page);  // In reverse order of the claims.
  // Bytes come back to a node that has a name and none: `page` is claimed for it, and land() says
  // that they are there. The caller's hold on `page` is then one on the node, as by hold_page().
  void claim_back(PageId page, NodeId node) { trie_.claim(node, page); }
  void land(PageId page);
  // The page is written. Takes over the caller's hold on `page` and gives a hold of `kind` on the
  // node that now stands for it: its own, or that of an equal page that came first (I11). A page
  // that is opaque gets a name of its own and is never found. For HoldKind::Chain the caller holds
  // `parent` as a chain.
  NodeId commit(PageId page, NodeId parent, const PageContent& content, HoldKind kind,
                bool is_opaque = false);

  void retain(PageId page) { pool_.retain(page); }
  void release(PageId page);  // Of a working or sealed page.
  void seal(PageId page) { pool_.seal(page); }
  void reopen(PageId page) { pool_.reopen(page); }
  bool is_shared_tail(PageId page) const {
    return pool_.state(page) == PageState::Sealed && pool_.hold_count(page) > 1;
  }
  bool is_sealed(PageId page) const { return pool_.state(page) == PageState::Sealed; }
  void fetch_state(PageId page) const { pool_.fetch(page); }  // Soon to be asked for.

  void open_batch(BatchId batch) { pool_.open_batch(batch); }
  void complete_batch(BatchId batch) {
    pool_.complete_batch(batch);
    cold_.lift_fences();
  }

  NodeId parent(NodeId node) const { return trie_.parent(node); }
  NodeId root_of(NodeId node) const { return trie_.root(node); }
  bool is_root(NodeId node) const { return trie_.is_root(node); }
  bool is_resident(NodeId node) const { return trie_.residency(node) == Residency::Resident; }
  // Slots that a holder of the node may see, bit i for slot i. The other slots were dropped before
  // the page was full, and may never have been written. Their bytes can be another tenant's, and
  // must not leave the pool.
  std::uint32_t visible_slots(NodeId node) const {
    const std::span<const std::uint8_t> mask = trie_.mask(node);
    if (mask.empty()) return inference::kAllSlots;
    return SlotView::visible_bits(mask, trie_.positions(node).front(), page_size());
  }
  const PageName& name(NodeId node) const { return trie_.name(node); }
  PageId page_of(NodeId node) const { return trie_.page(node); }
  const PagePool& pool() const { return pool_; }
  const PageTrie& trie() const { return trie_; }
  const ColdPages& cold_pages() const { return cold_; }
  std::uint64_t committed_count() const { return committed_count_; }
  std::uint64_t evicted_count() const { return evicted_count_; }

  bool is_shared() const { return options_.is_shared; }
  std::uint64_t now_ns() const { return now_ns_; }
  // The eviction of the page with that hash in the trie, if it is among the last: four for each
  // page of the pool. Requires: explains_misses.
  std::optional<Eviction> eviction_of(std::uint64_t hash) const;

  // Evicts every cold page that no batch touches. For tests and for giving memory back.
  void evict_all();
  void verify() const;

 private:
  static EntryId entry_of(PageId page) { return EntryId{static_cast<std::uint32_t>(page)}; }
  enum class Evicted : std::uint8_t { None, Free, Leaves };
  Evicted evict_one();
  void remember_eviction(NodeId node);
  void retain_node(NodeId node);  // One hold more on its page, reviving it where it is cold.
  void release_node(NodeId node, const ColdHint& hint);  // The node may end here.
  NodeId insert(NodeId parent, const PageContent& content, bool is_opaque) {
    return is_opaque ? trie_.insert_opaque(parent, content) : trie_.insert(parent, content);
  }
  void pass_claim(NodeId node, PageId page);
  void publish(NodeId node, NodeId parent, const PageContent& content, HoldKind kind);
  void enter(NodeId node, std::uint32_t position_first);  // Its bytes are there from now on.

  PageCacheOptions options_;
  PagePool pool_;
  PageTrie trie_;
  ColdPages cold_;  // An entry is a page.
  // A word is a time and a hint; none: misses are not explained.
  std::optional<GhostTable> evictions_;
  EvictionSink* eviction_sink_ = nullptr;
  LostPageSink* lost_page_sink_ = nullptr;
  std::uint64_t now_ns_ = 0;
  std::map<Digest, NodeId> root_by_domain_;
  struct Root {
    PageNamer namer;
    TenantId tenant{};
  };
  std::map<NodeId, Root> roots_;
  std::uint64_t committed_count_ = 0;
  std::uint64_t evicted_count_ = 0;
  std::uint64_t opaque_count_ = 0;
};

}  // namespace quire::control
