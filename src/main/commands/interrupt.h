#pragma once
// Interrupt turns Ctrl-C into a value that is asked for, so that it stops a reply and not the
// process. While one lives, SIGINT is blocked for this thread and those it starts later.
//
// Owns     a signalfd. Build it before any thread is started.
// Thread   the main thread.
// Errors   Io when the kernel refuses.
#include "base/result.h"

namespace quire {

class Interrupt {
 public:
  static Result<Interrupt> create();
  Interrupt(Interrupt&& other) noexcept;
  Interrupt& operator=(Interrupt&&) = delete;
  ~Interrupt();

  // Whether Ctrl-C was pressed since the last call.
  bool take();
  enum class Woken : unsigned char { Input, Interrupted };
  // Until `descriptor` can be read (or has ended), or Ctrl-C, which is taken.
  Woken wait_for_input(int descriptor);

 private:
  explicit Interrupt(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace quire
