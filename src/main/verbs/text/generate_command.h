#pragma once
// `quire generate`: the host's own loop, a guest without Wasm.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h.
int generate_command(const cli::GenerateOptions& options);

}  // namespace quire
