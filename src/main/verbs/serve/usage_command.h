#pragma once
// `quire usage`: prints the ledger of a server. A server that runs may write meanwhile.
#include "cli/options_usage.h"

namespace quire {

int usage_command(const cli::UsageOptions& options);

}  // namespace quire
