#pragma once
// finish_module() is the last step of a program's build, after the linker: short names of functions
// for backtraces, and the options that the program declares in the section quire.options.
//
// Thread   any; plain functions.
// Errors   InvalidArgument where the bytes are not a module; Io where a file cannot be read or
//          written.
#include <string>
#include <string_view>

#include "base/result.h"

namespace quire::modules {

struct FinishedModule {
  std::string wasm;
  // Why the module has no declared options although its program exports some; empty if it has them,
  // or exports none. The program runs all the same, so this is a warning.
  std::string options_failure;
};

// An object that a linker takes stays as it is.
Result<FinishedModule> finish_module(std::string_view wasm);

// The same for the module in a file, which is replaced at once: a reader sees one or the other.
// Returns FinishedModule::options_failure.
Result<std::string> finish_module_file(const std::string& path);

}  // namespace quire::modules
