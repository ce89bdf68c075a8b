#pragma once
// `quire new NAME [--template T]`: a project folder with main.cpp, README.md, a Makefile that builds and runs with
// this program wherever the folder is, and the compiler's flags for editors.
#include "cli/options_new.h"

namespace quire {

// Makes the folder, prints what to do next and returns the exit code of cli/exit_code.h: Ok, Usage
// (an invalid name, an unknown template), Failed (the folder exists, or cannot be written).
int new_command(const cli::NewOptions& options);

}  // namespace quire
