#pragma once
#include "cli/options_instances.h"

namespace quire {

// `quire ps`: the programs of a running server that the key may see. Returns an exit code of
// cli/exit_code.h.
int ps_command(const cli::PsOptions& options);

}  // namespace quire
