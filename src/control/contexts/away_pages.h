#pragma once
// Away pages: those that contexts had and gave up to a suspension. A quota counts them as if they
// had stayed, so that what a program may do does not depend on who else wants the pool, and a
// context that takes its own back is never beyond the quota.
//
// A page counts once, whether it is held or several contexts of the instance are to have it back.
// Pages of tails have no names, so those count for each context: forks that shared one have a copy
// each when they are back. So held and away may be more than the quota, by a page for each such
// fork; what is held never is: the fork that has no room left for its copy is refused it, as one
// that stayed and writes is.
//
// The PageLedger knows which contexts these are. One that has all its pages again stays known until
// the next count.
//
// Thread   engine thread only.
//
// Invariants, checked by verify_away():
//   A1  A context that lacks pages is known to its ledger, at the place that the context says.
//   A2  The full pages that it lacks lie on the chain of away_head, which is held by name, and one
//       that is suspended for the first time on that of its head.
#include <cstdint>

#include "control/contexts/context.h"

namespace quire::control {

// Pages that it had and lacks. O(1).
std::uint32_t away_page_count(const Context& context, std::uint32_t page_size);
// How many of its pages, from the root, are full ones that it has or had: whatever it finds for
// them it is charged with already.
std::uint32_t charged_full_count(const Context& context, std::uint32_t page_size);

// Pages that an instance holds or has away, each once.
struct PageCharge {
  std::uint32_t page_count = 0;
  FlatMap<std::uint8_t> away;  // By node + 1; empty where the count is not exact.
  static std::uint32_t key(NodeId node) { return static_cast<std::uint32_t>(node) + 1; }
  bool counts(NodeId node) const { return away.find(key(node)) != nullptr; }
};
// Exact where it is above `enough`, which takes a walk over what is away; otherwise an upper bound.
PageCharge charge_of(PageLedger& ledger, ModelResources& resources, std::uint32_t enough);

// Pages that nobody of the instance holds yet, and that contexts which were swapped are getting
// back now, each once. Those of `asking`, if it was swapped too, are not among them.
std::uint32_t coming_page_count(const PageLedger& ledger, const ModelResources& resources,
                                const Context* asking);

// Returns how many of the pages that this context is about to fill are already charged, because
// another suspended context of the instance will get the same pages back. Walks the queue, so call
// it only if the quota would otherwise be exceeded.
std::uint32_t counted_ahead(const Context& context, const ModelResources& resources,
                            const PageCharge& charge);

// The context is being suspended: it may lack pages from now on.
void note_away(Context& context, ModelResources& resources, PageLedger& ledger);
// It is back without all that it had: `head` names what it lacks. Takes over the hold on the name.
void keep_away_head(Context& context, ModelResources& resources, NodeId head, std::uint32_t count);
// `child` lacks what `context` lacks.
void fork_away(const Context& context, Context& child, ModelResources& resources,
               PageLedger& ledger);
// It lacks nothing, or ends.
void forget_away(Context& context, ModelResources& resources, PageLedger& ledger);

void verify_away(const Context& context, const PageLedger& ledger, const ModelResources& resources);

}  // namespace quire::control
