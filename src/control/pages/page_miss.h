#pragma once
// Why a page was not found, in the words of the page store: for whoever runs the engine.
//
// A reason can tell what another sharing domain holds, so it never goes to a guest.
//
// Thread   that of the cache.
// Errors   none.
// Cost     O(1): at most kSiblingCountMax pages are compared.
#include <cstdint>

#include "control/pages/page_cache.h"

namespace quire::control {

inline constexpr std::uint32_t kSiblingCountMax = 64;  // Compared, newest first.

enum class MissReason : std::uint8_t {
  NeverSeen,    // Nothing is known below its parent, or nothing that is remembered.
  Differs,      // Pages are known there; the most similar differs in `field`.
  Evicted,      // It was here and went, to make room.
  NotInPool,    // Known by name: its bytes were dropped, or are on disk only.
  OtherDomain,  // Only another sharing domain has this content behind the same prefix.
  Opaque,       // The same is in a page whose inputs cannot all be named, here or in the pool.
  InFlight,     // Another is writing it, and this one holds a part of it already.
  Off,          // Nothing is ever looked up.
};

// In the order of the name's fields (docs/paged_kv.md). What comes before them (model, numerics,
// formats, page size) is one for all pages of a model; a parent that differs is an earlier miss.
enum class PageField : std::uint8_t { None, Tokens, Positions, View, Media };

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
PageMiss explain_miss(const PageCache& cache, NodeId parent, const PageContent& content);

}  // namespace quire::control
