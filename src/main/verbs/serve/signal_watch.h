#pragma once
// SignalWatch calls a function for each signal of an Interrupt, on a thread of its own: for a
// process whose main thread sleeps on something else.
//
// Owns     the thread and what ends it.
// Thread   the function is called on the watch's thread.
#include <functional>
#include <thread>

#include "main/verbs/shared/interrupt.h"

namespace quire {

class SignalWatch {
 public:
  // Io when the kernel refuses, Unavailable if the system has no thread left. The interrupt
  // outlives the watch.
  static Result<SignalWatch> create(Interrupt& interrupt, std::function<void()> on_signal);
  SignalWatch(SignalWatch&& other) noexcept;
  SignalWatch& operator=(SignalWatch&&) = delete;
  ~SignalWatch();

 private:
  SignalWatch(int descriptor, std::thread thread);
  int descriptor_;  // An eventfd that ends the thread.
  std::thread thread_;
};

}  // namespace quire
