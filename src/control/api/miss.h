#pragma once
// Why the tokens of an instance were computed that might have been found. A miss is a page that was
// looked up and not found, but for NoState.
//
// Thread   any; plain values.
#include <cstdint>

namespace quire::control {

// interface/runtime.wit has the numbers of those that a program may see: all but OtherDomain.
enum class MissReason : std::uint8_t {
  NeverSeen,    // Nothing is known below its parent, or nothing that is remembered.
  Differs,      // Pages are known there; the most similar differs in `field`.
  Evicted,      // It was here and went, to make room.
  NotInPool,    // Known by name: its bytes were dropped, or are on disk only.
  OtherDomain,  // Only another sharing domain has this content after the same prefix.
  Opaque,       // The same is in a page whose inputs cannot all be named, here or in the pool.
  InFlight,     // Another is writing it, and this one holds a part of it already.
  Off,          // Nothing is ever looked up.
  NoState,      // Its page is there, and no state after it: computed again from an earlier one.
};

// In the order of the name's fields (docs/internals/paged_kv.md). What comes before them (model,
// numerics, formats, page size) is one for all pages of a model. A parent that differs is an
// earlier miss.
enum class PageField : std::uint8_t { None, Tokens, Positions, View, Media, Adapters };

// The pages that a reason may come from: the operator sees all, a program its own sharing domain.
enum class MissScope : std::uint8_t { Everything, OwnDomain };

// One miss, as its own program may know it.
struct InstanceMiss {
  MissReason reason = MissReason::NeverSeen;  // Never OtherDomain.
  PageField field = PageField::None;          // Differs: the first one.
  std::uint32_t position = 0;                 // In the context, of the first token computed for it.
  std::uint32_t token_count = 0;              // Computed because of it.
  std::uint32_t slot = 0;                     // Differs: the place in the page,
  std::uint32_t here = 0;                     // what was wanted there,
  std::uint32_t there = 0;                    // and what the page most like it has.
  std::uint64_t gone_ns = 0;                  // Evicted: for how long it had been gone.
};

inline constexpr std::uint32_t kInstanceMissCountMax = 64;  // The latest ones.

}  // namespace quire::control
