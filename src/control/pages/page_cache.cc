#include "control/pages/page_cache.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::control {

using inference::kNoPage;

PageCache::PageCache(const PageCacheOptions& options)
    : options_(options),
      pool_(options.page_count),
      trie_({.page_count = options.page_count,
             .page_size = options.space.page_size,
             .hash_key = options.hash_key,
             .hash_bits = options.hash_bits,
             .has_kin = options.explains_misses}),
      cold_({.kind = options.eviction, .entry_count = options.page_count}) {
  constexpr std::uint32_t kEvictionsForEachPage = 4;  // 28 bytes each, of pages of many thousands.
  if (options.explains_misses) evictions_.emplace(kEvictionsForEachPage * options.page_count);
}

NodeId PageCache::root(const Digest& sharing_domain, TenantId tenant) {
  const auto found = root_by_domain_.find(sharing_domain);
  if (found != root_by_domain_.end()) return found->second;
  PageNameSpace space = options_.space;
  space.sharing_domain = sharing_domain;
  const PageNamer namer(space);
  const NodeId root = trie_.add_root(namer.root());
  roots_.emplace(root, Root{.namer = namer, .tenant = tenant});
  root_by_domain_.emplace(sharing_domain, root);
  return root;
}

void PageCache::set_weight(TenantId tenant, std::uint32_t weight) {
  if (!is_planted(Fault::EvictedWithoutWeight)) cold_.set_weight(tenant, weight);
}

bool PageCache::make_room(std::uint32_t count) {
  if (available() < count) return false;
  std::uint32_t leaving = 0;
  while (pool_.free_count() + leaving < count) {
    const Evicted evicted = evict_one();
    if (evicted == Evicted::None) return false;
    leaving += evicted == Evicted::Leaves;
  }
  return leaving == 0;
}

bool PageCache::take(std::uint32_t count, std::vector<PageId>& pages) {
  if (!make_room(count)) return false;
  for (std::uint32_t index = 0; index < count; ++index) pages.push_back(*pool_.allocate());
  return true;
}

PageCache::Evicted PageCache::evict_one() {
  const auto is_fenced = [this](EntryId entry) { return pool_.is_fenced(PageId{index_of(entry)}); };
  const std::optional<EntryId> victim = cold_.evict(is_fenced, now_ns_);
  if (!victim) return Evicted::None;
  const PageId page{index_of(*victim)};
  const NodeId node = trie_.node_of(page);
  const bool is_done = cold_.victim_hint() == EvictionHint::Done;
  const bool leaves = eviction_sink_ != nullptr && eviction_sink_->takes(node, is_done);
  if (leaves) {
    pool_.vacate(page);
  } else {
    pool_.evict(page);
  }
  if (evictions_) remember_eviction(node);
  if (lost_page_sink_ != nullptr) lost_page_sink_->page_gone(node);
  if (!is_planted(Fault::IndexEntryLeftBehind)) trie_.remove_page(node);
  ++evicted_count_;
  return leaves ? Evicted::Leaves : Evicted::Free;
}

namespace {

constexpr std::uint32_t kHintBits = 3;
constexpr std::uint64_t kNsForEachUs = 1'000;

}  // namespace

void PageCache::remember_eviction(NodeId node) {
  evictions_->put(trie_.hash(node), (now_ns_ / kNsForEachUs) << kHintBits |
                                        static_cast<std::uint64_t>(cold_.victim_hint()));
}

std::optional<Eviction> PageCache::eviction_of(std::uint64_t hash) const {
  QUIRE_CHECK(evictions_.has_value(), "the cache was made without");
  const std::optional<std::uint64_t> word = evictions_->find(hash);
  if (!word) return std::nullopt;
  const std::uint64_t hint = *word & ((1u << kHintBits) - 1);
  return Eviction{.at_ns = (*word >> kHintBits) * kNsForEachUs,
                  .hint = static_cast<EvictionHint>(hint)};
}

void PageCache::evict_all() {
  while (evict_one() != Evicted::None) {
  }
}

PageMatch PageCache::find(NodeId parent, const PageContent& content) const {
  return find(parent, content, trie_.hash_below(trie_.hash(parent), content));
}

