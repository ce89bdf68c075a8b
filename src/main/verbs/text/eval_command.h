#pragma once
// `quire eval`: mean_nll, perplexity and all logits of a text, for comparison with other engines.
#include "cli/options.h"

namespace quire {

// Returns an exit code of cli/exit_code.h.
int eval_command(const cli::EvalOptions& options);

}  // namespace quire
