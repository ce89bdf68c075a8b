#pragma once
// A page of the trie as the store wants it, without its bytes.
#include <string>

#include "base/result.h"
#include "control/pages/page_cache.h"
#include "control/store/page_image.h"
#include "control/store/records.h"

namespace quire::control {

// TooLarge where view, media and adapters of the page have no room in its record.
inline Result<void> check_recordable(const PageTrie& trie, NodeId node) {
  const std::size_t bytes = store::page_extras_bytes(trie.mask(node).size(),
                                                     trie.media(node).size(), trie.adapters(node));
  if (bytes <= store::kPageExtrasBytesMax) return {};
  return Error(ErrorCode::TooLarge,
               "a page of the context changes its adapters so often that it takes " +
                   std::to_string(bytes) + " bytes to say when; a snapshot keeps " +
                   std::to_string(store::kPageExtrasBytesMax) + " a page");
}

inline store::PageRecord record_of(const PageCache& cache, NodeId node) {
  const PageTrie& trie = cache.trie();
  return {.name = trie.name(node),
          .parent = trie.name(trie.parent(node)),
          .tokens = {trie.tokens(node).begin(), trie.tokens(node).end()},
          .positions = trie.positions(node),
          .view = {trie.mask(node).begin(), trie.mask(node).end()},
          .media = {trie.media(node).begin(), trie.media(node).end()},
          .adapters = {trie.adapters(node).begin(), trie.adapters(node).end()},
          .is_opaque = trie.is_opaque(node),
          .kv = {}};
}

}  // namespace quire::control
