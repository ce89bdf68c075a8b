#pragma once
// `quire chat`: a conversation whose history stays in one context.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h.
int chat_command(const cli::ChatOptions& options);

}  // namespace quire
