#include "control/steps/context_return.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/contexts/away_pages.h"
#include "control/contexts/context_fetch.h"

namespace quire::control {

std::optional<Attempt> ContextReturn::fetch(Operation& operation, std::uint32_t page_count_max,
                                            BatchDraft& draft) {
  if (!tiers_.is_on()) return std::nullopt;
  const Context& context = *operation.context;
  const std::uint32_t longest = std::min({page_count_max, TierTransfers::kLoadsPerBatch,
                                          std::max(resources().cache.page_count() / 2, 1u)});
  const std::vector<NodeId> run = find_on_tiers(context, longest);
  const TierTransfers::Fetch fetch = tiers_.look(run);
  switch (fetch.end) {
    case TierTransfers::FetchEnd::Compute:
      return std::nullopt;
    case TierTransfers::FetchEnd::Waits:
      return Attempt::Later;
    case TierTransfers::FetchEnd::WantsPages:
      break;
  }
  const std::uint32_t count = std::min(fetch.page_count, tiers_.load_room());
  if (count == 0) return Attempt::Later;  // With the next batch.
  if (!tools_.room.can_take(operation, count, true)) return tools_.room.want(operation, count);
  operation.wanted_page_count = 0;
  // Pages that left for these may have taken their place on the tier.
  const std::vector<NodeId> left = find_on_tiers(context, count);
  if (tiers_.load(left, tiers_.ready_count(left), draft) == 0) {
    tools_.turn.has_sliced = true;  // Look again, though no batch comes.
  }
  return Attempt::Later;
}

std::optional<Attempt> ContextReturn::bring_swapped(Operation& operation, BatchDraft* draft) {
  const Context& context = *operation.context;
  if (!context.swapped()) return std::nullopt;
  if (context.is_in_flight() || draft == nullptr) return Attempt::Later;
  Result<TierTransfers::Fetch> look = tiers_.look_swapped(operation);
  if (!look.ok()) return steps_.fail(operation, std::move(look).take_error());
  if (look.value().end == TierTransfers::FetchEnd::Waits) return Attempt::Later;
  const std::uint32_t wanted = look.value().page_count;
  std::vector<NodeId> here = tiers_.hold_here(context);
  const auto unheld = std::count_if(here.begin(), here.end(), [&](NodeId node) {
    return !ledger(operation).holds(resources().cache.page_of(node));
  });
  Result<void> quota = tools_.quota.may_hold(*operation.instance,
                                             wanted + static_cast<std::uint32_t>(unheld), &context);
  if (!quota.ok() || !tools_.room.can_take(operation, wanted, true)) {
    tiers_.drop_here(here);
    if (quota.ok()) return tools_.room.want(operation, wanted);
    if (others_go_on(operation)) return Attempt::Later;
    return steps_.fail(operation, std::move(quota).take_error());
  }
  operation.wanted_page_count = 0;
  tiers_.begin_swap_in(operation, std::move(here), *draft);
  if (context.is_in_flight()) return Attempt::Blocked;
  if (operation.error)
    return steps_.fail(operation, std::move(*std::exchange(operation.error, {})));
  return std::nullopt;
}

// Finds, or fetches, whole pages of lost tokens, and no other pages: the program's queued tokens
// are not to be written yet.
std::optional<Attempt> ContextReturn::find_lost(Operation& operation, BatchDraft& draft) {
  Context& context = *operation.context;
  const std::uint32_t page_size = this->page_size();
  const auto lost_pages = [&] {
    return (context.tokens().written_count() + context.tokens().lost_count()) / page_size;
  };
  if (lost_pages() == 0) return std::nullopt;
  const FindResult found = context.find_queued(tools_.quota.of(*operation.instance), lost_pages());
  replica().counts.found_token_count += found.reused_count;
  if (found.end == FindEnd::Claimed) return Attempt::Later;
  if (found.end == FindEnd::Quota)
    return steps_.fail(operation, tools_.quota.beyond(*operation.instance, 1));
  if (lost_pages() == 0) return std::nullopt;
  return fetch(operation, lost_pages(), draft);
}

bool ContextReturn::others_go_on(const Operation& operation) const {
  for (const Operation* each = operation.instance->unfinished.first; each != nullptr;
       each = each->instance_next) {
    const Context* context = each->context;
    if (each->replica != &replica() || context == nullptr || context == operation.context) continue;
    if (context->is_in_flight()) return true;
    const bool has_begun = each->state == OperationState::Ready && each->is_started &&
                           computes_context(*each) && !context->is_suspended();
    if (has_begun && context->pages_wanted(context->tokens().queued_count()) == 0) return true;
  }
  return false;
}

void ContextReturn::resume(Context& context) {
  if (!context.is_suspended()) return;
  Instance& instance = *context.instance();
  context.resume(tools_.quota.of(instance));
  replica().counts.lost_token_count += context.tokens().lost_count();
}

}  // namespace quire::control
