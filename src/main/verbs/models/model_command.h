#pragma once
// `quire model list | show | add | remove | verify`: the models of this user.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h.
int model_command(const cli::ModelOptions& options);

}  // namespace quire
