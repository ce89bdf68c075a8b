#include "main/verbs/shared/interrupt.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace quire {

Result<Interrupt> Interrupt::create(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : signals) sigaddset(&set, each);
  if (const int failed = pthread_sigmask(SIG_BLOCK, &set, nullptr); failed != 0) {
    return Error(ErrorCode::Io, std::string("signals cannot be blocked: ") + std::strerror(failed));
  }
  const int descriptor = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor < 0) {
    return Error(ErrorCode::Io, std::string("signalfd: ") + std::strerror(errno));
  }
  return Interrupt(descriptor);
}

Interrupt::Interrupt(Interrupt&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

Interrupt::~Interrupt() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Interrupt::take() {
  signalfd_siginfo signal;
  bool taken = false;
  while (read(descriptor_, &signal, sizeof signal) == sizeof signal) taken = true;
  return taken;
}

Interrupt::Woken Interrupt::wait_for_input(int descriptor,
                                           std::optional<std::chrono::milliseconds> limit) {
  while (true) {
    pollfd polled[] = {{descriptor, POLLIN, 0}, {descriptor_, POLLIN, 0}};
    const int ready = poll(polled, 2, limit ? static_cast<int>(limit->count()) : -1);
    if (ready < 0 && errno != EINTR) return Woken::Input;
    if (take()) return Woken::Interrupted;
    if (ready > 0 && polled[0].revents != 0) return Woken::Input;
    if (ready == 0) return Woken::Late;
  }
}

}  // namespace quire
