#pragma once
// The options that a program declares (the section quire.options of its module), before a model is
// opened for it: their help, and mistakes on the command line.
//
// Thread   any.
#include "base/result.h"
#include "cli/options.h"

namespace quire {

// Whether the words of the command line ask for them: --help, unless the program has such an option.
bool asks_for_program_help(const cli::RunOptions& options);

// `quire run PROGRAM --help`: prints them and returns an exit code of cli/exit_code.h.
int show_program_options(const cli::RunOptions& options);

// InvalidArgument for the first word that the program would refuse, in its own words. A program that
// is not a file here, or does not say which options it has, is asked when it runs. So are those of
// --each, because the failure of one is its own, and those of --json, whose ends are records.
Result<void> check_program_options(const cli::RunOptions& options);

}  // namespace quire
