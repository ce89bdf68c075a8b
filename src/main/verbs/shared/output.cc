#include "main/verbs/shared/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "cli/terminal.h"
#include "cli/word_wrap.h"

namespace quire {
namespace {

constexpr std::size_t kStandardInputBytesMax = std::size_t{64} << 20;

// The text after its label, under which its further lines hang.
std::string labeled(std::string_view label, cli::Colour colour, std::string_view text) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const auto indent = static_cast<std::uint32_t>(label.size()) + 1;
  return terminal.paint(label, colour) + " " +
         cli::wrapped(
             text,
             {.width = cli::terminal_columns(STDERR_FILENO), .indent = indent, .column = indent});
}

}  // namespace

void open_standard_files() {
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(each, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one, since those before it are open.
    (void)!open("/dev/null", each == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void print(std::string_view text) {
  const bool is_first = std::ferror(stdout) == 0;
  const Result<void> printed = try_print(text);
  if (!printed.ok() && is_first) print_error(printed.error().message());
}

Result<void> try_print(std::string_view text) {
  errno = 0;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return {};
  return Error(ErrorCode::Io, std::string("standard output cannot be written: ") +
                                  std::strerror(errno == 0 ? EIO : errno));
}

int exit_code_after_output(int code) {
  const bool is_lost = std::ferror(stdout) != 0;
  return is_lost && code == cli::number(cli::ExitCode::Ok) ? cli::number(cli::ExitCode::Failed)
                                                           : code;
}

std::string error_text(std::string_view text) {
  return labeled("error:", cli::Colour::Red, text);
}

std::string warning_text(std::string_view text) {
  return labeled("warning:", cli::Colour::Yellow, text);
}

void print_error(std::string_view text) {
  std::fprintf(stderr, "%s%s", error_text(text).c_str(), text.ends_with('\n') ? "" : "\n");
}

void warn(const std::string& line) {
  std::fprintf(stderr, "%s\n", warning_text(line).c_str());
}

void print_note(std::string_view text, cli::Colour colour) {
  constexpr std::uint32_t kIndent = 2;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  const std::string lines =
      cli::wrapped(text, {.width = cli::terminal_columns(STDERR_FILENO), .indent = kIndent});
  std::fprintf(stderr, "%s\n", terminal.paint(lines, colour).c_str());
}

int fail(const Error& error) {
  print_error(error.message());
  return cli::number(cli::exit_code_of(error));
}

int fail(cli::ExitCode code, std::string_view message) {
  print_error(message);
  return cli::number(code);
}

int fail_program(const Error& error) {
  const int code = fail(error);
  const bool is_of_file = error.code() == ErrorCode::NotFound ||
                          error.code() == ErrorCode::PermissionDenied ||
                          error.code() == ErrorCode::Io;
  return is_of_file ? code : cli::number(cli::ExitCode::GuestFailed);
}

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

Result<std::string> read_standard_input() {
  std::string text;
  char part[65536];
  while (true) {
    const std::size_t count = std::fread(part, 1, sizeof part, stdin);
    text.append(part, count);
    if (text.size() > kStandardInputBytesMax) {
      return Error(ErrorCode::TooLarge, "standard input is longer than 64 MiB");
    }
    if (count < sizeof part) break;
  }
  if (std::ferror(stdin) != 0) return Error(ErrorCode::Io, "standard input cannot be read");
  return text;
}

}  // namespace quire
