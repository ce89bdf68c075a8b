#pragma once
// ServerSnapshot is the state of a server at one moment. A client's status and the page of metrics
// are both made of it, so they agree. Plain values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "application/lifecycle/run_figures.h"
#include "application/lifecycle/usage.h"
#include "application/server/adapter_desk.h"
#include "application/server/gateway_parts.h"
#include "control/api/control_port.h"
#include "workers/worker_wall.h"

namespace quire::server {

struct ServerSnapshot {
  std::vector<std::string> models;
  std::uint64_t uptime_ns = 0;
  std::uint64_t connection_count = 0;
  ShedCounts shed_counts{};  // Connections, by why.
  std::uint64_t instance_count = 0;
  std::uint64_t instance_count_max = 0;
  std::uint64_t waiting_count = 0;
  std::uint64_t unattached_count = 0;
  std::uint64_t program_count = 0;
  std::uint64_t launched_count = 0;
  std::uint64_t refused_count = 0;
  RequestCounts requests;
  std::uint64_t log_lines_dropped = 0;
  workers::WallReport compiler_wall;
  control::ControlStatistics control;
  AdapterFigures adapters;
  std::optional<lifecycle::Usage> usage;  // Where it was asked for: it walks all instances.
};

}  // namespace quire::server
