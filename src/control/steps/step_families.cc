#include "control/steps/step_families.h"

#include <utility>

namespace quire::control {

StepFamilies::StepFamilies(Replica& replica, OperationTable& table, MatcherJobs& jobs,
                           const StepOptions& options)
    : ready(replica, options.decode_row_count_max),
      tiers(replica.resources, table, replica.store,
            CostModel(replica.backend.capabilities().page_bytes, options.costs)),
      state_loads(replica.resources, table, replica.store),
      quota(replica),
      room(replica, table, tiers, turn, options.room),
      slots(replica, table, turn),
      tools{replica, table, quota, room, slots, ready, turn},
      draws(tools, jobs),
      contexts(tools, tiers, state_loads, draws),
      forwards(tools),
      reads(tools, draws),
      matchers(tools, jobs),
      pages(tools, contexts),
      store(tools, contexts),
      host(tools, contexts, tiers),
      // The tiers first, because a context may be about to want the pages.
      transfers({&tiers, &state_loads, &store.opens(), &store.saves()}) {
  by_family[place_of(Family::Host)] = &host;
  by_family[place_of(Family::Page)] = &pages;
  by_family[place_of(Family::Context)] = &contexts;
  by_family[place_of(Family::Forward)] = &forwards;
  by_family[place_of(Family::Read)] = &reads;
  by_family[place_of(Family::Matcher)] = &matchers;
  by_family[place_of(Family::Store)] = &store;
  if (tiers.is_on()) replica.resources.cache.set_eviction_sink(&tiers);
}

void StepFamilies::forget_ended() {
  ready.forget_ended();
  room.forget_ended();
}

void StepFamilies::begin_build(BatchDraft& draft) {
  turn.begin();
  room.forget_search();
  turn.has_suspended = transfers.begin_build(draft, ready.woken());
  ready.add_woken();
}

void StepFamilies::end_build(BatchDraft& draft) {
  if (transfers.end_build(draft)) turn.has_suspended = true;
}

void StepFamilies::refuse_overdue() {
  if (Operation* overdue = room.take_overdue()) refuse(*overdue);
}

void StepFamilies::resolve_stuck(bool is_probing) {
  room.forget_ended();
  // A batch that measures takes one kind of work alone and may find none: the next takes the rest.
  const bool goes_on = turn.has_sliced || turn.has_suspended || room.has_loser() || is_probing ||
                       (turn.has_spared_search && turn.has_progress);
  // A finished operation has its answer, or makes another one ready, and no batch will notify.
  if (goes_on || turn.has_progress) tools.table.wakeup.notify();
  if (turn.has_progress) room.note_progress();
  if (goes_on || turn.has_progress) return;
  if (Operation* refused = room.take_refused(transfers.may_free())) refuse(*refused);
}

void StepFamilies::refuse(Operation& operation) {
  of(operation).fail(operation, room.explain(operation));
  tools.table.wakeup.notify();
}

void StepFamilies::complete_transfers(const Flight& flight, inference::Completion& completion) {
  room.forget_search();
  transfers.complete(flight, completion, ready.woken());
  ready.add_woken();
}

void StepFamilies::deliver(store::DiskAnswer answer) {
  room.forget_search();
  // An operation that gives its ticket back does not wait for the answer, which then has no owner.
  transfers.deliver(answer, ready.woken());
  ready.add_woken();
}

}  // namespace quire::control
