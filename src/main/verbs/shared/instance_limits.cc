#include "main/verbs/shared/instance_limits.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "application/lifecycle/limit_settings.h"
#include "application/net/http_grant.h"

namespace quire {

Result<lifecycle::InstanceLimits> instance_limits(const cli::InstanceOptions& options) {
  lifecycle::InstanceLimits limits;
  limits.memory_bytes_max = options.memory_bytes_max;
  if (options.page_count_max > 0) limits.control.page_count_max = options.page_count_max;
  limits.guest.output_bytes_max = options.output_bytes_max;
  limits.control.may_export_publicly = options.may_export_publicly;
  Result<std::vector<net::HttpGrant>> http = net::parse_http_grants(options.allow_http);
  if (!http.ok()) return std::move(http).take_error().while_("--allow-http");
  limits.guest.http_grants = std::move(http).take();
  const auto cpu_ns = static_cast<std::uint64_t>(options.cpu_seconds_max * 1e9);
  limits.cpu_ns_max = cpu_ns;
  limits.cpu_ns_between_waits_max = std::min(limits.cpu_ns_between_waits_max, cpu_ns);
  set_limits(limits, options.limits);
  return limits;
}

void set_limits(lifecycle::InstanceLimits& limits, const std::vector<InstanceLimitValue>& values) {
  for (const InstanceLimitValue& each : values) lifecycle::set_limit(limits, each);
}

bool names_limit(const std::vector<InstanceLimitValue>& values, std::string_view name) {
  return std::any_of(values.begin(), values.end(), [&](const InstanceLimitValue& each) {
    return name == kInstanceLimits[each.index].name;
  });
}

std::uint32_t shared_page_count_max(const std::vector<control::ModelDescription>& models) {
  constexpr std::uint32_t kShare = 4;
  constexpr std::uint32_t kTokenCountMin = 2048;
  std::uint32_t most = 1;
  for (const control::ModelDescription& each : models) {
    const std::uint32_t least = std::min(each.page_count, kTokenCountMin / each.page_size);
    most = std::max({most, each.page_count / kShare, least});
  }
  return most;
}

}  // namespace quire
