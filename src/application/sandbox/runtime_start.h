#pragma once
// The engine's part in the build of a runtime for scripts. It starts the runtime once, without a
// host, and compiles the state that it then has (main/modules/runtime_image.h).
//
// Thread   any; nothing is kept.
// Errors   InvalidArgument if the module is not valid, or lacks an export. Also if it traps, calls
//          its host, or runs into a limit. NotSupported in a build without Wasm.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace quire::sandbox {

struct StartLimits {
  std::uint64_t fuel = 20'000'000'000;  // Operations, about: some 20 s.
  std::uint64_t memory_bytes_max = 64u << 20;
};

// Names under which the module exports what may change; all belong to itself.
struct StartExports {
  std::string memory;
  std::vector<std::string> globals;  // Mutable, of a number's type.
};

struct StartedState {
  std::string memory;
  std::vector<std::uint64_t> globals;  // In the order of the exports; a float as its bits.
};

// Calls `_initialize`, if the module has it, and `init`.
Result<StartedState> start_runtime(std::span<const std::byte> wasm, const StartExports& exports,
                                   const StartLimits& limits = {});

// Code that make_wasmtime_runtime() takes on a machine with the abilities of this one. The address
// space must hold its whole pool, and traps must have no line numbers.
Result<std::string> compile_ahead(std::span<const std::byte> wasm);

}  // namespace quire::sandbox
