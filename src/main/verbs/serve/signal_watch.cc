#include "main/verbs/serve/signal_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/start_thread.h"

namespace quire {

Result<SignalWatch> SignalWatch::create(Interrupt& interrupt, std::function<void()> on_signal) {
  Descriptor end(eventfd(0, EFD_CLOEXEC));
  if (end.get() < 0) return Error(ErrorCode::Io, std::string("eventfd: ") + std::strerror(errno));
  std::thread thread = TRY(start_thread(
      "signals", [&interrupt, descriptor = end.get(), on_signal = std::move(on_signal)] {
        while (interrupt.wait_for_input(descriptor) == Interrupt::Woken::Interrupted) on_signal();
      }));
  return SignalWatch(end.release(), std::move(thread));
}

SignalWatch::SignalWatch(int descriptor, std::thread thread)
    : descriptor_(descriptor), thread_(std::move(thread)) {}

SignalWatch::SignalWatch(SignalWatch&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), thread_(std::move(other.thread_)) {}

SignalWatch::~SignalWatch() {
  if (descriptor_ < 0) return;
  QUIRE_CHECK(eventfd_write(descriptor_, 1) == 0, "an eventfd takes one");
  thread_.join();
  close(descriptor_);
}

}  // namespace quire
