#pragma once
// `quire build FILE.cpp -o FILE.wasm` makes a program for `quire run` of C++ sources.
// cargo_project.h does so for a Cargo project.
//
// It only finds things and calls clang: the compiler's own messages reach the user untouched. An
// error names what is missing (clang, lld, wasi-libc, libc++ for wasm32) and how to install it.
#include <string>

#include "cli/options_build.h"

namespace quire {

// Builds, and reports errors on standard error. Returns an exit code of cli/exit_code.h. Missing: a
// source, the compiler, a library or the SDK is not there. Failed: it does not compile or link.
int build_command(const cli::BuildOptions& options);

// The last step, after the linker (main/modules/finish_module.h): the file `made` becomes the
// program `output`, which may be the same file. Says what went wrong and returns the exit code.
int finish_program(const std::string& made, const std::string& output);

// Says why the compiler failed: errors in the program, a signal, or a library that is not there.
// `outcome` is what does not exist now. Returns the exit code.
int fail_build(const std::string& compiler, int compiler_exit_code, const std::string& outcome);

}  // namespace quire
