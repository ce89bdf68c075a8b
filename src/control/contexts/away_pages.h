#pragma once
// Away pages: those that contexts had and gave up to a suspension. A quota counts them as if they
// had stayed. So the calls that a program may make do not depend on other users of the pool, and a
// context that takes its pages back is never beyond the quota.
//
// A page counts once, whether it is held or several contexts of the instance are to have it back.
// Pages of tails have no names, so those count for each context: forks that shared one have a copy
// each when they are back. So held and away pages may be more than the quota, by a page for each
// such fork. Held pages alone never are. A fork without room for its copy is refused it, as a fork
// is that stayed and writes.
//
// The PageLedger knows which contexts these are. One that has all its pages again stays known until
// the next count.
//
// Thread   engine thread only.
//
// Invariants, checked by verify_away(), which Context::verify() calls:
//   A1  A context that lacks pages is known to its ledger, at the place that the context says.
//   A2  The full pages that it lacks lie on the chain of away_head, which is held by name, and one
//       that is suspended for the first time on that of its head.
#include <cstdint>

#include "base/flat_map.h"
#include "control/contexts/context.h"

namespace quire::control {

// Pages that an instance holds or has away, each once.
struct PageCharge {
  std::uint32_t page_count = 0;
  FlatMap<std::uint8_t> away;  // By node + 1; empty where the count is not exact.
  static std::uint32_t key(NodeId node) { return static_cast<std::uint32_t>(node) + 1; }
  bool counts(NodeId node) const { return away.find(key(node)) != nullptr; }
};
// Exact where it is above `enough`, which takes a walk over what is away; otherwise an upper bound.
PageCharge charge_of(PageLedger& ledger, ModelResources& resources, std::uint32_t enough);

// Pages that the context had and lacks, and how many of its pages, from the root, are full ones
// that it has or had: whatever it finds for them, its instance is charged with already. O(1).
std::uint32_t away_page_count(const Context& context);
std::uint32_t charged_full_count(const Context& context);

// Pages that swapped contexts are getting back now, and that the instance does not hold yet; each
// counts once. Those of `asking`, if it was swapped too, are not among them.
std::uint32_t coming_page_count(const PageLedger& ledger, const ModelResources& resources,
                                const Context* asking);

// The number of pages that the context's queued tokens fill and that are counted already, because
// other contexts of the instance will have them back. O(the queue), if there are any: it corrects a
// count that would be too high.
std::uint32_t counted_ahead(const Context& context, const PageCharge& charge);

void verify_away(const Context& context);

}  // namespace quire::control
