#include "control/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted_fault.h"
#include "control/objects/give_back.h"

namespace quire::control {

using inference::Completion;
using inference::Distribution;

Scheduler::Scheduler(Replica& replica, OperationTable& table, MatcherJobs& matchers,
                     const SchedulerOptions& options)
    : replica_(replica),
      table_(table),
      options_(options),
      families_(replica, table, matchers, options.steps),
      timer_(options.dispatch),
      order_(replica.shares, options.aging_ns),
      steps_(options.prefill_row_budget) {}

void Scheduler::run(Operation& operation) {
  if (needs_any(operation, needs::Batch)) {
    if (!draft_ || draft_->is_closed()) return families_.ready.add(operation);
    if (needs_any(operation, needs::Rows)) {
      const Candidate candidate = families_.ready.candidate_of(operation);
      if (candidate.is_prefill) return order_.add(candidate);
    }
  }
  if (!draft_) replica_.resources.cache.set_time(table_.clock.now_ns());
  const Attempt outcome = attempt(operation);
  if (outcome != Attempt::Placed) settle(operation, outcome);
}

// Whether a batch is to be built now: the device is free.
bool Scheduler::is_due() {
  if (families_.store.saves().wants_batch() || families_.tiers.is_swapping()) return true;
  if (timer_.counts()) {
    families_.ready.forget_ended();
    families_.room.forget_ended();
  }
  const std::size_t ready_count = families_.ready.size() + families_.room.waiting_count();
  if (ready_count == 0) {
    // Whoever they came for has ended, and no batch comes that would do it.
    families_.tiers.drop_landed();
    timer_.reset();
    return false;
  }
  return timer_.is_due(ready_count, table_.clock.now_ns());
}

void Scheduler::begin_draft(std::uint64_t now_ns) {
  BatchDraft::Limits limits = options_.batch;
  limits.command_count_max = timer_.command_count_max();
  limits.counts_commands = timer_.takes_few();
  limits.joins = timer_.joins();
  replica_.last_batch = BatchId{table_.next_batch()};
  draft_.emplace(replica_, replica_.last_batch, std::exchange(spare_, {}), limits);
  replica_.resources.open_batch(replica_.last_batch);
  families_.tiers.begin_build();
  families_.turn.begin();
  families_.room.forget_search();
  order_.begin_batch(now_ns, timer_.takes_few());
}

bool Scheduler::dispatch() {
  if (is_in_flight() || !is_due()) return false;
  TierTransfers& tiers = families_.tiers;
  timer_.reset();
  const std::uint64_t start_ns = table_.clock.now_ns();
  replica_.resources.cache.set_time(start_ns);
  begin_draft(start_ns);
  // These have their pages of the pool already, which others may wait for.
  families_.turn.has_suspended = tiers.continue_swaps(draft_->batch(), families_.ready.woken());
  families_.ready.add_woken();
  draft_->note_loads(LoadOwner::Tiers);
  collect();
  serve_waiters();
  place_all();
  // Whoever waited for these has had its turn; what it left goes cold.
  if (tiers.drop_landed()) families_.turn.has_suspended = true;
  keep_some_free();
  tiers.place_saves(draft_->batch());
  draft_->note_tier_saves(tiers.save_count());
  families_.store.saves().place(draft_->batch());
  tiers.end_build();
  const bool is_submitted = submit_batch();
  if (Operation* overdue = families_.room.take_overdue()) refuse(*overdue);
  if (!is_submitted) resolve_stuck();
  table_.run_ready();
  replica_.counts.build_ns += table_.clock.now_ns() - start_ns;
  if (is_submitted) look_ahead();
  return is_submitted;
}

// Ahead of need, so that a step which takes one page seldom waits for another page to be saved.
void Scheduler::keep_some_free() {
  constexpr std::uint32_t kFreeCountMax = 64;
  if (!families_.tiers.is_on()) return;
  PageCache& cache = replica_.resources.cache;
  const std::uint32_t count = std::min(cache.page_count() / 16, kFreeCountMax);
  if (cache.available_soon() >= count) cache.make_room(count);
}

bool Scheduler::submit_batch() {
  const bool is_empty = draft_->is_empty();
  BatchBuffers built = std::move(*draft_).finish();
  draft_.reset();
  if (is_empty) {
    replica_.resources.complete_batch(built.batch.id);
    spare_ = std::move(built);
    return false;
  }
  inference::Batch& batch = built.batch;
  std::vector<inference::TableChange> changes = replica_.resources.sequences.take_releases();
  if (!changes.empty()) {
    changes.insert(changes.end(), std::make_move_iterator(batch.table_changes.begin()),
                   std::make_move_iterator(batch.table_changes.end()));
    batch.table_changes = std::move(changes);
  }
  const std::size_t row_count = batch.rows.size();
  QUIRE_CHECK(row_count <= replica_.resources.device.row_count_max, "a batch beyond its limit");
  ++replica_.counts.batch_count;
  if (row_count > 0) replica_.histograms.batch_rows.observe(row_count);
  replica_.counts.row_count += row_count;
  replica_.counts.pass_count += batch.passes.size();
  QUIRE_CHECK(row_count == built.flight.row_count(), "a row that nobody was charged for");
  flight_ = std::move(built.flight);
  report(table_.walk, WalkStop::Scheduler);
  replica_.backend.submit(std::move(batch));
  return true;
}

void Scheduler::complete(Completion completion) {
  QUIRE_CHECK(has_batch(completion.id), "a batch completes once, in order");
  QUIRE_CHECK(completion.passes.size() == flight_->passes.size(), "an outcome for each pass");
  QUIRE_CHECK(completion.distributions.size() == flight_->reads.size(),
              "an outcome for each distribution");
  families_.room.forget_search();
  replica_.counts.device_ns += completion.device_ns;
  replica_.histograms.step_ns.observe(completion.device_ns);
  if (completion.loads.empty() && completion.saves.empty() && flight_->row_count() > 0) {
    flight_->step.device_ns = completion.device_ns;
    steps_.note(flight_->step);
  }
  replica_.completed_at_ns = table_.clock.now_ns();
  replica_.resources.cache.set_time(replica_.completed_at_ns);
  replica_.resources.complete_batch(completion.id);
  complete_transfers(completion);
  spare_.batch = std::move(completion.batch);
  spare_.batch.adapter_sets.clear();  // A removed adapter must not stay until the next batch.
  std::vector<Result<void>> outcomes;
  outcomes.reserve(completion.passes.size());
  for (std::size_t index = 0; index < completion.passes.size(); ++index) {
    outcomes.push_back(complete_pass(index, std::move(completion.passes[index])));
  }
  complete_reads(completion, outcomes);
  families_.draws.settle_drafts(*flight_);
  spare_.flight = std::move(*flight_);
  flight_.reset();
  families_.room.note_progress();
  attempt_hosts();
  table_.run_ready();
  // No batch comes that would do it.
  if (families_.ready.is_empty() && families_.room.waiting_count() == 0) {
    families_.tiers.drop_landed();
  }
}

// Those of the tiers first: what they bring back, a context may be about to want.
void Scheduler::complete_transfers(Completion& completion) {
  QUIRE_CHECK(completion.loads.size() == flight_->loads.size(),
              "an outcome for each page that was loaded");
  QUIRE_CHECK(completion.load_bytes.size() == completion.loads.size(), "and its bytes");
  QUIRE_CHECK(completion.saves.size() >= flight_->tier_save_count,
              "an outcome for each page that was saved");
  TierTransfers& tiers = families_.tiers;
  tiers.measure(flight_->row_count(), static_cast<std::uint32_t>(completion.loads.size()),
                static_cast<std::uint32_t>(completion.saves.size()), completion.device_ns);
  std::vector<Result<void>> tier_loads;
  std::vector<inference::PageBytes> tier_bytes;
  std::vector<Result<void>> other_loads;
  for (std::size_t index = 0; index < completion.loads.size(); ++index) {
    const bool is_of_tier = flight_->loads[index] == LoadOwner::Tiers;
    (is_of_tier ? tier_loads : other_loads).push_back(std::move(completion.loads[index]));
    if (is_of_tier) tier_bytes.push_back(std::move(completion.load_bytes[index]));
  }
  const auto split = completion.saves.begin() + flight_->tier_save_count;
  std::vector<Result<inference::PageBytes>> other_saves(
      std::make_move_iterator(split), std::make_move_iterator(completion.saves.end()));
  completion.saves.erase(split, completion.saves.end());
  tiers.complete(std::move(tier_loads), std::move(tier_bytes), std::move(completion.saves),
                 families_.ready.woken());
  families_.store.opens().complete(std::move(other_loads), families_.ready.woken());
  families_.ready.add_woken();
  families_.store.saves().complete(std::move(other_saves));
}

Result<void> Scheduler::complete_pass(std::size_t index, Result<void> outcome) {
  PassRecord& pass = flight_->passes[index];
  if (outcome.ok() && pass.forward != inference::kNoSlot) {
    for (const std::uint32_t earlier : flight_->forwards[pass.forward].reads_passes) {
      if (!flight_->passes[earlier].has_failed) continue;
      outcome = Error(ErrorCode::Unavailable, "a forward pass whose pages it reads failed");
      break;
    }
  }
  pass.has_failed = !outcome.ok();
  for (std::uint32_t each = 0; pass.has_failed && each < pass.output_count; ++each) {
    EmbedObject* embed = flight_->outputs[pass.output_first + each].get();
    const bool is_mine = embed != nullptr && embed->state == EmbedState::Output &&
                         embed->batch == static_cast<std::uint64_t>(flight_->id) &&
                         embed->pass == index;
    if (!is_mine) continue;
    give_back(*embed);
    embed->state = EmbedState::Failed;
    embed->error = outcome.error().copy();
  }
  Result<void> kept = outcome.ok() ? Result<void>() : Result<void>(outcome.error().copy());
  pass.owner->passed(*flight_, pass, std::move(outcome));
  return kept;
}

// `outcomes`: of the passes.
void Scheduler::complete_reads(Completion& completion, const std::vector<Result<void>>& outcomes) {
  const std::vector<ReadRecord>& reads = flight_->reads;
  if (is_planted(Fault::AnswerToAnother) && reads.size() > 1 &&
      reads.front().kind == reads.back().kind) {
    std::swap(completion.distributions.front(), completion.distributions.back());
  }
  for (std::size_t index = 0; index < completion.distributions.size(); ++index) {
    const ReadRecord& record = reads[index];
    if (record.operation.get() == nullptr) continue;
    Result<Distribution> distribution = std::move(completion.distributions[index]);
    if (record.pass != inference::kNoSlot && !outcomes[record.pass].ok()) {
      distribution = outcomes[record.pass].error().copy();
    }
    record.owner->read(record, std::move(distribution));
  }
}

// What waited for the batch that is done, and needs no device itself.
void Scheduler::attempt_hosts() {
  families_.ready.take_all(taken_);
  for (const Candidate& each : taken_) {
    if (!each.is_host) {
      families_.ready.add(each);
    } else if (Operation* operation = each.operation.get()) {
      settle(*operation, attempt(*operation));
    }
  }
}

void Scheduler::deliver(store::DiskAnswer answer) {
  replica_.resources.cache.set_time(table_.clock.now_ns());
  families_.room.forget_search();
  if (!families_.store.saves().deliver(answer) && !families_.tiers.deliver(answer)) {
    // Whoever gives a ticket back does not wait for the answer.
    families_.store.opens().deliver(answer, families_.ready.woken());
    families_.ready.add_woken();
  }
  table_.run_ready();  // A save that ends lets go on what waits to be the first of its queue.
}

// Saves end with the disk, and so do opens that wait for no page themselves: then their pages can
// be given up. What is written to a tier makes room there for what must be kept.
bool Scheduler::disk_may_free() {
  return !families_.store.saves().idle() || families_.tiers.is_busy() || families_.tiers.writes() ||
         families_.store.opens().count() > families_.room.opening_count();
}

// Nothing was built: whether to build again, and who waits in vain.
void Scheduler::resolve_stuck() {
  const BuildTurn& turn = families_.turn;
  families_.room.forget_ended();
  // What was to be measured alone found nothing to do: the next build takes the rest.
  const bool goes_on = turn.has_sliced || turn.has_suspended || families_.room.has_loser() ||
                       is_probing_ || (turn.has_spared_search && turn.has_progress);
  // What finished has its answer, or makes another one ready, and no batch comes to wake anybody.
  if (goes_on || turn.has_progress) table_.wakeup.notify();
  if (turn.has_progress) families_.room.note_progress();
  if (goes_on || turn.has_progress) return;
  if (Operation* refused = families_.room.take_refused(disk_may_free())) refuse(*refused);
}

void Scheduler::refuse(Operation& operation) {
  families_.of(operation).fail(operation, families_.room.explain(operation));
  table_.wakeup.notify();
}

std::vector<PageId> Scheduler::scratch_pages() const {
  std::vector<PageId> pages = families_.tiers.held_pages();
  if (!is_in_flight()) return pages;
  for (const ForwardRecord& record : flight_->forwards) {
    pages.insert(pages.end(), record.scratch.begin(), record.scratch.end());
  }
  return pages;
}

void Scheduler::verify() const {
  replica_.shares.verify();
  replica_.resources.cache.verify();
  replica_.resources.tiers.verify();
  replica_.resources.sequences.verify();
  families_.room.verify();
  QUIRE_CHECK(!draft_, "verified in the middle of a build");
}

}  // namespace quire::control
