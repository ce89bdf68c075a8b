#pragma once
// What the process tells its caller. docs/cli.md and `quire --help` list the same numbers.
#include "base/result.h"

namespace quire::cli {

enum class ExitCode : int {
  Ok = 0,
  Failed = 1,         // The work failed: the message says what, which and how much.
  Usage = 2,          // A flag, a value or a verb that does not exist.
  Missing = 3,        // A model or a file that is not there.
  GuestFailed = 4,    // The program is no module, trapped, or ran into a limit.
  Interrupted = 130,  // Ctrl-C.
};

constexpr int number(ExitCode code) {
  return static_cast<int>(code);
}

// The exit code of a command that could not do its work.
inline ExitCode exit_code_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::NotFound:
      return ExitCode::Missing;
    case ErrorCode::Cancelled:
      return ExitCode::Interrupted;
    default:
      return ExitCode::Failed;
  }
}

}  // namespace quire::cli
