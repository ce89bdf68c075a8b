#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/clock.h"
#include "base/readable.h"
#include "cli/help_layout.h"

namespace quire::cli {
namespace {

constexpr std::uint64_t kRedrawNs = kSecond / 5;
constexpr std::uint64_t kLineNs = 10 * kSecond;

bool is_terminal(int descriptor) {
  if (isatty(descriptor) == 0 || std::getenv("NO_COLOR") != nullptr) return false;
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) != "dumb";
}

// COLUMNS, which shells export where a user says so.
std::optional<std::uint32_t> columns_variable() {
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const unsigned long columns = std::strtoul(text, &end, 10);
  if (end == text || *end != '\0' || columns == 0 || columns > UINT16_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(columns);
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::Plain:
      return "";
    case Colour::Red:
      return "\033[31m";
    case Colour::Green:
      return "\033[32m";
    case Colour::Yellow:
      return "\033[33m";
    case Colour::Grey:
      return "\033[90m";
    case Colour::Bold:
      return "\033[1m";
  }
  return "";
}

}  // namespace

Terminal Terminal::standard_error() {
  return Terminal(is_terminal(STDERR_FILENO));
}
Terminal Terminal::standard_output() {
  return Terminal(is_terminal(STDOUT_FILENO));
}

std::uint32_t terminal_columns(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return columns_variable().value_or(kUsualColumns);  // A serial line, say.
}

std::uint32_t help_columns() {
  const std::uint32_t shown = terminal_columns(STDOUT_FILENO);
  const std::uint32_t columns = shown > 0 ? shown : columns_variable().value_or(kUsualColumns);
  return std::min(columns, kHelpColumnsMax);
}

bool are_read_together() {
  struct stat out{};
  struct stat err{};
  if (fstat(STDOUT_FILENO, &out) != 0 || fstat(STDERR_FILENO, &err) != 0) return false;
  if (isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0) return out.st_rdev == err.st_rdev;
  return out.st_dev == err.st_dev && out.st_ino == err.st_ino;  // As after 2>&1.
}

std::string Terminal::paint(std::string_view text, Colour colour) const {
  if (!interactive_ || colour == Colour::Plain) return std::string(text);
  return code_of(colour) + std::string(text) + "\033[0m";
}

Progress::Progress(const Terminal& terminal, const Clock& clock, std::string what,
                   ProgressStyle style)
    : terminal_(terminal),
      clock_(clock),
      what_(std::move(what)),
      style_(style),
      begin_ns_(clock.now_ns()),
      next_ns_(begin_ns_ + style.first_ns) {}

std::string Progress::amount(std::uint64_t value) const {
  return style_.counts_bytes ? readable_bytes(value) : std::to_string(value);
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (style_.is_for_terminals && !terminal_.interactive()) return;
  const std::uint64_t now = clock_.now_ns();
  if (now < next_ns_) return;
  next_ns_ = now + (terminal_.interactive() ? kRedrawNs : kLineNs);
  std::string line = what_ + ": " + amount(done);
  if (total != 0) {
    line += " of " + amount(total) + " (" +
            std::to_string(static_cast<unsigned>(100.0 * static_cast<double>(done) /
                                                 static_cast<double>(total))) +
            " %)";
  }
  line += ", " + std::to_string((now - begin_ns_) / kSecond) + " s";
  if (terminal_.interactive()) {
    std::fprintf(stderr, "\r\033[K%s", terminal_.paint(line, Colour::Grey).c_str());
    std::fflush(stderr);
    shown_ = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

void Progress::finish() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

std::string bytes_text(std::uint64_t bytes) {
  return readable_bytes(bytes);
}

}  // namespace quire::cli
