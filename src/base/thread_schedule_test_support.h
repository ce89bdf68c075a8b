#pragma once
// For tests: what the kernel's scheduler has been told of the calling thread.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace quire {

inline int own_niceness() {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
}

}  // namespace quire
