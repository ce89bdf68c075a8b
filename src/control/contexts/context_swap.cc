#include "control/contexts/context_swap.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context_parts.h"

namespace quire::control {
namespace {

std::vector<NodeId> nodes_of(const std::vector<WindowPage>& pages) {
  std::vector<NodeId> nodes;
  for (const WindowPage& page : pages) nodes.push_back(page.node);
  return nodes;
}

}  // namespace

bool may_swap(const Context& context, const ModelResources& resources) {
  if (!is_idle(context) || is_plain(context) || !resources.tiers.is_on()) return false;
  if (context.tail.empty() && held_committed_count(context) == 0) return false;
  const std::uint32_t tail = written_tail_count(context, page_size_of(resources));
  return resources.swapped_tails.may_take(context.instance->tenant, tail);
}

bool can_swap(const Context& context, const ModelResources& resources) {
  return may_swap(context, resources) &&
         resources.tiers.can_pin(context.instance->tenant,
                                 nodes_of(held_pages(context, resources.cache)));
}

namespace {

// Each page of `swapped` is pinned on a tier; those that no tier has are saved.
void pin_pages(SwappedContext& swapped, ModelResources& resources, TenantId tenant,
               std::vector<SwapSave>& saves) {
  PageCache& cache = resources.cache;
  // What is there already must not give way to what comes.
  swapped.pins.resize(swapped.pages.size());
  std::vector<std::size_t> leaving;
  for (std::size_t index = 0; index < swapped.pages.size(); ++index) {
    const NodeId node = swapped.pages[index].node;
    if (resources.tiers.has(node)) {
      swapped.pins[index] = resources.tiers.pin(tenant, node);
    } else {
      leaving.push_back(index);
    }
  }
  // Host memory takes those that come first, and there are some that it alone can take.
  std::stable_partition(leaving.begin(), leaving.end(), [&](std::size_t index) {
    return !resources.tiers.fits_disk(swapped.pages[index].node);
  });
  for (const std::size_t index : leaving) {
    const WindowPage& page = swapped.pages[index];
    const std::optional<TransferId> transfer = resources.tiers.leave(page.node);
    QUIRE_CHECK(transfer.has_value(), "can_pin() promised too much");
    swapped.pins[index] = resources.tiers.pin(tenant, page.node);
    saves.push_back({.page = cache.page_of(page.node),
                     .slots = cache.visible_slots(page.node),
                     .node = page.node,
                     .transfer = *transfer});
  }
}

// All that it holds of the pool is let go.
void release_all(Context& context, ModelResources& resources, PageLedger& ledger) {
  PageCache& cache = resources.cache;
  release_tail(context, resources, ledger, 0);
  for (const WindowPage& page : context.window) {
    ledger.release(cache.page_of(page.node));
    cache.drop_page(page.node, {.hint = EvictionHint::WillResume});
  }
  context.window.clear();
  ledger.release_chain(cache, context.anchor);
  cache.drop(context.anchor, {.hint = EvictionHint::WillResume});
  context.anchor = kNoNode;
  context.anchor_count = 0;
}

}  // namespace

void swap_out(Context& context, ModelResources& resources, PageLedger& ledger,
              std::vector<SwapSave>& saves) {
  QUIRE_CHECK(can_swap(context, resources), "swapped what cannot be");
  note_away(context, resources, ledger);
  PageCache& cache = resources.cache;
  const std::uint32_t page_size = page_size_of(resources);
  const TenantId tenant = context.instance->tenant;
  auto swapped = std::make_unique<SwappedContext>();
  swapped->pages = held_pages(context, cache);
  swapped->anchor_count = context.anchor_count;
  swapped->reserved_count = context.reserved_count;
  pin_pages(*swapped, resources, tenant, saves);
  const std::uint32_t tail = written_tail_count(context, page_size);
  for (std::uint32_t index = 0; index < tail; ++index) {
    const PageId page = context.tail[index];
    const bool is_held = cache.is_shared_tail(page);
    if (is_held) cache.retain(page);
    saves.push_back({.page = page,
                     .slots = visible_tail_slots(context, page_size, index),
                     .tail_index = index,
                     .is_held = is_held});
  }
  swapped->tail.resize(tail);
  resources.swapped_tails.take(tenant, tail);
  context.lost_count = std::exchange(context.written_count, 0);
  swapped->written_count = context.lost_count;
  release_all(context, resources, ledger);
  context.is_suspended = true;
  context.swapped = std::move(swapped);
  resources.sequences.release(context);
}

std::vector<NodeId> swapped_nodes(const Context& context) {
  return nodes_of(context.swapped->pages);
}

bool has_swapped_tail(const Context& context) {
  return std::all_of(context.swapped->tail.begin(), context.swapped->tail.end(),
                     [](const TailBytes& bytes) { return bytes != nullptr; });
}

void swap_in(Context& context, ModelResources& resources, PageLedger& ledger,
             std::vector<PageId> tail) {
  PageCache& cache = resources.cache;
  const SwappedContext& swapped = *context.swapped;
  context.anchor_count = swapped.anchor_count;
  context.anchor = swapped.anchor_count == 0 ? cache.root_of(context.head)
                                             : swapped.pages[swapped.anchor_count - 1].node;
  cache.hold(context.anchor);
  ledger.acquire_chain(cache, context.anchor);
  for (std::size_t index = swapped.anchor_count; index < swapped.pages.size(); ++index) {
    const WindowPage& page = swapped.pages[index];
    cache.hold_page(page.node);
    ledger.acquire(cache.page_of(page.node));
    context.window.push_back(page);
  }
  context.tail = std::move(tail);
  for (const PageId page : context.tail) ledger.acquire(page);
  context.reserved_count = swapped.reserved_count;
  context.written_count = swapped.written_count;
  context.lost_count = 0;
  context.is_suspended = false;
  unpin_swapped(context, resources);
}

PageBytes take_tail_page(Context& context, std::size_t index) {
  TailBytes& bytes = context.swapped->tail[index];
  if (bytes.use_count() > 1) return bytes->copy();  // A fork is to come back too.
  return std::move(*std::exchange(bytes, nullptr));
}

void give_tail_page(Context& context, std::size_t index, PageBytes bytes) {
  TailBytes& kept = context.swapped->tail[index];
  if (kept == nullptr) kept = std::make_shared<PageBytes>(std::move(bytes));
}

void unpin_swapped(Context& context, ModelResources& resources) {
  if (!context.swapped) return;
  const auto last = std::count_if(context.swapped->tail.begin(), context.swapped->tail.end(),
                                  [](const TailBytes& bytes) { return bytes.use_count() <= 1; });
  const TenantId tenant = context.instance->tenant;
  resources.swapped_tails.give(tenant, static_cast<std::uint64_t>(last));
  for (std::size_t index = 0; index < context.swapped->pages.size(); ++index) {
    resources.tiers.unpin(tenant, context.swapped->pages[index].node, context.swapped->pins[index]);
  }
  context.swapped.reset();
}

void fork_swapped(const Context& context, Context& child, ModelResources& resources) {
  const SwappedContext& from = *context.swapped;
  auto swapped = std::make_unique<SwappedContext>();
  swapped->pages = from.pages;
  swapped->pins = from.pins;
  swapped->anchor_count = from.anchor_count;
  swapped->written_count = from.written_count;
  for (std::size_t index = 0; index < from.pages.size(); ++index) {
    // A fork is its parent's tenant's.
    swapped->pins[index] = resources.tiers.pin_again(context.instance->tenant,
                                                     from.pages[index].node, from.pins[index]);
  }
  if (from.error) {
    swapped->error = from.error->copy();
  } else {
    swapped->tail = from.tail;
  }
  child.swapped = std::move(swapped);
}

}  // namespace quire::control
