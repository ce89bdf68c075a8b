#include "control/scheduler/scheduler.h"

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
  if (families_.transfers.wants_batch()) return true;
  if (timer_.counts()) families_.forget_ended();
  const std::size_t waiting_count = families_.waiting_count();
  if (waiting_count == 0) {
    families_.transfers.drop_kept();
    timer_.reset();
    return false;
  }
  return timer_.is_due(waiting_count, table_.clock.now_ns());
}

void Scheduler::begin_draft(std::uint64_t now_ns) {
  BatchDraft::Limits limits = options_.batch;
  limits.command_count_max = timer_.command_count_max();
  limits.counts_commands = timer_.takes_few();
  limits.joins = timer_.joins();
  replica_.last_batch = BatchId{table_.next_batch()};
  draft_.emplace(replica_, replica_.last_batch, std::exchange(spare_, {}), limits);
  replica_.resources.open_batch(replica_.last_batch);
  order_.begin_batch(now_ns, timer_.takes_few());
  families_.begin_build(*draft_);
}

bool Scheduler::dispatch() {
  if (is_in_flight() || !is_due()) return false;
  timer_.reset();
  const std::uint64_t start_ns = table_.clock.now_ns();
  replica_.resources.cache.set_time(start_ns);
  begin_draft(start_ns);
  collect();
  serve_waiters();
  place_all();
  families_.end_build(*draft_);
  const bool is_submitted = submit_batch();
  families_.refuse_overdue();
  if (!is_submitted) families_.resolve_stuck(is_probing_);
  table_.run_ready();
  replica_.counts.build_ns += table_.clock.now_ns() - start_ns;
  if (is_submitted) look_ahead();
  return is_submitted;
}

bool Scheduler::submit_batch() {
  const bool is_empty = draft_->is_empty();
  BatchBuffers built = std::move(*draft_).finish();
  draft_.reset();
  if (is_empty) {
    replica_.resources.complete_batch(built.batch.id);
    spare_ = std::move(built);
    spare_.batch.clear();
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
  QUIRE_CHECK(row_count == built.flight.row_count(), "a row that no program was charged for");
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
  replica_.counts.device_ns += completion.device_ns;
  replica_.histograms.step_ns.observe(completion.device_ns);
  flight_->step.device_ns = completion.device_ns;
  if (flight_->loads.empty() && flight_->saves.empty() && flight_->row_count() > 0) {
    steps_.note(flight_->step);
  }
  replica_.completed_at_ns = table_.clock.now_ns();
  replica_.resources.cache.set_time(replica_.completed_at_ns);
  replica_.resources.complete_batch(completion.id);
  families_.complete_transfers(*flight_, completion);
  // The next batch may be long in coming, and until then its memory must not hold adapters.
  spare_.batch = std::move(completion.batch);
  spare_.batch.clear();
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
  if (families_.waiting_count() == 0) families_.transfers.drop_kept();
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

// Attempts the operations that waited for the finished batch and need no device themselves.
void Scheduler::attempt_hosts() {
  ReadyQueue& ready = families_.ready;
  ready.take_all(taken_);
  for (const Candidate& each : taken_) {
    if (!each.is_host) {
      ready.add(each);
    } else if (Operation* operation = each.operation.get()) {
      settle(*operation, attempt(*operation));
    }
  }
}

void Scheduler::deliver(store::DiskAnswer answer) {
  replica_.resources.cache.set_time(table_.clock.now_ns());
  families_.deliver(std::move(answer));
  table_.run_ready();  // A save that ends lets go on what waits to be the first of its queue.
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
