#pragma once
// The commands share this output to their user.
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"

namespace quire {

// Opens what the caller closed of standard input, output and error, so that no other file gets their numbers.
// Reads and writes fail there. Before anything else is opened.
void open_standard_files();

// Writes to standard output at once. The first failure is reported on standard error, and makes the exit code
// of the process that of a failure (exit_code_after_output). Without SIGPIPE's action, which ends the process, a
// reader that went away is such a failure.
void print(std::string_view text);
// The same for text that must have arrived before the work goes on. Io says why it did not.
Result<void> try_print(std::string_view text);
// `code`, or Failed if something could not be printed and `code` says nothing of a failure.
int exit_code_after_output(int code);

// "error: ..." and "warning: ..." on standard error. A terminal gets lines broken between words.
void print_error(std::string_view text);
std::string error_text(std::string_view text);
std::string warning_text(std::string_view text);
void warn(const std::string& line);
// A line beside the work, as that with its figures; broken likewise.
void print_note(std::string_view text, cli::Colour colour = cli::Colour::Grey);

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
