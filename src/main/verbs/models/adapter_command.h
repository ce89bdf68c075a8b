#pragma once
// `quire adapter`: adapters of a running server, and files of adapters.
#include "cli/options_adapter.h"

namespace quire {

int adapter_command(const cli::AdapterOptions& options);

}  // namespace quire
