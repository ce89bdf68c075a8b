#pragma once
// The measurements that quire-bench has and `quire bench` does not: of the parts of the engine.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h. Requires a kind other than Kv and Generate.
int engine_bench_command(const cli::BenchOptions& options);

}  // namespace quire
