#pragma once
// A program that `quire run` is given as its C++ source: compiled quickly, for this one run.
//
// Thread   the main thread; waits for the compiler, whose messages reach the user.
#include <string>

namespace quire {

// By its ending.
bool is_cpp_source(const std::string& path);

// Makes a module of `source`, says on standard error what went wrong, and returns an exit code of
// cli/exit_code.h, as build_command() does.
int build_for_run(const std::string& source, const std::string& module);

}  // namespace quire
