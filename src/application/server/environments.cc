#include "application/server/environments.h"

#include <algorithm>

namespace quire::server {

hostcalls::EnvironmentHandle Environments::of(control::TenantId tenant, bool is_operators) const {
  const auto own = of_tenants.find(tenant);
  if (own == of_tenants.end()) return is_operators ? of_operators : nullptr;
  if (!is_operators || of_operators == nullptr) return own->second;
  hostcalls::Environment all = *own->second;
  for (const hostcalls::EnvironmentVariable& each : *of_operators) {
    const bool is_given =
        std::ranges::find(all, each.name, &hostcalls::EnvironmentVariable::name) != all.end();
    if (!is_given) all.push_back(each);
  }
  return std::make_shared<const hostcalls::Environment>(std::move(all));
}

}  // namespace quire::server
