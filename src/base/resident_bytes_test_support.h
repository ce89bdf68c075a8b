#pragma once
// How much memory this process has, for tests that demand it back.
#include <unistd.h>

#include <cstddef>
#include <fstream>

#include "base/sanitizer.h"

namespace quire {

// The resident memory of the whole process; 0 if the kernel does not report it.
inline std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// By how much resident_bytes() has grown. 0 under a sanitizer, which keeps freed memory and finds
// leaks by itself.
inline std::size_t resident_growth(std::size_t since) {
  const std::size_t now = resident_bytes();
  return kUnderSanitizer || now < since ? 0 : now - since;
}

}  // namespace quire
