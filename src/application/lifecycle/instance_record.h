#pragma once
// InstanceRecord is the manager's record of one instance, next to its GuestState.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "application/hostcalls/guest_state.h"
#include "application/lifecycle/budget.h"
#include "application/lifecycle/launch.h"
#include "application/sandbox/wasm_runtime.h"

namespace quire::lifecycle {

// FamilyBudget is the part of an instance and its children in each other's budgets (budget.h).
struct FamilyBudget {
  Budget lent;              // To children that live, but processor time,
  Budget spent;             // and what they, living or not, have used of what is not given back.
  bool is_drawing = false;  // On its parent's budget.
  std::vector<InstanceId> drawing;  // Children that live and draw on this one, oldest first.
  Budget needed;                    // By both when it was last divided, of the divided amounts,
  Budget part;                      // and what each was given beyond that.
  std::uint64_t first_memory_bytes = 0;     // Charged until its module has its memory.
  std::uint64_t memory_bytes_reserved = 0;  // Of its tenant's memory_bytes_max.
  std::uint64_t memory_bytes_told = 0;      // The limit that its memory is held to; 0: its own.
};

struct InstanceRecord {
  InstanceId id{};
  ProgramId program{};
  control::TenantId tenant{};
  InstanceLimits limits;
  Listener* client = nullptr;
  service::PrincipalHandle caller;
  Stage stage = Stage::Queued;
  bool undelivered = false;  // In the list of those with something to deliver.
  std::uint64_t cpu_ns_since_wait = 0;
  RunHistory history;  // The time that its children ran is owed too, and does not count as waiting.
  // Its children's runs, each from its start to its first wait or its end, as the last ones went.
  std::uint64_t first_bursts_ns = RunHistory::kUnknownBurstNs;
  std::uint64_t waiting_since_ns = 0;     // Of the last wait.
  bool has_waited = false;                // Once at least: it is known not to compute only.
  std::optional<std::uint64_t> timer_ns;  // Its entry among the manager's timers.
  FamilyBudget family;
  std::uint64_t launched_ns = 0;  // On the engine's clock.
  std::uint64_t ended_ns = 0;
  End end;  // Its times and counts come as they are known, the rest with the end.
  EndFigures figures;
  std::unique_ptr<hostcalls::GuestState> state;
  std::unique_ptr<sandbox::Instance> instance;  // Uses the state, so it goes first.
};

}  // namespace quire::lifecycle
