// Contexts that were swapped come back: all of their pages in one batch.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/scheduler/tier_transfers.h"

namespace quire::control {

Result<TierTransfers::Fetch> TierTransfers::look_swapped(const Operation& operation) {
  const Context& context = *operation.context;
  const PageTiers& tiers = resources_.tiers;
  if (context.swapped->error) return context.swapped->error->copy();
  if (!has_swapped_tail(context)) return Fetch{.end = FetchEnd::Waits};
  std::uint32_t missing = 0;
  bool waits = false;
  std::vector<NodeId> to_read;
  for (const auto& [index, node] : context.swapped->pages) {
    const Residency residency = resources_.cache.trie().residency(node);
    if (residency == Residency::Resident) continue;
    ++missing;
    if (residency == Residency::InFlight) {
      waits = true;
    } else if (!tiers.has(node)) {
      return Error(ErrorCode::Io, "page " + std::to_string(index) +
                                      " of this context was lost on its way to or from another "
                                      "tier, and cannot be computed again");
    } else if (tiers.is_to_be_read(node)) {
      to_read.push_back(node);
    } else if (!tiers.is_ready(node)) {
      waits = true;
    }
  }
  if (!to_read.empty()) read(to_read);
  if (waits || !to_read.empty()) return Fetch{.end = FetchEnd::Waits};
  return Fetch{.end = FetchEnd::WantsPages, .page_count = missing + swapped_tail_count(context)};
}

std::vector<NodeId> TierTransfers::hold_here(const Context& context) {
  std::vector<NodeId> held;
  for (const NodeId node : swapped_nodes(context)) {
    if (!resources_.cache.is_resident(node)) continue;
    resources_.cache.hold_page(node);
    held.push_back(node);
  }
  return held;
}

void TierTransfers::drop_here(const std::vector<NodeId>& held) {
  for (const NodeId node : held) {
    resources_.cache.drop_page(node, {.hint = EvictionHint::WillResume});
  }
}

void TierTransfers::load_swapped(Operation& operation, std::vector<NodeId> held,
                                 inference::Batch& batch) {
  Context& context = *operation.context;
  PageCache& cache = resources_.cache;
  const std::size_t loads_before = batch.loads.size();
  const auto index = static_cast<std::uint32_t>(swaps_.size());
  SwapIn& swap = swaps_.emplace_back();
  swap.operation = Ref<Operation>(&operation);
  swap.context = Ref<Context>(&context);
  swap.held = std::move(held);
  QUIRE_CHECK(cache.take(swapped_tail_count(context), swap.tail), "make_room() made too little");
  for (const auto& [page, node] : context.swapped->pages) {
    if (cache.is_resident(node)) continue;
    QUIRE_CHECK(cache.take(1, swap.nodes), "make_room() made too little");
    if (begin_load(node, swap.nodes.back(), index, batch)) continue;
    cache.release(swap.nodes.back());
    swap.nodes.pop_back();
    swap.error = Error(ErrorCode::Corrupted, "page " + std::to_string(page) +
                                                 " of this context was damaged in host memory, and "
                                                 "cannot be computed again");
  }
  for (std::size_t each = 0; each < context.swapped->tail.size(); ++each) {
    batch.loads.push_back({.page = swap.tail[each], .bytes = take_tail_page(context, each)});
    loading_.push_back({.page = swap.tail[each], .swap = index});
  }
  context.is_in_flight = true;
  if (batch.loads.size() > loads_before) return;
  // All of it was in the pool still, or what was not is damaged: no batch has to do with it.
  SwapIn done = std::move(swaps_.back());
  swaps_.pop_back();
  std::vector<Ref<Operation>> ready;  // Its operation goes on at once.
  finish(done, ready);
}

void TierTransfers::finish(SwapIn& swap, std::vector<Ref<Operation>>& ready) {
  PageCache& cache = resources_.cache;
  Context* context = swap.context.get();
  Operation* operation = swap.operation.get();
  const bool is_back = context != nullptr && context->swapped && !swap.error;
  std::vector<NodeId> landed;
  for (const PageId page : swap.nodes) {
    if (!swap.error && cache.trie().node_of(page) != kNoNode) {
      landed.push_back(cache.trie().node_of(page));
      cache.land(page);
    } else {
      cache.unclaim(page);
      cache.release(page);
    }
  }
  if (is_back) {
    context->is_in_flight = false;
    PageLedger& ledger = context->instance->ledgers[static_cast<std::size_t>(disk_.model())];
    swap_in(*context, resources_, ledger, std::exchange(swap.tail, {}));
  } else {
    for (const PageId page : swap.tail) cache.release(page);
    if (context != nullptr && context->swapped) {
      context->is_in_flight = false;
      for (std::size_t each = 0; each < swap.tail_bytes.size(); ++each) {
        give_tail_page(*context, each, std::move(swap.tail_bytes[each]));
      }
    }
  }
  drop_here(landed);
  drop_here(swap.held);
  if (operation == nullptr) return;
  if (swap.error) operation->error = std::move(*swap.error);
  ready.push_back(swap.operation);
}

}  // namespace quire::control
