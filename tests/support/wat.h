#pragma once
// Modules in the text format, assembled by wabt's wat2wasm (tools/packages.txt). The program itself takes binary
// modules alone, so it carries no assembler.
#include <string>
#include <string_view>

#include "base/result.h"
#include "support/process.h"

namespace quire::test {

// Names of functions are kept. The module is not validated, so that a test can bring an invalid one. InvalidArgument
// with wat2wasm's words for what is not the text of a module.
inline Result<std::string> wasm_from_wat(std::string_view text) {
  ProcessOptions options;
  options.input = std::string(text);
  ProcessResult end = run_process(
      {"/usr/bin/env", "wat2wasm", "--debug-names", "--no-check", "-", "--output=/dev/stdout"},
      options);
  if (end.exit_code == 0) return std::move(end.out);
  return Error(ErrorCode::InvalidArgument,
               "wat2wasm ended with " + std::to_string(end.exit_code) + ": " + end.err);
}

}  // namespace quire::test
