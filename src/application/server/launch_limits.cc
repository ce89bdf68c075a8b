#include "application/server/launch_limits.h"

#include <cstdint>
#include <optional>
#include <string>

namespace quire::server {
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

Result<lifecycle::InstanceLimits> limits_of(const ServiceLimits& service, control::TenantId tenant,
                                            const service::LaunchLimits& wanted) {
  const auto own = service.tenant_instances.find(tenant);
  lifecycle::InstanceLimits limits =
      own == service.tenant_instances.end() ? service.instance : own->second;
  limits.memory_bytes_max =
      TRY(within({"memory_bytes_max", wanted.memory_bytes_max, limits.memory_bytes_max}));
  limits.cpu_ns_max = TRY(within({"cpu_ns_max", wanted.cpu_ns_max, limits.cpu_ns_max}));
  limits.cpu_ns_between_waits_max =
      TRY(within({"cpu_ns_between_waits_max", wanted.cpu_ns_between_waits_max,
                  limits.cpu_ns_between_waits_max}));
  limits.guest.output_bytes_max =
      TRY(within({"output_bytes_max", wanted.output_bytes_max, limits.guest.output_bytes_max}));
  limits.control.page_count_max = static_cast<std::uint32_t>(
      TRY(within({"page_count_max", wanted.page_count_max, limits.control.page_count_max})));
  return limits;
}

}  // namespace quire::server