PageMatch PageCache::find(NodeId parent, const PageContent& content, std::uint64_t hash) const {
  if (!options_.is_shared) return {};
  const NodeId node = trie_.find(parent, content, hash);
  if (node == kNoNode) return {};
  switch (trie_.residency(node)) {
    case Residency::InFlight:
      if (is_planted(Fault::PublishedBeforeWritten)) return {MatchState::Resident, node};
      return {.state = MatchState::InFlight, .node = node};
    case Residency::Resident:
      return {.state = MatchState::Resident, .node = node};
    case Residency::None:
      break;
  }
  return {.state = MatchState::Named, .node = node};
}

void PageCache::retain_node(NodeId node) {
  QUIRE_CHECK(is_resident(node), "I6: attached before it was written");
  const PageId page = trie_.page(node);
  if (pool_.state(page) == PageState::Cold) {
    cold_.revive(entry_of(page));
    pool_.revive(page);
  } else {
    pool_.retain(page);
  }
}

void PageCache::release_node(NodeId node, const ColdHint& hint) {
  const PageId page = trie_.page(node);
  if (pool_.release(page) > 0) return;
  if (trie_.is_opaque(node)) {
    cold_.remove(entry_of(page));
    pool_.discard(page);
    trie_.remove_page(node);
  } else {
    cold_.go_cold(entry_of(page), hint, now_ns_);
  }
}

void PageCache::note_found(NodeId node) {
  const PageId page = trie_.page(node);
  if (pool_.state(page) == PageState::Committed) cold_.hit(entry_of(page));
}

void PageCache::hold(NodeId node) {
  for (; !trie_.is_root(node); node = trie_.parent(node)) {
    retain_node(node);
    if (trie_.chain_hold_count(node)++ > 0) return;
  }
}

void PageCache::drop(NodeId node, const ColdHint& hint) {
  while (!trie_.is_root(node)) {
    const NodeId parent = trie_.parent(node);
    std::uint32_t& count = trie_.chain_hold_count(node);
    QUIRE_CHECK(count > 0, "I3: a chain was dropped more often than held");
    const bool is_last = --count == 0;
    release_node(node, hint);
    if (!is_last) return;
    node = parent;
  }
}

void PageCache::hold_page(NodeId node) {
  retain_node(node);
}

void PageCache::hold(NodeId node, HoldKind kind) {
  if (kind == HoldKind::Chain) {
    hold(node);
  } else {
    hold_page(node);
  }
}

void PageCache::drop_page(NodeId node, const ColdHint& hint) {
  QUIRE_CHECK(pool_.hold_count(trie_.page(node)) > trie_.chain_hold_count(node),
              "I3: a page was dropped more often than held");
  release_node(node, hint);
}

bool PageCache::claim(PageId page, NodeId parent, const PageContent& content) {
  if (!options_.is_shared) return false;
  const std::uint64_t hash = trie_.hash_below(trie_.hash(parent), content);
  NodeId node = trie_.find(parent, content, hash);
  if (node == kNoNode) {
    node = trie_.insert(parent, content, hash);
  } else if (trie_.residency(node) != Residency::None) {
    return false;
  }
  trie_.claim(node, page);
  return true;
}

NodeId PageCache::insert_name(NodeId parent, const PageContent& content, bool is_opaque,
                              const PageName& name) {
  NodeId node = trie_.find_name(name);
  if (node != kNoNode) return node;
  if (!is_opaque) node = trie_.find(parent, content);  // Claimed, and not named yet.
  if (node == kNoNode) node = insert(parent, content, is_opaque);
  trie_.set_name(node, name);
  return node;
}

void PageCache::claim_named(PageId page, NodeId parent, const PageContent& content, bool is_opaque,
                            const PageName& name) {
  trie_.claim(insert_name(parent, content, is_opaque, name), page);
}

void PageCache::unclaim(PageId page) {
  const NodeId node = trie_.node_of(page);
  if (node == kNoNode) return;  // It passed over to one who wrote the same first.
  QUIRE_CHECK(trie_.residency(node) == Residency::InFlight, "only a claim lapses");
  trie_.remove_page(node);
}

void PageCache::publish(NodeId node, NodeId parent, const PageContent& content, HoldKind kind) {
  const Root& root = roots_.at(trie_.root(parent));
  if (!trie_.has_name(node)) {
    const PageNamer& namer = root.namer;
    if (trie_.is_opaque(node)) {
      std::array<std::byte, sizeof(Digest) + sizeof(opaque_count_)> nonce;
      ++opaque_count_;
      std::memcpy(nonce.data(), options_.nonce.data(), sizeof(Digest));
      std::memcpy(nonce.data() + sizeof(Digest), &opaque_count_, sizeof(opaque_count_));
      trie_.set_name(node, namer.opaque(nonce));
    } else {
      trie_.set_name(node, namer.page(trie_.name(parent), content));
    }
  }
  if (kind == HoldKind::Chain) {
    ++trie_.chain_hold_count(node);
    hold(parent);
  }
  enter(node, content.positions.front());
  ++committed_count_;
}

