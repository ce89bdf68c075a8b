#pragma once
// Interrupt turns Ctrl-C into a value that is asked for, so that it stops a reply and not the
// process; likewise other signals that are wanted. While one lives, they are blocked for this
// thread and those it starts later.
//
// Owns     a signalfd. Build it before any thread is started.
// Thread   one at a time.
// Errors   Io when the kernel refuses.
#include <signal.h>

#include <chrono>
#include <initializer_list>
#include <optional>

#include "base/result.h"

namespace quire {

class Interrupt {
 public:
  static Result<Interrupt> create(std::initializer_list<int> signals = {SIGINT});
  Interrupt(Interrupt&& other) noexcept;
  Interrupt& operator=(Interrupt&&) = delete;
  ~Interrupt();

  // Whether a signal came since the last call.
  bool take();
  enum class Woken : unsigned char { Input, Interrupted, Late };
  // Until `descriptor` can be read (or has ended), a signal comes, which is taken, or, with a limit, so much
  // time has passed.
  Woken wait_for_input(int descriptor, std::optional<std::chrono::milliseconds> limit = {});

 private:
  explicit Interrupt(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace quire
