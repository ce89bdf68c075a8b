#pragma once
// Terminal and Progress write for people: colors and progress on a terminal only, plain lines
// anywhere else.
//
// Owns     nothing; writes to standard error, so that standard output stays the command's result.
// Thread   the main thread.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace quire::cli {

enum class Colour : std::uint8_t { Plain, Red, Green, Yellow, Grey, Bold };

class Terminal {
 public:
  // Colors need a terminal, a TERM that is not "dumb", and no NO_COLOR.
  static Terminal standard_error();
  static Terminal standard_output();
  explicit Terminal(bool interactive) : interactive_(interactive) {}

  bool interactive() const { return interactive_; }
  std::string paint(std::string_view text, Colour colour) const;

 private:
  bool interactive_;
};

// Columns of the terminal that a descriptor is; 0: it is none.
std::uint32_t terminal_columns(int descriptor);
// For --help: those of standard output's terminal, or else of the variable COLUMNS, or 80.
std::uint32_t help_columns();

// Standard output and standard error are the same terminal, file or pipe: lines of one stand among those of the
// other.
bool are_read_together();

struct ProgressStyle {
  std::uint64_t first_ns = kSecond;  // What takes less time shows no progress.
  bool counts_bytes = false;
  bool is_for_terminals = false;  // Nothing is written elsewhere.
};

// Progress reports how far some work is, once it has taken a while. On a terminal it redraws one
// line and erases it in the end; elsewhere it writes a line every ten seconds.
class Progress {
 public:
  Progress(const Terminal& terminal, const Clock& clock, std::string what,
           ProgressStyle style = {});
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // total 0: unknown. Cheap: writes at most five times a second.
  void update(std::uint64_t done, std::uint64_t total);
  void finish();

 private:
  std::string amount(std::uint64_t value) const;

  const Terminal& terminal_;
  const Clock& clock_;
  const std::string what_;
  const ProgressStyle style_;
  const std::uint64_t begin_ns_;
  std::uint64_t next_ns_;
  bool shown_ = false;
};

// 1234567 bytes as "1.2 MiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace quire::cli
