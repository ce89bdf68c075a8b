#pragma once
// `quire tokenize`, `detokenize` and `template`: the model's own text files, without an engine.
#include "cli/options.h"

namespace quire {

// Each returns an exit code of cli/exit_code.h.
int tokenize_command(const cli::TokenizeOptions& options);
int detokenize_command(const cli::DetokenizeOptions& options);
int template_command(const cli::TemplateOptions& options);

}  // namespace quire
