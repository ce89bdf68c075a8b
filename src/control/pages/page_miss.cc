#include "control/pages/page_miss.h"

#include <algorithm>
#include <optional>

namespace quire::control {
namespace {

std::uint32_t first_difference(const auto& one, const auto& other) {
  const auto differs = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return static_cast<std::uint32_t>(differs.first - one.begin());
}

// How the page of `node` differs from `content`, which has as many slots.
PageMiss compare(const PageTrie& trie, NodeId node, const PageContent& content) {
  PageMiss miss{.reason = MissReason::Differs};
  const std::span<const TokenId> tokens = trie.tokens(node);
  miss.slot = first_difference(content.tokens, tokens);
  if (miss.slot < tokens.size()) {
    miss.field = PageField::Tokens;
    miss.here = static_cast<std::uint32_t>(content.tokens[miss.slot]);
    miss.there = static_cast<std::uint32_t>(tokens[miss.slot]);
    return miss;
  }
  const std::vector<std::uint32_t> positions = trie.positions(node);
  miss.slot = first_difference(content.positions, positions);
  if (miss.slot < positions.size()) {
    miss.field = PageField::Positions;
    miss.here = content.positions[miss.slot];
    miss.there = positions[miss.slot];
    return miss;
  }
  miss.slot = 0;
  const std::span<const std::uint8_t> mask = trie.mask(node);
  const bool is_same_view =
      std::equal(content.mask.begin(), content.mask.end(), mask.begin(), mask.end());
  if (trie.is_opaque(node) && is_same_view) {
    miss.reason = MissReason::Opaque;
  } else {
    const bool is_same_set = std::ranges::equal(content.adapters, trie.adapters(node));
    miss.field = !is_same_view ? PageField::View
                 : is_same_set ? PageField::Media
                               : PageField::Adapters;
  }
  return miss;
}

// How far two pages agree, as a rank: tokens count first.
std::uint32_t likeness(const PageMiss& miss, std::uint32_t page_size) {
  switch (miss.field) {
    case PageField::Tokens:
      return miss.slot;
    case PageField::Positions:
      return page_size + miss.slot;
    case PageField::View:
      return 2 * page_size;
    case PageField::Media:
      return 2 * page_size + 1;
    case PageField::Adapters:
      return 2 * page_size + 2;
    case PageField::None:
      break;
  }
  return 2 * page_size + 3;
}

std::optional<PageMiss> nearest_sibling(const PageCache& cache, NodeId parent,
                                        const PageContent& content) {
  std::optional<PageMiss> nearest;
  cache.trie().kin().for_each_child(parent, kSiblingCountMax, [&](NodeId child) {
    const PageMiss miss = compare(cache.trie(), child, content);
    if (!nearest || likeness(miss, cache.page_size()) > likeness(*nearest, cache.page_size())) {
      nearest = miss;
    }
    return true;
  });
  return nearest;
}

bool is_elsewhere(const PageCache& cache, NodeId parent, const PageContent& content) {
  const PageTrie& trie = cache.trie();
  const std::uint64_t hash = trie.hash_below(trie.kin().hash(parent), content);
  bool is_there = false;
  trie.kin().for_each_like(hash, kSiblingCountMax, [&](NodeId node) {
    is_there = trie.kin().hash(node) == hash && trie.root(node) != trie.root(parent) &&
               trie.residency(node) != Residency::None &&
               std::ranges::equal(trie.tokens(node), content.tokens);
    return !is_there;
  });
  return is_there;
}

}  // namespace

PageMiss explain_miss(const PageCache& cache, NodeId parent, const PageContent& content,
                      MissScope scope) {
  if (!cache.is_shared()) return {.reason = MissReason::Off};
  const PageTrie& trie = cache.trie();
  const PageMatch match = cache.find(parent, content);
  // Resident: it came between the look-up and this.
  if (match.state == MatchState::InFlight || match.state == MatchState::Resident)
    return {.reason = MissReason::InFlight};
  const std::uint64_t hash = trie.hash_below(trie.hash(parent), content);
  if (const std::optional<Eviction> gone = cache.eviction_of(hash)) {
    return {.reason = MissReason::Evicted,
            .gone_ns = cache.now_ns() - std::min(cache.now_ns(), gone->at_ns),
            .hint = gone->hint};
  }
  if (match.state == MatchState::Named) return {.reason = MissReason::NotInPool};
  const std::optional<PageMiss> nearest = nearest_sibling(cache, parent, content);
  if (nearest && nearest->field != PageField::Tokens) return *nearest;
  const bool looks_elsewhere = scope == MissScope::Everything;
  if (looks_elsewhere && is_elsewhere(cache, parent, content)) {
    return {.reason = MissReason::OtherDomain};
  }
  return nearest.value_or(PageMiss{});
}

}  // namespace quire::control
