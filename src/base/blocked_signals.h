#pragma once
// Threads that are started while a BlockedSignals lives leave the signals that are sent to the
// process to the thread that waits for them. The calling thread gets its own mask back.
//
// The signals of a thread's own instructions stay. A trap of a WebAssembly program is one that the
// runtime handles; if it is blocked, the system ends the process.
#include <signal.h>

namespace quire {

class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int each : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGSYS}) sigdelset(&all, each);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace quire
