#pragma once
// The limits of a launch: those that its client is allowed, or the lower ones that it asks for.
#include "application/lifecycle/launch.h"
#include "base/result.h"
#include "service/launch.h"

namespace quire::lifecycle {

// OutOfRange names a limit that is above what is allowed.
Result<InstanceLimits> lowered(InstanceLimits allowed, const service::LaunchLimits& wanted);

}  // namespace quire::lifecycle
