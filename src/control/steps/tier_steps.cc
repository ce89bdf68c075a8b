// Pages that an operation needs and a tier has.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/contexts/context_fetch.h"
#include "control/scheduler/scheduler.h"

namespace quire::control {

std::optional<Scheduler::Attempt> Scheduler::fetch(Operation& operation,
                                                   std::uint32_t page_count_max) {
  if (!tiers_.is_on()) return std::nullopt;
  const Context& context = *operation.context;
  const std::uint32_t longest = std::min({page_count_max, TierTransfers::kLoadsPerBatch,
                                          std::max(resources_.cache.page_count() / 2, 1u)});
  const std::vector<NodeId> run = find_on_tiers(context, resources_, longest);
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
  if (!can_take(operation, count)) return want_pages(operation, count);
  operation.wanted_page_count = 0;
  // What had to leave for these pages may have taken their place on the tier.
  const std::vector<NodeId> left = find_on_tiers(context, resources_, count);
  const std::size_t before = batch_.loads.size();
  tiers_.load(left, tiers_.ready_count(left), batch_);
  note_loads(true);
  if (batch_.loads.size() == before) has_sliced_ = true;  // Look again, though no batch comes.
  return Attempt::Later;
}

std::optional<Scheduler::Attempt> Scheduler::restore_swapped(Operation& operation) {
  const Context& context = *operation.context;
  if (!context.swapped) return std::nullopt;
  if (context.is_in_flight || !is_building_) return Attempt::Later;
  Result<TierTransfers::Fetch> look = tiers_.look_swapped(operation);
  if (!look.ok()) return fail(operation, std::move(look).take_error());
  if (look.value().end == TierTransfers::FetchEnd::Waits) return Attempt::Later;
  const std::uint32_t wanted = look.value().page_count;
  std::vector<NodeId> here = tiers_.hold_here(context);
  const auto unheld = std::count_if(here.begin(), here.end(), [&](NodeId node) {
    return !ledger(*operation.instance).holds(resources_.cache.page_of(node));
  });
  Result<void> quota =
      check_quota(*operation.instance, wanted + static_cast<std::uint32_t>(unheld), &context);
  if (!quota.ok() || !can_take(operation, wanted)) {
    tiers_.drop_here(here);
    if (quota.ok()) return want_pages(operation, wanted);
    if (others_go_on(operation)) return Attempt::Later;
    return fail(operation, std::move(quota).take_error());
  }
  operation.wanted_page_count = 0;
  tiers_.begin_swap_in(operation, std::move(here), batch_);
  note_loads(true);
  if (context.is_in_flight) return Attempt::Blocked;
  if (operation.error) return fail(operation, std::move(*std::exchange(operation.error, {})));
  return std::nullopt;
}

}  // namespace quire::control
