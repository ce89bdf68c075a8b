#pragma once
#include "cli/options_serve.h"

namespace quire {

// quire serve: lets clients run programs on an engine here, until a signal ends it. Returns the
// exit code.
int serve_command(const cli::ServeOptions& options);

}  // namespace quire
