#pragma once
// InputLines gives the lines of standard input as they arrive, without ever waiting for one.
//
// Owns     what was read and not yet taken, at most kBytesMax of it. A longer line comes in pieces.
// Thread   the main thread.
#include <chrono>
#include <cstddef>
#include <string>

namespace quire {

// A caller that waits for more than lines looks at them this often.
inline constexpr std::chrono::milliseconds kInputPeriod{10};

class InputLines {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{1} << 20;

  // Reads what is there now.
  void read();
  // The next line without its newline; null where none is complete. The last needs no newline.
  const std::string* front();
  void pop();
  // Standard input has ended, and every line was taken.
  bool ended();

 private:
  std::string pending_;
  std::string line_;  // What front() returned.
  bool has_line_ = false;
  bool is_at_end_ = false;
};

}  // namespace quire
