#pragma once
// Tenants take turns by their numbers: after the last one, the first is next again.
//
// Thread   the owner's of the map.
#include "control/api/types.h"

namespace quire::control {

// The place of the tenant whose turn it is after `last`. Requires: the map is not empty.
template <typename OfTenants>
auto next_tenant(OfTenants& of_tenants, TenantId last) {
  const auto next = of_tenants.upper_bound(last);
  return next == of_tenants.end() ? of_tenants.begin() : next;
}

}  // namespace quire::control
