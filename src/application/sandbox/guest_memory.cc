#include "application/sandbox/guest_memory.h"

namespace quire::sandbox {

Error GuestMemory::outside(std::uint64_t start, std::uint64_t wanted, const char* what) const {
  return Error(ErrorCode::OutOfRange, std::string(what) + ": " + std::to_string(wanted) +
                                          " bytes at " + std::to_string(start) +
                                          " reach outside a memory of " + std::to_string(bytes_));
}

}  // namespace quire::sandbox
