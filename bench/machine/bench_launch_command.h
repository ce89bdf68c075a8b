#pragma once
#include "cli/options_launch.h"

namespace quire {

// quire bench launch: from the request to launch to the program's first message, for many at once,
// each on a connection of its own to a server in this process. Returns an exit code of
// cli/exit_code.h.
int bench_launch_command(const cli::BenchLaunchOptions& options);

}  // namespace quire
