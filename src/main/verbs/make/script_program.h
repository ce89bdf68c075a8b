#pragma once
// A program that is given as a script (.js, .mjs, .ts, .mts): no compiler is needed, the module
// holds its files.
//
// Thread   the main thread.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

// By its ending.
bool is_script_source(const std::string& path);

// Whether the build says that a script cannot be evaluated. If it is run next, that says so.
enum class BrokenScript : std::uint8_t { IsReported, IsLeftToTheRun };

// Writes the module of a script; states on standard error what went wrong, and returns an exit code
// of cli/exit_code.h.
int build_script(const std::string& source, const std::string& module, BrokenScript broken);

// The reason why the options of a script cannot be read, with its file and line.
Result<void> check_script_options(const std::string& source);

// The files of which build_script() makes a module; the entry alone, while an import cannot be
// found.
std::vector<std::string> files_of_script(const std::string& source);

// The scripts of a folder that are programs, in their order: those that no other script of the
// folder imports.
std::vector<std::string> scripts_in(const std::string& folder);

}  // namespace quire
