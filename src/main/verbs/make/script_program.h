#pragma once
// A program that is given as a script (.js, .mjs, .ts, .mts): no compiler is needed, the module
// holds its files.
//
// Thread   the main thread.
#include <string>
#include <vector>

namespace quire {

// By its ending.
bool is_script_source(const std::string& path);

// Writes the module of a script; states on standard error what went wrong, and returns an exit code
// of cli/exit_code.h.
int build_script(const std::string& source, const std::string& module);

// The files of which build_script() makes a module; the entry alone, while an import cannot be
// found.
std::vector<std::string> files_of_script(const std::string& source);

// The scripts of a folder that are programs, in their order: those that no other script of the
// folder imports.
std::vector<std::string> scripts_in(const std::string& folder);

}  // namespace quire