void PageCache::land(PageId page) {
  const NodeId node = trie_.node_of(page);
  QUIRE_CHECK(node != kNoNode && trie_.has_name(node), "landed without a name");
  enter(node, trie_.position_first(node));
}

void PageCache::enter(NodeId node, std::uint32_t position_first) {
  const PageId page = trie_.page(node);
  const NodeId parent = trie_.parent(node);
  trie_.publish(node);
  pool_.commit(page);
  NewEntry entry{.tenant = roots_.at(trie_.root(node)).tenant,
                 .depth = position_first / page_size()};
  if (!trie_.is_root(parent) && is_resident(parent)) entry.parent = entry_of(trie_.page(parent));
  std::memcpy(&entry.content_hash, trie_.name(node).data(), sizeof(entry.content_hash));
  cold_.insert(entry_of(page), entry);
}

NodeId PageCache::commit(PageId page, NodeId parent, const PageContent& content, HoldKind kind,
                         bool is_opaque) {
  const bool hides = is_opaque || !options_.is_shared;
  NodeId node = trie_.node_of(page);
  const bool is_own_claim =
      node != kNoNode && hides == trie_.is_opaque(node) && trie_.parent(node) == parent;
  if (!is_own_claim) {
    if (node != kNoNode) unclaim(page);
    node = hides ? kNoNode : trie_.find(parent, content);
    if (node != kNoNode && is_resident(node)) {
      hold(node, kind);
      pool_.release(page);
      return node;
    }
    if (node == kNoNode) node = insert(parent, content, hides);
    pass_claim(node, page);
  }
  publish(node, parent, content, kind);
  return node;
}

// Another may claim to write it, but this page is written.
void PageCache::pass_claim(NodeId node, PageId page) {
  trie_.hold_name(node);
  if (trie_.residency(node) == Residency::InFlight) trie_.remove_page(node);
  trie_.claim(node, page);
  trie_.drop_name(node);
}

void PageCache::release(PageId page) {
  QUIRE_CHECK(trie_.node_of(page) == kNoNode, "C3");
  if (is_planted(Fault::ReleaseWithoutDrop)) return;
  pool_.release(page);
  if (is_planted(Fault::ReleaseTwice)) pool_.release(page);
}

void PageCache::verify() const {
  pool_.verify();
  trie_.verify();
  cold_.verify();
  std::map<NodeId, std::uint32_t> chained_children;
  trie_.for_each([&](NodeId node) {
    if (trie_.is_root(node)) return;
    if (trie_.chain_hold_count(node) > 0) {
      QUIRE_CHECK(is_resident(node), "C4");
      const PageId page = trie_.page(node);
      QUIRE_CHECK(pool_.hold_count(page) >= trie_.chain_hold_count(node), "C4");
      ++chained_children[trie_.parent(node)];
    }
  });
  trie_.for_each([&](NodeId node) {
    if (trie_.is_root(node)) return;
    QUIRE_CHECK(trie_.chain_hold_count(node) >= chained_children[node], "C4");
  });
  for (std::uint32_t index = 0; index < page_count(); ++index) {
    const PageId page{index};
    const PageState state = pool_.state(page);
    const NodeId node = trie_.node_of(page);
    const bool is_known = state == PageState::Committed || state == PageState::Cold;
    if (is_known) {
      QUIRE_CHECK(node != kNoNode && is_resident(node), "C2");
      QUIRE_CHECK(state != PageState::Cold || !trie_.is_opaque(node), "C2");
    } else {
      QUIRE_CHECK(node == kNoNode ||
                      (trie_.residency(node) == Residency::InFlight && state == PageState::Working),
                  "C3");
    }
    QUIRE_CHECK(cold_.is_present(entry_of(page)) == is_known, "C1");
    QUIRE_CHECK(cold_.is_cold(entry_of(page)) == (state == PageState::Cold), "C1");
    const EntryId above = is_known ? cold_.parent_of(entry_of(page)) : kNoEntry;
    QUIRE_CHECK(above == kNoEntry || entry_of(trie_.page(trie_.parent(node))) == above, "C5");
  }
}

}  // namespace quire::control
