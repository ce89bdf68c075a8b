#pragma once
// How a program is launched and how its end is reported. Plain values, and the sink that a client
// (the command line, the server) gives for the output of an instance.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "application/hostcalls/call_counts.h"
#include "application/hostcalls/file_table.h"
#include "application/hostcalls/guest_limits.h"
#include "control/api/control_port.h"
#include "control/api/types.h"
#include "service/end.h"
#include "service/program.h"
#include "service/said.h"

namespace quire::lifecycle {

using control::InstanceId;
using service::end_kind_name;
using service::EndKind;
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

// What says whether an instance goes on at once or in the background.
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
  // Of a child, that of its family: its first run counts like theirs.
  RunHistory history = {};
};

enum class Stage : std::uint8_t {
  Queued,      // Waits for its program to be compiled, or for a slot of the runtime.
  Ready,       // In the run queue.
  Background,  // In the background queue: it used up its slice.
  Waiting,     // Parked in a wait.
  Ended,       // Only its last words are left to deliver.
};

struct EndRecord {
  EndKind kind = EndKind::Finished;
  std::int32_t exit_code = 0;  // Of the guest when Finished, else not 0.
  std::string message;
  std::string limit;
  std::string result;                  // What set_result gave last.
  std::uint64_t launched_ns = 0;       // On the engine's clock.
  std::uint64_t first_message_ns = 0;  // 0: the instance sent none.
  std::uint64_t first_token_ns = 0;    // It could know its first token. 0: it never could.
  std::uint64_t ended_ns = 0;
  std::uint64_t cpu_ns = 0;  // Of the guest itself.
  hostcalls::CallCounts calls;
  control::InstanceStatistics statistics;
};

// Called on the engine thread from inside step(), never from inside another call of the manager,
// so a sink may call the manager back.
//
// False means not now: what was refused is kept, within GuestLimits, and offered again in its order
// once InstanceManager::client_ready() is called for the instance.
class ClientSink {
 public:
  virtual ~ClientSink() = default;
  virtual bool message(InstanceId instance, std::string_view bytes) = 0;
  // One line of the guest's log or of what it wrote to stdout or stderr, without the newline and
  // with control characters spelled out.
  virtual bool log(InstanceId instance, LogSource source, LogLevel level,
                   std::string_view line) = 0;
  // A part of a file, or the word that one was given up.
  virtual bool file(InstanceId instance, const hostcalls::FilePart& part) = 0;
  // Everything else was taken before it. Once it is taken too, it was the last call for this
  // instance.
  virtual bool ended(InstanceId instance, const EndRecord& record) = 0;
};

}  // namespace quire::lifecycle
