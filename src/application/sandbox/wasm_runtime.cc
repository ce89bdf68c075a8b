#include "application/sandbox/wasm_runtime.h"

namespace quire::sandbox {

Result<void> check_first_memory(std::uint64_t bytes, std::uint64_t bytes_max) {
  if (bytes <= bytes_max) return {};
  return Error(ErrorCode::QuotaExceeded, "memory_bytes_max: the module begins with " +
                                             std::to_string(bytes) + " bytes, the limit is " +
                                             std::to_string(bytes_max));
}

Result<void> check_module_bytes(std::uint64_t bytes, std::uint64_t bytes_max) {
  if (bytes <= bytes_max) return {};
  return Error(ErrorCode::TooLarge, "the module has " + std::to_string(bytes) +
                                        " bytes, module_bytes_max is " + std::to_string(bytes_max));
}

}  // namespace quire::sandbox
