#pragma once
// The sandbox of the processes that compile what clients upload, at the start of a server.
#include "application/server/log_event.h"
#include "base/result.h"
#include "cli/options_serve.h"
#include "workers/worker_wall.h"

namespace quire {

// Returns what the report says, and reports to the operator what is missing. If the operator
// requires the whole sandbox, a part that is missing is Unavailable.
Result<workers::WallReport> check_compiler_sandbox(Result<workers::WallReport> found,
                                                   cli::CompileSandbox wanted,
                                                   const server::TellOperator& tell);

}  // namespace quire
