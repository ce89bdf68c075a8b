// Contexts that were swapped come back.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "control/batches/batch_draft.h"
#include "control/objects/replica.h"
#include "control/transfers/tier_transfers.h"

namespace quire::control {
namespace {

// The error for page `index` of those that the context pins.
Error lost_page(const Context& context, std::size_t index, const PageTiers& tiers) {
  const Error* loss = tiers.loss(context.swapped()->pins[index]);
  std::string message = "page " + std::to_string(context.swapped()->pages[index].index) +
                        " of this context was lost on another tier, and cannot be computed again";
  if (loss != nullptr) message += ": " + std::string(loss->message());
  return Error(ErrorCode::Io, std::move(message));
}

Error unread_page(const Context& context, std::size_t index, Error error) {
  return std::move(error).while_("page " + std::to_string(context.swapped()->pages[index].index) +
                                 " of this context, which stays as it is");
}

}  // namespace

Result<TierTransfers::Fetch> TierTransfers::look_swapped(const Operation& operation) {
  const Context& context = *operation.context;
  if (context.swapped()->error) return context.swapped()->error->copy();
  if (!context.swapped()->has_tail()) return Fetch{.end = FetchEnd::Waits};
  std::uint32_t missing = 0;
  const std::vector<NodeId> nodes = context.swapped()->nodes();
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    const Residency residency = resources_.cache.trie().residency(nodes[index]);
    if (residency == Residency::None && !resources_.tiers.has(nodes[index])) {
      return lost_page(context, index, resources_.tiers);
    }
    missing += residency != Residency::Resident;
  }
  return Fetch{.end = FetchEnd::WantsPages,
               .page_count = missing + context.swapped()->tail_count()};
}

