#include "application/lifecycle/tenant_meter.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/check.h"

namespace quire::lifecycle {
namespace {

// Why the tenant may not have another instance that may grow to so many bytes; none: it may.
std::optional<std::string> why_full(const TenantMeter::Tenant& tenant,
                                    std::uint64_t memory_bytes_max) {
  const TenantLimits& limits = tenant.limits;
  if (tenant.instance_count >= limits.instance_count_max) {
    return "instance_count_max: " + std::to_string(tenant.instance_count) + " of " +
           std::to_string(limits.instance_count_max) + " instances are there";
  }
  if (memory_bytes_max > limits.memory_bytes_max ||
      tenant.memory_bytes_reserved > limits.memory_bytes_max - memory_bytes_max) {
    return "memory_bytes_max: another instance may grow to " + std::to_string(memory_bytes_max) +
           " bytes, its " + std::to_string(tenant.instance_count) + " instances to " +
           std::to_string(tenant.memory_bytes_reserved) + " of " +
           std::to_string(limits.memory_bytes_max);
  }
  return std::nullopt;
}

}  // namespace

InstanceUse& InstanceUse::operator+=(const InstanceUse& more) {
  cpu_ns += more.cpu_ns;
  wall_ns += more.wall_ns;
  token_count += more.token_count;
  http_call_count += more.http_call_count;
  output_bytes += more.output_bytes;
  return *this;
}

TenantMeter::Tenant& TenantMeter::at(control::TenantId id) {
  Tenant& tenant = tenants_[id];
  tenant.gauge.tenant = id;
  return tenant;
}

void TenantMeter::name(control::TenantId id, const TenantLimits& limits) {
  Tenant& tenant = at(id);
  tenant.limits = limits;
  tenant.gauge.http_exchange_count_max = limits.http_exchange_count_max;
}

Result<void> TenantMeter::check(control::TenantId id, std::uint64_t memory_bytes_max) {
  Tenant& tenant = at(id);
  const std::optional<std::string> why = why_full(tenant, memory_bytes_max);
  if (!why) return {};
  tenant.refused_count += 1;
  return Error(ErrorCode::Unavailable,
               "tenant " + std::to_string(static_cast<std::uint32_t>(id)) + ": " + *why);
}

bool TenantMeter::has_room(control::TenantId id, std::uint64_t memory_bytes_max) const {
  const auto found = tenants_.find(id);
  return found == tenants_.end() || !why_full(found->second, memory_bytes_max);
}

hostcalls::TenantGauge& TenantMeter::enter(control::TenantId id, std::uint64_t memory_bytes_max) {
  Tenant& tenant = at(id);
  tenant.instance_count += 1;
  tenant.launched_count += 1;
  tenant.memory_bytes_reserved += memory_bytes_max;
  return tenant.gauge;
}

void TenantMeter::end(control::TenantId id, std::uint64_t memory_bytes_max,
                      const InstanceUse& use) {
  Tenant& tenant = tenants_.at(id);
  QUIRE_CHECK(tenant.memory_bytes_reserved >= memory_bytes_max, "TM2");
  tenant.memory_bytes_reserved -= memory_bytes_max;
  tenant.ended += use;
}

void TenantMeter::resize(control::TenantId id, std::uint64_t reserved, std::uint64_t bytes) {
  Tenant& tenant = tenants_.at(id);
  QUIRE_CHECK(tenant.memory_bytes_reserved >= reserved, "TM2");
  tenant.memory_bytes_reserved += bytes - reserved;
}

std::uint64_t TenantMeter::memory_bytes_left(control::TenantId id) const {
  const Tenant& tenant = tenants_.at(id);
  return tenant.limits.memory_bytes_max -
         std::min(tenant.limits.memory_bytes_max, tenant.memory_bytes_reserved);
}

void TenantMeter::leave(control::TenantId id) {
  Tenant& tenant = tenants_.at(id);
  QUIRE_CHECK(tenant.instance_count > 0, "TM2");
  tenant.instance_count -= 1;
}

void TenantMeter::verify() const {
  for (const auto& [id, tenant] : tenants_) {
    QUIRE_CHECK(tenant.gauge.tenant == id, "TM2");
    QUIRE_CHECK(tenant.instance_count <= tenant.launched_count, "TM2");
    if (tenant.instance_count > 0) continue;
    QUIRE_CHECK(tenant.memory_bytes_reserved == 0, "TM1");
    QUIRE_CHECK(tenant.gauge.http_exchange_count == 0, "TM1");
  }
}

}  // namespace quire::lifecycle
