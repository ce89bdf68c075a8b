#pragma once
// `quire keys`: changes and lists a file of keys. Needs no model and no server.
#include "cli/options_keys.h"

namespace quire {

int keys_command(const cli::KeysOptions& options);

}  // namespace quire
