#pragma once
// `quire bench pages --trace FILE`: the hit rate of the page store's policies on a trace.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h.
int bench_pages_command(const cli::BenchPagesOptions& options);

}  // namespace quire
