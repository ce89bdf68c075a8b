#pragma once
// `quire run PROGRAM`: an engine in this process, and one instance or one for each line of a file.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h: GuestFailed when any instance did not end well.
int run_command(const cli::RunOptions& options);

}  // namespace quire
