#pragma once
// StepFamilies owns what does the work of a replica's operations: the steps of each family, the
// room for pages, the quota and the transfers that they share. When a batch is built or done, it
// calls those that have a part in that.
//
// Thread   engine thread only.
#include <array>

#include "control/objects/command_kinds.h"
#include "control/steps/context_steps.h"
#include "control/steps/draw_steps.h"
#include "control/steps/forward_steps.h"
#include "control/steps/host_steps.h"
#include "control/steps/matcher_steps.h"
#include "control/steps/page_steps.h"
#include "control/steps/read_steps.h"
#include "control/steps/steps.h"
#include "control/steps/store_steps.h"
#include "control/transfers/state_loads.h"
#include "control/transfers/tier_transfers.h"
#include "control/transfers/transfer_owners.h"

namespace quire::control {

struct StepOptions {
  std::uint32_t decode_row_count_max = 16;  // An operation of at most so many rows is decoding.
  PageRoomOptions room{};
  CostOptions costs{};
};

struct StepFamilies {
  StepFamilies(Replica& replica, OperationTable& table, MatcherJobs& matchers,
               const StepOptions& options);

  Steps& of(const Operation& operation) { return *by_family[place_of(family_of(operation))]; }
  static constexpr std::size_t place_of(Family family) { return static_cast<std::size_t>(family); }

  // --- Operations that wait for a batch ---
  std::size_t waiting_count() const { return ready.size() + room.waiting_count(); }
  void forget_ended();

  // --- While a batch is built ---
  void begin_build(BatchDraft& draft);  // Before the first operation is placed.
  void end_build(BatchDraft& draft);    // After the last one.
  // Refuses an operation that has waited too long, whether the batch was submitted or not.
  void refuse_overdue();
  // No batch was submitted. Decides whether to build again, or which operation can never succeed.
  // `is_probing`: the batch was for decoding alone.
  void resolve_stuck(bool is_probing);

  // --- When something is done ---
  void complete_transfers(const Flight& flight, inference::Completion& completion);
  void deliver(store::DiskAnswer answer);

  BuildTurn turn;
  ReadyQueue ready;
  TierTransfers tiers;
  StateLoads state_loads;
  Quota quota;
  PageRoom room;
  OutputSlots slots;
  const StepTools tools;
  DrawSteps draws;
  ContextSteps contexts;
  ForwardSteps forwards;
  ReadSteps reads;
  MatcherSteps matchers;
  PageSteps pages;
  StoreSteps store;
  HostSteps host;
  const TransferOwners transfers;
  std::array<Steps*, kFamilyCount> by_family{};  // Null: of those that the controller answers.

 private:
  void refuse(Operation& operation);
};

}  // namespace quire::control
