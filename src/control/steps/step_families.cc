#include "control/steps/step_families.h"

namespace quire::control {

StepFamilies::StepFamilies(Replica& replica, OperationTable& table, MatcherJobs& jobs,
                           const StepOptions& options)
    : ready(replica, options.decode_row_count_max),
      tiers(replica.resources, table, replica.store,
            CostModel(replica.backend.capabilities().page_bytes, options.costs)),
      quota(replica),
      room(replica, table, tiers, turn, options.room),
      slots(replica, table, turn),
      tools{replica, table, quota, room, slots, ready, turn},
      draws(tools, jobs),
      contexts(tools, tiers, draws),
      forwards(tools),
      reads(tools, draws),
      matchers(tools, jobs),
      pages(tools, contexts),
      store(tools, contexts),
      host(tools, contexts, tiers) {
  by_family[place_of(Family::Host)] = &host;
  by_family[place_of(Family::Page)] = &pages;
  by_family[place_of(Family::Context)] = &contexts;
  by_family[place_of(Family::Forward)] = &forwards;
  by_family[place_of(Family::Read)] = &reads;
  by_family[place_of(Family::Matcher)] = &matchers;
  by_family[place_of(Family::Store)] = &store;
  if (tiers.is_on()) replica.resources.cache.set_eviction_sink(&tiers);
}

}  // namespace quire::control
