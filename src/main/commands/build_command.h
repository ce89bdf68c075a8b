#pragma once
// `quire build FILE.cpp -o FILE.wasm`: C++ to a program that `quire run` takes.
//
// It only finds things and calls clang: the compiler's own messages reach the user untouched. What
// is missing (clang, lld, wasi-libc, libc++ for wasm32) is named with the command that installs it.
#include "cli/options_build.h"

namespace quire {

// Builds, says on standard error what went wrong, and returns the exit code of cli/exit_code.h:
// Ok, Missing (a source, the compiler, a library or the SDK is not there), Failed (it does not
// compile or link).
int build_command(const cli::BuildOptions& options);

}  // namespace quire
