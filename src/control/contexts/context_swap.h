#pragma once
// Swapping: a context gives its pages up to a tier, and takes the very bytes back.
//
// It is how a context is suspended whose tokens alone do not give its bits: one that dropped slots,
// or has an opaque page. What context_suspend.h says of the others holds here too, except that
// nothing is lost: its committed pages are pinned on a tier until they are back, and those of its
// tail, which have no names, lie in memory here, their written slots alone, once for all forks. A
// tenant has a share of that memory, and of the places on the tiers (tenant_shares.h). It comes
// back when the pool has room for all of it: no two contexts wait for one another with half of
// their pages each.
//
// While the pages are on their way back the context is in flight, and still suspended.
//
// Thread   engine thread only.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "control/contexts/context.h"

namespace quire::control {

// Whether it is one to be swapped, because it cannot be suspended without. O(1).
bool may_swap(const Context& context, const ModelResources& resources);
// And whether the tiers have room for it now. O(its pages).
bool can_swap(const Context& context, const ModelResources& resources);

// Its pages, in the batch being built. Requires: can_swap(). Appended to `saves`: a committed page
// that is on no tier yet goes to one; a page of the tail comes to the context itself.
struct SwapSave {
  inference::PageId page{};
  std::uint32_t slots = inference::kAllSlots;
  NodeId node = kNoNode;  // kNoNode: of the tail,
  std::uint32_t tail_index = 0;
  TransferId transfer = kNoTransfer;
  // One that a fork has too, which could write it before it is saved: there is a hold on it, which
  // the caller gives back when it is.
  bool is_held = false;
};
void swap_out(Context& context, ModelResources& resources, PageLedger& ledger,
              std::vector<SwapSave>& saves);

// The committed pages that must be in the pool, root first.
std::vector<NodeId> swapped_nodes(const Context& context);
// Whether all pages of its tail have come.
bool has_swapped_tail(const Context& context);
// Working pages that it needs beside those.
inline std::uint32_t swapped_tail_count(const Context& context) {
  return std::max(static_cast<std::uint32_t>(context.swapped->tail.size()),
                  context.swapped->reserved_count);
}

// All committed pages are in the pool, and `tail` are its working pages, with the bytes of the tail
// in the first of them; the context has a hold on each of these. Nobody else's holds are used up.
void swap_in(Context& context, ModelResources& resources, PageLedger& ledger,
             std::vector<PageId> tail);

// The bytes of page `index` of its tail, to be loaded; give_tail_page() where they were not.
inference::PageBytes take_tail_page(Context& context, std::size_t index);
void give_tail_page(Context& context, std::size_t index, inference::PageBytes bytes);

// `child` needs what `context` needs. Requires: has_swapped_tail(), or an error.
void fork_swapped(const Context& context, Context& child, ModelResources& resources);
// Of a context that ends, or has its pages back.
void unpin_swapped(Context& context, ModelResources& resources);

}  // namespace quire::control