std::vector<NodeId> TierTransfers::hold_here(const Context& context) {
  std::vector<NodeId> held;
  for (const NodeId node : context.swapped()->nodes()) {
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

void TierTransfers::begin_swap_in(Operation& operation, std::vector<NodeId> held,
                                  BatchDraft& draft) {
  Context& context = *operation.context;
  PageCache& cache = resources_.cache;
  SwapIn& swap = swaps_.emplace_back();
  swap.operation = Ref<Operation>(&operation);
  swap.context = Ref<Context>(&context);
  swap.held = std::move(held);
  const std::vector<NodeId> nodes = context.swapped()->nodes();
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    if (cache.is_resident(nodes[index])) continue;
    swap.pending.push_back(index);
    resources_.tiers.take_read_error(nodes[index]);  // Of an earlier try.
  }
  QUIRE_CHECK(cache.take(static_cast<std::uint32_t>(swap.pending.size()), swap.spare),
              "make_room() made too little");
  QUIRE_CHECK(cache.take(context.swapped()->tail_count(), swap.tail),
              "make_room() made too little");
  context.begin_swap_in();
  advance(swap, draft);
  if (!is_done(swap)) return;
  // All of it was in the pool still, or what was not is lost: no batch has to do with it.
  SwapIn done = std::move(swaps_.back());
  swaps_.pop_back();
  std::vector<Ref<Operation>> woken;  // Its operation goes on at once.
  finish(done, woken);
}

bool TierTransfers::continue_swaps(BatchDraft& draft, std::vector<Ref<Operation>>& woken) {
  bool has_let_go = false;
  for (SwapIn& swap : swaps_) has_let_go |= advance(swap, draft);
  return finish_swaps(woken) || has_let_go;
}

bool TierTransfers::is_done(const SwapIn& swap) {
  const bool goes_on = swap.context.get() != nullptr && !swap.error;
  return swap.loading_count == 0 && !(goes_on && (!swap.pending.empty() || !swap.has_tail));
}

bool TierTransfers::finish_swaps(std::vector<Ref<Operation>>& woken) {
  const std::size_t before = swaps_.size();
  for (auto each = swaps_.begin(); each != swaps_.end();) {
    if (!is_done(*each)) {
      ++each;
      continue;
    }
    finish(*each, woken);
    each = swaps_.erase(each);
  }
  return swaps_.size() < before;
}

// Loads what is in memory, as far as the batch has room, and asks the disk for the rest.
bool TierTransfers::advance(SwapIn& swap, BatchDraft& draft) {
  Context* context = swap.context.get();
  if (context == nullptr || swap.error) return false;
  const std::size_t held_before = swap.held.size();
  const auto has_let_go = [&] { return swap.held.size() > held_before; };
  PageCache& cache = resources_.cache;
  PageTiers& tiers = resources_.tiers;
  if (!swap.has_tail) load_tail(swap, *context, draft);
  std::vector<NodeId> to_read;
  for (const std::size_t index : std::exchange(swap.pending, {})) {
    const NodeId node = context->swapped()->pages[index].node;
    const Residency residency = cache.trie().residency(node);
    if (residency == Residency::Resident) {  // Another operation had it computed or brought.
      cache.hold_page(node);
      swap.held.push_back(node);
      cache.release(swap.spare.back());
      swap.spare.pop_back();
      continue;
    }
    swap.pending.push_back(index);
    if (residency == Residency::InFlight) continue;
    if (tiers.is_ready(node) && load_room() > 0) {
      if (begin_load(node, swap.spare.back(), &swap, draft)) {
        loading_.back().index = index;
        ++swap.loading_count;
        swap.spare.pop_back();
        swap.pending.pop_back();
        continue;
      }
    }
    if (!tiers.has(node)) {
      swap.error = lost_page(*context, index, tiers);
      return has_let_go();
    }
    if (std::optional<Error> error = tiers.take_read_error(node)) {
      swap.error = unread_page(*context, index, std::move(*error));
      return has_let_go();
    }
    if (tiers.is_to_be_read(node)) to_read.push_back(node);
  }
  // Pages that were read, and have to wait for the next batch, must not give way to those read now.
  if (to_read.empty() || load_room() == 0 || read(to_read) || swap.loading_count > 0) {
    return has_let_go();
  }
  const Error* why = writes_.empty() ? tiers.staging_blocked_by() : nullptr;
  if (why != nullptr) {
    swap.error = Error(ErrorCode::Unavailable,
                       "no memory to read this context's pages into, which stay as they are: pages "
                       "that the disk does not take fill it: " +
                           std::string(why->message()));
  }
  return has_let_go();
}

void TierTransfers::load_tail(SwapIn& swap, Context& context, BatchDraft& draft) {
  const std::size_t count = context.swapped()->tail.size();
  if (count > load_room() && !loading_.empty()) return;
  swap.has_tail = true;
  for (std::size_t each = 0; each < count; ++each) {
    draft.add_load(*this, {.page = swap.tail[each], .bytes = context.take_tail_page(each)});
    loading_.push_back({.page = swap.tail[each], .swap = &swap});
    ++swap.loading_count;
  }
}

void TierTransfers::end_load(const Load& load, PageBytes bytes, Result<void> outcome) {
  PageCache& cache = resources_.cache;
  SwapIn& swap = *load.swap;
  --swap.loading_count;
  if (load.node == kNoNode) {
    swap.tail_bytes.push_back(std::move(bytes));
  } else {
    resources_.tiers.give_bytes(load.node, load.transfer, std::move(bytes), outcome.ok());
    if (outcome.ok() && cache.trie().node_of(load.page) != kNoNode) {
      cache.land(load.page);
      swap.held.push_back(load.node);
    } else {
      cache.unclaim(load.page);
      swap.spare.push_back(load.page);
      swap.pending.push_back(load.index);
    }
  }
  if (!outcome.ok() && !swap.error) swap.error = std::move(outcome).take_error();
}

void TierTransfers::finish(SwapIn& swap, std::vector<Ref<Operation>>& woken) {
  PageCache& cache = resources_.cache;
  Context* context = swap.context.get();
  Operation* operation = swap.operation.get();
  for (const PageId page : swap.spare) cache.release(page);
  if (context != nullptr) context->end_swap_in();
  if (context != nullptr && !swap.error) {
    context->swap_in(std::exchange(swap.tail, {}));
  } else {
    for (const PageId page : swap.tail) cache.release(page);
    if (context != nullptr && context->swapped()) {
      for (std::size_t each = 0; each < swap.tail_bytes.size(); ++each) {
        context->give_tail_page(each, std::move(swap.tail_bytes[each]));
      }
    }
  }
  drop_here(swap.held);
  if (operation == nullptr) return;
  if (swap.error) operation->error = std::move(*swap.error);
  woken.push_back(swap.operation);
}

}  // namespace quire::control
