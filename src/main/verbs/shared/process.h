#pragma once
// Other programs, run to their end, with the default action for each signal and none blocked.
//
// Thread   the caller waits. Errors: NotFound when there is no such program, Io when it cannot run.
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

enum class ProcessOutput : std::uint8_t {
  Show,          // Its standard output and error are ours.
  Hide,          // Both are thrown away.
  Return,        // Standard output comes back (at most 1 MiB), standard error is thrown away.
  ReturnOutput,  // The same, and standard error is ours.
  ReturnErrors,  // Standard error comes back (at most 1 MiB), standard output is ours.
};

struct ProcessEnd {
  int exit_code = 0;  // 128 + the signal's number when a signal ended it.
  std::string output;
};

// `arguments[0]` is a path, or a name to look up in PATH.
Result<ProcessEnd> run_process(const std::vector<std::string>& arguments, ProcessOutput output);

}  // namespace quire
