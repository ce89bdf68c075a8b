#pragma once
// Limits of an instance by the names that an operator gives them (base/instance_limits.h).
#include <cstddef>
#include <cstdint>

#include "application/lifecycle/launch.h"
#include "base/instance_limits.h"

namespace quire::lifecycle {

void set_limit(InstanceLimits& limits, const InstanceLimitValue& setting);
// The value of kInstanceLimits[index].
std::uint64_t limit_value(const InstanceLimits& limits, std::size_t index);

}  // namespace quire::lifecycle
