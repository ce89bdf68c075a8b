#pragma once
// Knobs: what a world is like: how large its machine is, who comes, and what goes wrong.
#include <cstdint>

#include "application/lifecycle/launch.h"
#include "application/lifecycle/program_memory.h"
#include "application/lifecycle/tenant_meter.h"
#include "control/controller/controller.h"

namespace quire::simulation {

enum class Scenario : std::uint8_t {
  Peace,         // Room for all, and nothing fails: every answer is known beforehand.
  Crowd,         // Many programs in a pool of a few pages, with tiers.
  Storm,         // Devices, disks, servers and clients fail, and guests trap.
  Thrift,        // Limits of 1 and 2 wherever a limit is.
  Conversation,  // Messages, children and clients; little for the device.
};
inline constexpr std::uint32_t kScenarioCount = 5;
const char* scenario_name(Scenario scenario);

// Models have states from here on. (Worlds have adapters from kAdapterSeeds on.)
inline constexpr std::uint64_t kStateSeeds = 2'000'000'000;
// From here on the machine is short of memory for programs and of disk, and stands still.
inline constexpr std::uint64_t kShortageSeeds = 3'000'000'000;

struct TierKnobs {  // Pages of each model.
  std::uint32_t host_page_count = 0;
  std::uint32_t disk_page_count = 0;
};

struct MachineTrouble {
  std::uint32_t clock_jump = 0;  // Of events, in percent: it slept, or the time of day was set.
  // Shortages, drawn from a stream of their own.
  bool is_short = false;
  std::uint64_t program_memory_bytes_max = lifecycle::ProgramMemory::kUnlimited;
  std::uint64_t disk_bytes_max = std::uint64_t{1} << 60;
  std::uint32_t stand_still = 0;  // Of the runs of guests, in tenths of a percent.
};

struct Knobs {
  Scenario scenario = Scenario::Peace;

  // The machine.
  std::uint32_t model_count = 1;
  std::uint32_t page_size = 8;
  std::uint32_t page_count = 256;
  std::uint32_t state_count = 0;  // Slots for states of each model; 0: models have none.
  std::uint32_t row_count_max = 64;
  std::uint32_t sequence_count = 64;
  std::uint32_t embed_slot_count = 256;
  std::uint32_t instance_slot_count = 16;        // Of the runtime; further launches wait,
  std::uint32_t waiting_launch_count_max = 256;  // so many at once.
  bool has_disk = true;
  bool has_helper = true;
  TierKnobs tiers;
  control::ControllerOptions control;

  // The clients of the world. A direct client is one as the command line is; a peer comes through
  // the gateway.
  std::uint32_t direct_count = 4;
  std::uint32_t peer_count = 2;
  std::uint32_t tenant_count = 2;
  std::uint32_t client_action_count = 12;  // Of each client.
  std::uint32_t operation_count_max = 40;  // Of each guest.
  lifecycle::InstanceLimits limits;
  lifecycle::TenantLimits tenant_limits;  // Of each tenant.

  // The rates of faults, in percent.
  std::uint32_t device_error = 0;  // Of passes, loads and saves of the device.
  std::uint32_t nan_logits = 0;    // Of distributions.
  std::uint32_t slow_step = 0;     // Of batches: a hundred times as long.
  std::uint32_t disk_error = 0;    // Of system calls, in tenths of a percent.
  std::uint32_t trap = 0;          // Of the waits of a guest.
  std::uint32_t kill = 0;          // Of events: the operator kills some instance.
  MachineTrouble trouble;
  std::uint32_t abandon = 0;  // Of futures: the guest drops what it asked for.

  bool can_compute_fail() const { return device_error > 0 || nan_logits > 0; }
  // Whether a page that cannot be computed again can be lost, on its way to a tier or there; its
  // context gets the error.
  bool can_lose_pages() const {
    return (device_error > 0 && tiers.host_page_count + tiers.disk_page_count > 0) ||
           (disk_error > 0 && tiers.disk_page_count > 0);
  }
  static Knobs of_seed(std::uint64_t seed);
  static Knobs of(Scenario scenario, std::uint64_t seed);
};

}  // namespace quire::simulation
