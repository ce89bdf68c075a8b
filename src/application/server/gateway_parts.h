#pragma once
// The parts that the gateway and its desks use.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "application/lifecycle/engine_loop.h"
#include "application/lifecycle/instance_manager.h"
#include "application/server/link.h"
#include "application/server/log_event.h"
#include "base/clock.h"
#include "base/random.h"
#include "control/api/adapter_catalog.h"
#include "control/api/control_port.h"
#include "workers/worker_wall.h"

namespace quire::server {

// The adapters that clients use, and add to.
struct ClientAdapters {
  control::AdapterCatalog* catalog = nullptr;  // Null: no model takes any.
  std::string folder =
      {};  // Clients add the adapters below it by their paths; empty: there is none.
};

// main() builds these parts and passes them in. All of them outlive the gateway.
struct GatewayParts {
  lifecycle::InstanceManager& manager;
  lifecycle::EngineLoop& loop;
  control::ControlPort& control;
  Link& link;
  const Clock& clock;
  RandomSource& random;
  TellOperator tell;
  bool tells_requests = false;  // Also what has no text for people: the end of each request.
  bool shows_errors = false;    // Clients read the errors in which endpoints end.
  std::function<std::uint64_t()> log_lines_dropped = {};  // Empty: the log drops none.
  ClientAdapters adapters = {};
  workers::WallReport compiler_wall = {};  // Of the processes that compile what clients upload.
};

// Launches by clients of WebSockets, since the server began.
struct LaunchCounts {
  std::uint64_t launched = 0;
  std::uint64_t refused = 0;
};

// HTTP requests to endpoints, since the server began. The EndpointDesk counts, and a status reports.
struct RequestCounts {
  std::uint64_t launched = 0;   // A program was launched for the request.
  std::uint64_t refused = 0;    // None could be.
  std::uint64_t abandoned = 0;  // The client left before the response was whole.
  std::uint64_t open = 0;       // Now: the response is not whole yet.
  bool operator==(const RequestCounts&) const = default;
};

inline constexpr std::uint64_t kTakeNsMax = 2'000'000;  // Of requests in one turn.

inline std::uint64_t nanoseconds_of(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

}  // namespace quire::server
