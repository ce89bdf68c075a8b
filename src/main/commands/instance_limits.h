#pragma once
// The lifecycle's word for what the user lets an instance have.
#include "application/lifecycle/launch.h"
#include "base/result.h"
#include "cli/options.h"

namespace quire {

// InvalidArgument names the flag whose value is wrong.
Result<lifecycle::InstanceLimits> instance_limits(const cli::InstanceOptions& options);

}  // namespace quire
