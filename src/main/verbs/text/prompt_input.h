#pragma once
// The prompt of a verb, from where the user has it.
//
// Thread   the main thread; waits for standard input and for pipes.
#include <string>

#include "base/result.h"
#include "cli/options.h"

namespace quire {

// Returns the text itself, or the content of a file, a pipe or standard input. "-" stands for
// standard input, and so does no source at all if that is not a terminal. The newline that ends the
// last line is left out. InvalidArgument names the flags; TooLarge above 64 MiB.
Result<std::string> read_prompt(const cli::PromptSource& source);

}  // namespace quire
