#pragma once
#include "base/result.h"
#include "cli/options.h"

namespace quire {

// quire run --server: the same as in an engine here, on that of a server. Returns the exit code.
Result<int> run_remote(const cli::RunOptions& options);

}  // namespace quire
