#include "application/lifecycle/launch_limits.h"

#include <cstdint>
#include <optional>
#include <string>

namespace quire::lifecycle {
namespace {

struct Bound {
  const char* name;
  const std::optional<std::uint64_t>& wanted;
  std::uint64_t allowed;
};

Result<std::uint64_t> within(const Bound& bound) {
  if (!bound.wanted) return bound.allowed;
  if (*bound.wanted <= bound.allowed) return *bound.wanted;
  return Error(ErrorCode::OutOfRange,
               std::string(bound.name) + ": " + std::to_string(*bound.wanted) +
                   " wanted, this server allows " + std::to_string(bound.allowed));
}

}  // namespace

Result<InstanceLimits> lowered(InstanceLimits allowed, const service::LaunchLimits& wanted) {
  allowed.memory_bytes_max =
      TRY(within({"memory_bytes_max", wanted.memory_bytes_max, allowed.memory_bytes_max}));
  allowed.cpu_ns_max = TRY(within({"cpu_ns_max", wanted.cpu_ns_max, allowed.cpu_ns_max}));
  allowed.cpu_ns_between_waits_max =
      TRY(within({"cpu_ns_between_waits_max", wanted.cpu_ns_between_waits_max,
                  allowed.cpu_ns_between_waits_max}));
  allowed.guest.output_bytes_max =
      TRY(within({"output_bytes_max", wanted.output_bytes_max, allowed.guest.output_bytes_max}));
  allowed.control.page_count_max = static_cast<std::uint32_t>(
      TRY(within({"page_count_max", wanted.page_count_max, allowed.control.page_count_max})));
  return allowed;
}

}  // namespace quire::lifecycle
