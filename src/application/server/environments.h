#pragma once
// Environments are the variables that launches of a server get: those of the operator's programs,
// and those of each tenant. Plain values.
#include <map>

#include "application/hostcalls/environment.h"
#include "control/api/types.h"

namespace quire::server {

struct Environments {
  hostcalls::EnvironmentHandle of_operators = {};  // Programs that the command line names.
  // All programs of that tenant, those that its clients upload included.
  std::map<control::TenantId, hostcalls::EnvironmentHandle> of_tenants = {};

  // A tenant's own variable goes before one of the operator's programs.
  hostcalls::EnvironmentHandle of(control::TenantId tenant, bool is_operators) const;
};

}  // namespace quire::server
