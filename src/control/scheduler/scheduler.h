#pragma once
// Scheduler builds the batches of one replica: stop 7 of the walk.
//
// Unless another DispatchPolicy says so, it is work-conserving: whenever the device is free it
// takes everything that is ready: all decoding (operations of few rows), and prefill in chunks
// under a budget (StepModel). BatchOrder decides which goes first, and which is cut if the device
// takes no more. Operations after one that was placed join the same batch if the device's order
// within a batch keeps their meaning: embed_txt, forward and get_next_dist become one step. An
// operation's family does its work when its turn comes (steps/steps.h). PageRoom decides which
// operation gets pages when there are not enough.
//
// Owns     the batch that is built and the one under way, at most one of both at a time, and the
//          order of what is ready.
// Thread   engine thread only.
// Errors   answered to the operation's future.
//
// Invariants. S1 and S2 are kept by the pools (objects that are let go while a batch is open are
// free only after it) and by ForwardSteps; Controller::verify() checks the others.
//   S1  A page, an embed slot or a sequence that the batch under way touches is given to no other
//       object before it completes.
//   S2  What a pass of this batch made is read in this batch only where the device's order allows
//       it: keys and values by passes, outputs by distributions.
//   S3  Ledgers and holds of pages equal a recount from all objects (I2).
//   S4  Each instance and each tenant counts the embeds whose outputs have a slot.
//   S5  An instance holds no more pages than its limit; a new limit is at least what it holds.
//   S6  The shares and the cold pages of each replica weigh a tenant alike: as the operator said
//       last, else 1.
#include <cstdint>
#include <optional>
#include <vector>

#include "control/batches/batch_draft.h"
#include "control/batches/step_model.h"
#include "control/scheduler/batch_order.h"
#include "control/scheduler/dispatch_policy.h"
#include "control/steps/step_families.h"

namespace quire::control {

struct SchedulerOptions {
  DispatchPolicy dispatch{};
  std::uint32_t prefill_row_budget = 0;    // Of a batch that also decodes; 0: as StepModel says.
  std::uint64_t aging_ns = 1'000'000'000;  // As of BatchOrder.
  BatchDraft::Limits batch{};              // But for the commands, which `dispatch` says.
  StepOptions steps{};
};

class Scheduler {
 public:
  // `replica`, `table` and `matchers` outlive it.
  Scheduler(Replica& replica, OperationTable& table, MatcherJobs& matchers,
            const SchedulerOptions& options);

  // An operation that waits for no other: runs now if it needs no batch, else when its turn comes.
  void run(Operation& operation);
  // Builds and submits a batch if the device is free and there is something for it that the policy
  // lets go.
  bool dispatch();
  // When dispatch() has something to do though nothing else happens; empty: nothing waits for time.
  std::optional<std::uint64_t> next_dispatch_ns() const {
    return is_in_flight() ? std::nullopt : timer_.due_ns();
  }
  // After each dispatch(): the instance that must end now, which is the caller's to do.
  std::optional<Loser> take_loser() { return families_.room.take_loser(); }
  void complete(inference::Completion completion);
  void deliver(store::DiskAnswer answer);
  // An open, a save or pages on their way from a tier, that the disk has not answered yet.
  bool waits_for_disk() const { return !families_.transfers.is_idle(); }
  bool has_batch(BatchId batch) const { return is_in_flight() && flight_->id == batch; }
  bool is_in_flight() const { return flight_.has_value(); }
  void abandon(Operation& operation) { families_.store.abandon(operation); }  // Before a discard.
  // The priority of a queue has changed: what is ready in it has another place.
  void note_priorities() { has_new_priorities_ = true; }

  const TierTransfers& tiers() const { return families_.tiers; }
  // Pages that no object holds: of the batch under way, and on their way from a tier.
  std::vector<PageId> scratch_pages() const;
  std::vector<StateSlot> states_in_transfer() const { return families_.transfers.held_states(); }
  void verify() const;

 private:
  // scheduler.cc
  bool is_due();
  void begin_draft(std::uint64_t now_ns);
  bool submit_batch();
  Result<void> complete_pass(std::size_t index, Result<void> outcome);
  void complete_reads(inference::Completion& completion, const std::vector<Result<void>>& outcomes);
  void attempt_hosts();

  // placement.cc
  Attempt attempt(Operation& operation);
  void settle(Operation& operation, Attempt attempt);
  std::uint32_t take(Operation& operation, bool is_prefill, std::uint32_t rows_max);
  std::uint32_t rows_of(const Operation& operation) const;
  std::uint32_t slots_of(const Operation& operation) const;
  FairShare& share_of(const Operation& operation) const {
    return replica_.share(*operation.instance);
  }
  void collect();
  std::uint64_t decoding_of_batch();
  void serve_waiters();
  void place_first();
  void place_all();
  void place(Turn turn, std::uint32_t prefill_rows_max);
  void place_candidate(Candidate& next, Turn turn);
  void fetch_ahead() const;
  void look_ahead();

  Replica& replica_;
  OperationTable& table_;
  const SchedulerOptions options_;
  StepFamilies families_;
  DispatchTimer timer_;
  BatchOrder order_;
  StepModel steps_;
  std::vector<Candidate> taken_;        // Of what was ready, while it is worked through.
  std::optional<BatchDraft> draft_;     // While a batch is built.
  std::optional<Flight> flight_;        // Submitted and not complete.
  BatchBuffers spare_;                  // Of the last batch, for its memory.
  std::uint64_t decode_row_count_ = 0;  // That the batch takes, about.
  std::uint32_t limited_count_ = 0;     // Batches that did not take all decoding, ever.
  bool is_probing_ = false;             // Decoding alone, to see what it takes.
  bool has_new_priorities_ = false;     // Candidates that are ready may have old ones.
  Ref<Operation> first_now_;            // The one that found no room in the last batch.
  Ref<Operation> served_first_;         // The one that went first in this batch.
};

}  // namespace quire::control
