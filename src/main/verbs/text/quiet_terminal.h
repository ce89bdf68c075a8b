#pragma once
// While a QuietTerminal lives, the terminal does not show what the user types, and keeps it for the
// next prompt. So keys do not land in the middle of a reply.
//
// Ctrl-C stays with the caller. Ctrl-Z restores the terminal and stops the process, and SIGTERM,
// SIGHUP and SIGQUIT restore it and end the process. Threads that live meanwhile must have these
// signals blocked (base/blocked_signals.h).
//
// Owns     the modes of the terminal that standard input is, and a thread that takes these signals.
//          It does nothing if standard input is not a terminal, if another process has the
//          terminal, or if the system refuses: then the terminal shows what is typed.
// Thread   the main thread.
#include <signal.h>
#include <termios.h>

#include <cstdint>
#include <thread>

#include "base/descriptor.h"

namespace quire {

class QuietTerminal {
 public:
  // The next reader of standard input takes letters, as the line editor does, or lines.
  enum class Keys : std::uint8_t { Letters, Lines };

  explicit QuietTerminal(Keys keys);
  ~QuietTerminal();
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

 private:
  void be_quiet() const;
  void restore() const;
  void take_signals() const;
  void take(int signal) const;

  const Keys keys_;
  termios before_{};
  sigset_t mask_before_{};
  Descriptor signals_;
  Descriptor end_;  // Written to for the thread to end.
  std::thread thread_;
};

}  // namespace quire
