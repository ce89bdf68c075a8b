#pragma once
// `quire-bench pages`: times of the page store's own work; with --trace FILE the hit rate of its
// policies on a trace.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h.
int bench_pages_command(const cli::BenchPagesOptions& options);

}  // namespace quire
