#pragma once
// Why a page was not found, in the words of the page store.
//
// With MissScope::Everything a reason can show what another sharing domain holds: it is for the
// operator alone.
//
// Thread   that of the cache.
// Errors   none.
// Cost     O(1): at most kSiblingCountMax pages are compared.
#include <cstdint>

#include "control/api/miss.h"
#include "control/pages/page_cache.h"

namespace quire::control {

inline constexpr std::uint32_t kSiblingCountMax = 64;  // Compared, newest first.

struct PageMiss {
  MissReason reason = MissReason::NeverSeen;
  PageField field = PageField::None;       // Differs: the first one.
  std::uint32_t slot = 0;                  // Tokens and positions: of the page.
  std::uint32_t here = 0;                  // The token or position that was wanted there,
  std::uint32_t there = 0;                 // and that of the page most like it.
  std::uint64_t gone_ns = 0;               // Evicted: for how long it had been gone.
  EvictionHint hint = EvictionHint::None;  // Evicted: what its last holder had said.
};

// Requires: a look-up below `parent` did not find `content`, and the cache explains misses.
PageMiss explain_miss(const PageCache& cache, NodeId parent, const PageContent& content,
                      MissScope scope = MissScope::Everything);

}  // namespace quire::control
