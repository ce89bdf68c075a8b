#pragma once
// The verbs about one program of a running server. Each returns an exit code of cli/exit_code.h.
#include "cli/options_instances.h"

namespace quire {

// `quire attach ID`: prints what the program sends until it ends, with the exit codes of `quire
// run`. Ctrl-C detaches: the program goes on.
int attach_command(const cli::AttachOptions& options);

// `quire send ID`: messages and files for the program, whether a client is attached or not.
int send_command(const cli::SendOptions& options);

// `quire abort ID...`: tries all of them; the exit code is that of the first that failed.
int abort_command(const cli::AbortOptions& options);

}  // namespace quire
