// Suspension, when pages run out: contexts that other operations can do without give theirs up, and
// come back later.
//
// No instance is killed, unless WhenFull::FcfsKill asks for it (fcfs_kill.cc). For an operation
// that lacks pages, contexts are suspended until there are enough, in three steps. First come those
// of instances that have nothing to compute, longest unused first. Then come those of less
// important instances: lower priority, then newer. Last come those of its own instance that no
// operation waits for. Among less important instances, those of the tenant that holds most for its
// weight give way first. Waiters are served in order of importance too (Importance), so the most
// important instance that has work always goes on. A suspended context does not come back while a
// more important operation waits. Only importance decides which instance may take pages from
// another, because it never changes. Shares do change: if they decided, two tenants could take
// pages from each other forever. Pages that are shared with a context that stays do not help, and
// cost nothing. If there is a tier, the pages that were given up go there (tier_transfers.h).
//
// The look for contexts walks all of them. If it found too few for an instance, it is not repeated
// for that instance at the same or a lower priority before the next build, or before a batch or the
// disk is done. Pages that are free by then are found without it.
#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "control/room/page_room.h"

namespace quire::control {
namespace {

// A guest thinks between two steps; only one that let a whole batch pass has nothing to compute.
constexpr std::uint64_t kIdleBatchCount = 2;

bool is_waited_for(const Context& context) {
  const Operation* last = context.last_operation.get();
  return last != nullptr && last->context == &context;
}

}  // namespace

// Whether the operation may have the context's pages, as far as importance goes.
std::optional<PageRoom::Victim> PageRoom::victim_of(const Operation& operation,
                                                    Context& context) const {
  if (context.replica() != &replica_ || &context == operation.context ||
      &context == operation.child) {
    return std::nullopt;
  }
  const Instance& instance = *context.instance();
  const auto priority = static_cast<std::uint8_t>(context.queue()->priority);
  if (&instance == operation.instance) {
    if (is_waited_for(context)) return std::nullopt;
    return Victim{Rank::Own, 0, priority, context.use().batch, &context};
  }
  const bool is_idle = instance.unfinished.operation_count == 0 &&
                       context.use().batch + kIdleBatchCount <= replica_.batch();
  if (is_idle) return Victim{Rank::Idle, 0, 0, context.use().batch, &context};
  const auto own = static_cast<std::uint8_t>(operation.queue != nullptr ? operation.queue->priority
                                                                        : Priority::Normal);
  if (priority < own || (priority == own && instance.order > operation.instance->order)) {
    const double page_load = replica_.share(instance).page_load;
    return Victim{Rank::LessImportant, page_load, priority, ~instance.order, &context};
  }
  return std::nullopt;
}

// Pages that each tenant holds, over its weight.
void PageRoom::count_tenant_pages() const {
  for (const auto& [order, instance] : table_.instances) replica_.share(*instance).page_load = 0;
  for (const auto& [order, instance] : table_.instances) {
    FairShare& share = replica_.share(*instance);
    share.page_load += replica_.ledger(*instance).page_count() / share.weight;
  }
}

std::vector<Context*> PageRoom::suspendable(const Operation& operation) const {
  count_tenant_pages();
  std::vector<Victim> victims;
  for (const auto& [order, instance] : table_.instances) {
    for (Context* context : instance->contexts) {
      const std::optional<Victim> victim = victim_of(operation, *context);
      if (!victim) continue;
      // Whether a tier has room for it is asked of the one that is chosen: it takes a walk.
      if (!context->can_suspend() && !context->may_swap()) continue;
      victims.push_back(*victim);
    }
  }
  std::stable_sort(victims.begin(), victims.end(), [](const Victim& left, const Victim& right) {
    return std::tuple(left.rank, -left.page_load, left.priority, left.order) <
           std::tuple(right.rank, -right.page_load, right.priority, right.order);
  });
  std::vector<Context*> contexts;
  for (const Victim& each : victims) contexts.push_back(each.context);
  return contexts;
}

void PageRoom::suspend(Context& context) {
  if (context.can_suspend()) {
    context.suspend();
    tiers_.keep_cold(context);
  } else {
    tiers_.swap_out(context);
    ++replica_.counts.swap_count;
  }
  ++replica_.counts.suspension_count;
}

bool PageRoom::make_room(const Operation& operation, std::uint32_t count, bool is_building) {
  PageCache& cache = replica_.resources.cache;
  // A page that must be saved before it goes can only go by a batch.
  const bool needs_batch = tiers_.is_on() && !is_building;
  if (needs_batch && cache.pool().free_count() < count) {
    table_.wakeup.notify();
    return false;
  }
  if (cache.make_room(count)) return true;
  if (options_.when_full == WhenFull::FcfsKill) {
    choose_loser(operation, count, is_building);
    return false;
  }
  const bool comes_soon =
      (turn_.has_suspended || tiers_.save_count() > 0) && cache.available_soon() >= count;
  if (count > cache.page_count() || comes_soon) return false;
  if (has_searched_for(operation)) {
    turn_.has_spared_search = true;
    return false;
  }
  return suspend_for(operation, count);
}

bool PageRoom::suspend_for(const Operation& operation, std::uint32_t count) {
  ModelResources& resources = replica_.resources;
  ++replica_.counts.shortage.search_count;
  for (Context* context : suspendable(operation)) {
    // The contexts before it may have taken the room that there was on the tiers.
    if (!context->can_suspend()) {
      if (!context->can_swap()) continue;
      if (!tiers_.can_swap_out()) return false;  // With the next batch.
    }
    suspend(*context);
    // Pages let go while a batch is built may be touched by it, for all that is known: they are
    // free for the next one.
    turn_.has_suspended = true;
    if (resources.cache.make_room(count)) return true;
    if (resources.cache.available_soon() >= count) return false;
  }
  note_search(operation);
  return false;
}

bool PageRoom::has_searched_for(const Operation& operation) const {
  const Importance importance = importance_of(operation);
  return vain_search_.instance_order == importance.instance_order &&
         vain_search_.below_high <= importance.below_high;
}

// Remembers a failed search only if every other operation of this instance would have searched the
// same contexts. A search skips the operation's own context and child. Skipping the context makes
// no difference while an operation waits for it, because such a context is never suspended.
void PageRoom::note_search(const Operation& operation) {
  const bool leaves_out_others = operation.child != nullptr || (operation.context != nullptr &&
                                                                !is_waited_for(*operation.context));
  if (!leaves_out_others) vain_search_ = importance_of(operation);
}

}  // namespace quire::control
