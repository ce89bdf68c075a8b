#pragma once
// A page of the trie as the store wants it, without its bytes.
#include "control/pages/page_cache.h"
#include "control/store/records.h"

namespace quire::control {

inline store::PageRecord record_of(const PageCache& cache, NodeId node) {
  const PageTrie& trie = cache.trie();
  return {.name = trie.name(node),
          .parent = trie.name(trie.parent(node)),
          .tokens = {trie.tokens(node).begin(), trie.tokens(node).end()},
          .positions = trie.positions(node),
          .view = {trie.mask(node).begin(), trie.mask(node).end()},
          .is_opaque = trie.is_opaque(node),
          .kv = {}};
}

}  // namespace quire::control
