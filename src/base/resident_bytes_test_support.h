#pragma once
// How much memory this process has, for tests that demand it back.
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace quire {

// What is resident now, of everything in the process; 0 if the kernel does not tell.
inline std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace quire
