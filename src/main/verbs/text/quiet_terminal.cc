#include "main/verbs/text/quiet_terminal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/start_thread.h"

namespace quire {
namespace {

constexpr int kQuietSignals[] = {SIGTSTP, SIGTERM, SIGHUP, SIGQUIT};

// A process in the background that changes the terminal is stopped.
bool has_terminal() {
  return isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

}  // namespace

QuietTerminal::QuietTerminal(Keys keys) : keys_(keys) {
  if (!has_terminal() || tcgetattr(STDIN_FILENO, &before_) != 0) return;
  sigset_t set;
  sigemptyset(&set);
  for (const int each : kQuietSignals) sigaddset(&set, each);
  signals_ = Descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  end_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (signals_.get() < 0 || end_.get() < 0) return;
  pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
  Result<std::thread> thread = start_thread("a terminal", [this] { take_signals(); });
  if (!thread.ok()) {
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    return;
  }
  thread_ = std::move(thread).take();
  be_quiet();
}

QuietTerminal::~QuietTerminal() {
  if (!thread_.joinable()) return;
  constexpr std::uint64_t kOne = 1;
  (void)!::write(end_.get(), &kOne, sizeof kOne);
  thread_.join();
  restore();
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void QuietTerminal::be_quiet() const {
  if (!has_terminal()) return;
  termios quiet = before_;
  quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  if (keys_ == Keys::Letters) {
    // As the line editor has it, so that each key means the same there.
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON);
    quiet.c_iflag &= ~static_cast<tcflag_t>(ICRNL);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
  }
  tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
}

void QuietTerminal::restore() const {
  if (has_terminal()) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

void QuietTerminal::take_signals() const {
  while (true) {
    pollfd polled[] = {{signals_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    signalfd_siginfo signal;
    while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
      take(static_cast<int>(signal.ssi_signo));
    }
    if (polled[1].revents != 0) return;
  }
}

void QuietTerminal::take(int signal) const {
  restore();
  if (signal == SIGTSTP) {
    raise(SIGSTOP);  // Until the shell continues the process.
    be_quiet();
    return;
  }
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  std::abort();  // The default action has ended the process.
}

}  // namespace quire
