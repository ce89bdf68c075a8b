// The published answer to a full pool, by name: first come, first served. The instance that started
// last and holds pages ends, even if it is the one that asks; the one that wants pages counts as
// one that holds some.
//
// One instance ends at a time: its pages may be enough, and pages that a batch touches are free
// only after that. It ends after the build, because a batch under construction may already name its
// pages and its page table.
#include <string>

#include "control/room/page_room.h"

namespace quire::control {

void PageRoom::choose_loser(const Operation& operation, std::uint32_t count, bool is_building) {
  // Asking for more pages than the pool has is an error of the operation alone, and no instance
  // ends for it.
  if (!is_building || loser_ || count > replica_.resources.cache.page_count()) return;
  if (replica_.resources.cache.available_soon() >= count) {
    turn_.has_suspended = true;
    return;
  }
  const Instance* newest = operation.instance;
  std::uint32_t holder_count = 0;
  for (const auto& [order, instance] : table_.instances) {
    const bool holds = replica_.ledger(*instance).page_count() > 0;
    holder_count += holds ? 1 : 0;
    if (holds && order > newest->order) newest = instance.get();
  }
  const Error numbers = no_free_page(*newest, count);
  loser_ = Loser{.instance = newest->id,
                 .error = Error(ErrorCode::NoFreePage,
                                "fcfs-kill ended this instance, the last to start of " +
                                    std::to_string(holder_count) + " that hold KV pages, for " +
                                    (newest == operation.instance ? "itself" : "an older one") +
                                    ": " + std::string(numbers.message()))};
}

}  // namespace quire::control
