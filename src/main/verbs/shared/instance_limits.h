#pragma once
// The lifecycle's word for what the user lets an instance have.
#include <cstdint>
#include <string_view>
#include <vector>

#include "application/lifecycle/launch.h"
#include "base/instance_limits.h"
#include "base/result.h"
#include "cli/options.h"

namespace quire {

// InvalidArgument names the flag whose value is wrong.
Result<lifecycle::InstanceLimits> instance_limits(const cli::InstanceOptions& options);

// The limits that the user gave by their names.
void set_limits(lifecycle::InstanceLimits& limits, const std::vector<InstanceLimitValue>& values);
bool names_limit(const std::vector<InstanceLimitValue>& values, std::string_view name);

// The most pages of an instance on a server whose operator did not set it: a quarter of the largest
// pool, so that one program cannot hold what all need. In a small pool it is the pages of 2,048
// tokens, or the whole pool if that has less.
std::uint32_t shared_page_count_max(const std::vector<control::ModelDescription>& models);

}  // namespace quire
