#pragma once
// How the engine launches a program, and what it counts of an instance. Plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "application/hostcalls/call_counts.h"
#include "application/hostcalls/environment.h"
#include "application/hostcalls/guest_limits.h"
#include "application/hostcalls/served_request.h"
#include "control/api/control_port.h"
#include "control/api/types.h"
#include "service/end.h"
#include "service/listener.h"
#include "service/principal.h"
#include "service/program.h"
#include "service/said.h"

namespace quire::lifecycle {

using control::InstanceId;
using service::End;
using service::end_kind_name;
using service::EndKind;
using service::Listener;
using service::LogLevel;
using service::LogSource;
using service::ProgramState;

enum class ProgramId : std::uint32_t {};

struct InstanceLimits {
  std::uint64_t memory_bytes_max = 128u << 20;
  std::uint64_t cpu_ns_between_waits_max = 10'000'000'000;  // One run from wait to wait.
  std::uint64_t cpu_ns_max = 3'600'000'000'000;             // In all, with its children.
  std::uint64_t wall_ns_max = 86'400'000'000'000;           // From launch to end; 0: no limit.
  std::uint32_t child_count_max = 64;                       // At once, with their children.
  std::uint64_t children_memory_bytes_max = 512u << 20;     // Of all of them together.
  hostcalls::GuestLimits guest;
  control::InstanceLimits control;
};

// RunHistory decides whether an instance goes on at once or in the background.
struct RunHistory {
  static constexpr std::uint64_t kUnknownBurstNs = 400'000;
  std::uint64_t burst_ns = kUnknownBurstNs;  // It runs from wait to wait, as the last ones went.
  std::uint64_t owed_ns = 0;                 // It ran, and has not yet waited for as long.
};

struct LaunchRequest {
  ProgramId program{};
  control::TenantId tenant{};
  std::vector<std::string> arguments;  // Without the program's name.
  InstanceLimits limits;
  // After the launch, the children of the program included; 0: none. Of the work of one tenant and
  // priority that with the earlier deadline goes first; nothing ends when it is over.
  std::uint64_t deadline_in_ns = 0;
  // The HTTP request that the program answers; it has no session then.
  std::optional<hostcalls::RequestHead> request = {};
  // The principal whose account the instance and its children count in. Null: they count in no account.
  service::PrincipalHandle caller = {};
  // The variables of the program. Children do not get them.
  hostcalls::EnvironmentHandle environment = {};
  // A child that draws on its parent's budget begins with so much memory; 0: not yet known.
  std::optional<std::uint64_t> drawn_memory_bytes = {};
  // A child has the history of its family: its first run counts like theirs.
  RunHistory history = {};
  // The seed of the random numbers of the instance and of its children. Without one they come from
  // the host's source.
  std::optional<std::uint64_t> seed = {};
};

enum class Stage : std::uint8_t {
  Queued,      // Waits for its program to be compiled, or for a slot of the runtime.
  Ready,       // In the run queue.
  Background,  // In the background queue: it used up its slice.
  Waiting,     // Parked in a wait.
  Ended,       // Only its last output is left to deliver.
};

// Figures of an ended instance that stay within the engine; clients get its service::End.
struct EndFigures {
  hostcalls::CallCounts calls;
  control::InstanceStatistics statistics;
};

}  // namespace quire::lifecycle
