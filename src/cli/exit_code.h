#pragma once
// ExitCode is what the process returns to its caller. docs/reference/cli.md and `quire --help` list
// the same numbers.
#include "base/result.h"

namespace quire::cli {

enum class ExitCode : int {
  Ok = 0,
  Failed = 1,         // The work failed, or its output could not be written. The message says what,
                      // which and how much.
  Usage = 2,          // A verb or flag that does not exist, or a value that a flag does not take.
  Missing = 3,        // A model or a file that is not there.
  GuestFailed = 4,    // The program is not a module, returned an error or an exit code that is not
                      // 0, trapped, was stopped, or ran into a limit.
  Interrupted = 130,  // Ctrl-C.
};

constexpr int number(ExitCode code) {
  return static_cast<int>(code);
}

// Whether another value of a flag can mend such an error. A disk that fails, a thread or a process
// that cannot be had, and a fault of our own are not the user's.
constexpr bool is_of_a_value(ErrorCode code) {
  return code != ErrorCode::Io && code != ErrorCode::Unavailable && code != ErrorCode::Internal;
}

// The exit code of a command that could not do its work. A message that begins with a flag is about
// its value: some values can only be judged once the machine or the model is known.
inline ExitCode exit_code_of(const Error& error) {
  if (error.message().starts_with("--") && is_of_a_value(error.code())) return ExitCode::Usage;
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
