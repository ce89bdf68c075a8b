#include "inference/memory/mapped_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace quire::inference {

Result<MappedMemory> MappedMemory::create(std::size_t bytes) {
  constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;
  if (bytes == 0) return MappedMemory();
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return Error(ErrorCode::Unavailable, "cannot reserve " + std::to_string(bytes) +
                                             " bytes of memory: " + std::strerror(errno));
  }
  // Only advice: a kernel without large pages is slower and just as right.
  if (bytes >= kLargePageBytes) static_cast<void>(madvise(base, bytes, MADV_HUGEPAGE));
  return MappedMemory(static_cast<std::byte*>(base), bytes);
}

MappedMemory::~MappedMemory() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

}  // namespace quire::inference
