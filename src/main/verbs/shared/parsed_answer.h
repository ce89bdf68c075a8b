#pragma once
// Prints what the command line answers by itself: a help, a version, or the mistake.
#include "cli/parse.h"

namespace quire {

// Requires that `parsed` has no request. `has_no_words`: the user gave no argument, so that the
// help goes to standard
// error. Returns an exit code of cli/exit_code.h.
int print_answer(const cli::Parsed& parsed, bool has_no_words);

}  // namespace quire
