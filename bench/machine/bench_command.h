#pragma once
// `quire bench generate` and `quire bench kv`: what this machine does with a model, as a table.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h.
int bench_command(const cli::BenchOptions& options);

}  // namespace quire
