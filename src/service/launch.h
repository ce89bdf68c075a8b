#pragma once
// A client sends a Launch to start a program.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/program.h"

namespace quire::service {

// At most what the service allows; what is absent is the service's.
struct LaunchLimits {
  std::optional<std::uint64_t> memory_bytes_max;
  std::optional<std::uint64_t> cpu_ns_max;
  std::optional<std::uint64_t> cpu_ns_between_waits_max;
  std::optional<std::uint64_t> page_count_max;
  std::optional<std::uint64_t> output_bytes_max;
  bool operator==(const LaunchLimits&) const = default;
};

struct Launch {
  ProgramName program;
  std::vector<std::string> arguments;  // Without the program's name.
  LaunchLimits limits;
  bool detached = false;  // Goes on without a client.
  std::uint32_t tenant = 0;
  std::optional<std::uint64_t> deadline_ms = {};  // After the launch, for the order of its work.
  // The seed of the random numbers of the program and of those that it launches. Without one, the
  // numbers differ from launch to launch.
  std::optional<std::uint64_t> seed = {};
  // False: the client that launches it is not attached to it, so that all its output waits for the
  // next client. It is detached then.
  bool attached = true;
  bool operator==(const Launch&) const = default;
};

}  // namespace quire::service
