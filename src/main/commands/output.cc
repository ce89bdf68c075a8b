#include "main/commands/output.h"

#include <cstdint>
#include <cstdio>

#include "cli/terminal.h"

namespace quire {
namespace {

constexpr std::size_t kInputBytesMax = std::size_t{64} << 20;

}  // namespace

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string error_text(std::string_view text) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  return terminal.paint("error:", cli::Colour::Red) + " " + std::string(text);
}

void print_error(std::string_view text) {
  std::fprintf(stderr, "%s%s", error_text(text).c_str(), text.ends_with('\n') ? "" : "\n");
}

void warn(const std::string& line) {
  const cli::Terminal terminal = cli::Terminal::standard_error();
  std::fprintf(stderr, "%s %s\n", terminal.paint("warning:", cli::Colour::Yellow).c_str(),
               line.c_str());
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
    if (text.size() > kInputBytesMax) {
      return Error(ErrorCode::TooLarge, "standard input is longer than 64 MiB");
    }
    if (count < sizeof part) break;
  }
  if (std::ferror(stdin) != 0) return Error(ErrorCode::Io, "standard input cannot be read");
  return text;
}

}  // namespace quire
