#pragma once
// What a launch gets: the limits of its tenant, or the lower ones that it asks for.
#include "application/server/server_limits.h"
#include "base/result.h"
#include "service/launch.h"

namespace quire::server {

// OutOfRange names a limit that is above what the server allows.
Result<lifecycle::InstanceLimits> limits_of(const ServiceLimits& service, control::TenantId tenant,
                                            const service::LaunchLimits& wanted);

}  // namespace quire::server
