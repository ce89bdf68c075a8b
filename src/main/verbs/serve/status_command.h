#pragma once
#include "cli/options_status.h"

namespace quire {

// `quire status`: what a server reports about its tenants and their programs. Returns the exit
// code.
int status_command(const cli::StatusOptions& options);

}  // namespace quire
