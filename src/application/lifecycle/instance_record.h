#pragma once
// InstanceRecord is the manager's record of one instance, next to its GuestState.
#include <cstdint>
#include <memory>
#include <optional>

#include "application/hostcalls/guest_state.h"
#include "application/lifecycle/budget.h"
#include "application/lifecycle/launch.h"
#include "application/sandbox/wasm_runtime.h"

namespace quire::lifecycle {

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
  Budget lent;                            // To children that live, but processor time,
  Budget spent_by_children;  // and what they, living or not, have used of what is not given back.
  std::uint64_t launched_ns = 0;  // On the engine's clock.
  std::uint64_t ended_ns = 0;
  End end;  // Its times and counts come as they are known, the rest with the end.
  EndFigures figures;
  std::unique_ptr<hostcalls::GuestState> state;
  std::unique_ptr<sandbox::Instance> instance;  // Uses the state, so it goes first.
};

}  // namespace quire::lifecycle
