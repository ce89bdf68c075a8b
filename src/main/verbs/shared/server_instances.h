#pragma once
// The instances of a running server that a key may see, for `quire ps` and for completion.
#include <chrono>
#include <string>

#include "base/result.h"
#include "cli/options_instances.h"
#include "service/figures.h"

namespace quire {

// Each step waits at most so long. Errors of the server: PermissionDenied for a key that sees none.
Result<service::StatusDetail> instances_of(const cli::ServerChoice& server,
                                           std::chrono::milliseconds time_max);

// The program of an instance in a table: its name, or the first digits of its digest.
std::string program_label(const service::InstanceStatus& instance);

}  // namespace quire
