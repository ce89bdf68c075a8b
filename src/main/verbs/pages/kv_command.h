#pragma once
// `quire kv list | show | export | import | delete | verify | gc`: the saved contexts of this user,
// without a model and without an engine.
#include "cli/options_kv.h"

namespace quire {

// Returns an exit code of cli/exit_code.h: Failed when verify finds damage.
int kv_command(const cli::KvOptions& options);

}  // namespace quire
