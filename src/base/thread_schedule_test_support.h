#pragma once
// For tests: the settings of the calling thread in the kernel's scheduler.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace quire {

inline int own_niceness() {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
}

}  // namespace quire
