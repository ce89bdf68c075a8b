#pragma once
// What the commands share in talking to their user.
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/exit_code.h"

namespace quire {

// Writes to standard output at once; a reader that went away is not an error of ours.
void print(std::string_view text);

// "error: ..." and "warning: ..." on standard error.
void print_error(std::string_view text);
std::string error_text(std::string_view text);
void warn(const std::string& line);

// The error on standard error, and the exit code for it.
int fail(const Error& error);
// The same where the command knows the exit code itself.
int fail(cli::ExitCode code, std::string_view message);

// The same for a program that cannot be run: GuestFailed, unless its file cannot be read.
int fail_program(const Error& error);

// With digits after the point.
std::string decimal(double value, int digits);

// Reads all of standard input, at most 64 MiB.
Result<std::string> read_standard_input();

}  // namespace quire
