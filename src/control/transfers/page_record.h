#pragma once
// A page of the trie as the store wants it, without its bytes.
#include "base/check.h"
#include "base/result.h"
#include "control/pages/page_cache.h"
#include "control/store/records.h"

namespace quire::control {

// A record has no room for media and adapters yet.
inline Result<void> check_recordable(const PageCache& cache, NodeId node) {
  if (cache.trie().is_recordable(node)) return {};
  return Error(ErrorCode::NotSupported,
               cache.trie().adapters(node).empty()
                   ? "the context has pages with media, which snapshots cannot keep"
                   : "the context has pages of an adapter, which snapshots cannot keep");
}

// Requires: check_recordable().
inline store::PageRecord record_of(const PageCache& cache, NodeId node) {
  const PageTrie& trie = cache.trie();
  QUIRE_CHECK(trie.is_recordable(node), "a record without what its page is named by");
  return {.name = trie.name(node),
          .parent = trie.name(trie.parent(node)),
          .tokens = {trie.tokens(node).begin(), trie.tokens(node).end()},
          .positions = trie.positions(node),
          .view = {trie.mask(node).begin(), trie.mask(node).end()},
          .is_opaque = trie.is_opaque(node),
          .kv = {}};
}

}  // namespace quire::control
