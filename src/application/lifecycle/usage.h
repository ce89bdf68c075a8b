#pragma once
// Figures of what instances hold and have used, for the operator: they are of all tenants, and no
// tenant may see another's. Plain values.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "application/hostcalls/launcher.h"
#include "application/lifecycle/launch.h"
#include "application/lifecycle/tenant_meter.h"
#include "base/sha256.h"

namespace quire::lifecycle {

struct TenantUsage {
  control::TenantId tenant{};
  std::uint32_t weight = 1;
  std::vector<hostcalls::LimitUse> figures;  // Each has a use. A maximum of kNoLimit: none.
};

struct InstanceUsage {
  std::uint64_t number = 0;
  std::uint64_t parent = 0;  // Its number; 0: a client launched it.
  control::TenantId tenant{};
  Digest program{};
  Stage stage = Stage::Queued;
  std::vector<hostcalls::LimitUse> figures;  // Those that are not 0.
};

struct Usage {
  std::vector<TenantUsage> tenants;      // By number.
  std::vector<InstanceUsage> instances;  // In the order of their launch.
  std::size_t left_out_count = 0;        // Instances beyond those.
  // The memory that all programs have, and may have; of all tenants, so for the operator alone.
  std::uint64_t program_memory_bytes = 0;
  std::uint64_t program_memory_bytes_max = 0;
  // Instances by stage.
  std::size_t queued_count = 0, ready_count = 0, background_count = 0, parked_count = 0,
              ended_count = 0;
};

}  // namespace quire::lifecycle
