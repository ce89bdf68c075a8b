#pragma once
// `quire config show`: each value of a server's configuration, and where it is said.
#include "cli/options_config.h"

namespace quire {

int config_command(const cli::ConfigOptions& options);

}  // namespace quire
