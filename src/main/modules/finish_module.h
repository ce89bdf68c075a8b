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

// The same for the module in the file `made`. `output`, which may be the same file, is replaced at
// once: a reader sees the earlier module or the new one, also where several processes write it.
// Returns FinishedModule::options_failure.
Result<std::string> finish_module_file(const std::string& made, const std::string& output);

}  // namespace quire::modules
