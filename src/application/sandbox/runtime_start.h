#pragma once
// What the build of a runtime for scripts needs of the engine: to start it once, without a host,
// and to compile what it then is (main/modules/runtime_image.h).
//
// Thread   any; nothing is kept.
// Errors   InvalidArgument where the module is not valid, lacks an export, traps, calls its host,
//          or runs into a limit; NotSupported in a build without Wasm.
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

// Code that make_wasmtime_runtime() takes where the address space holds its whole pool and traps
// tell no lines: on a machine with the abilities of this one.
Result<std::string> compile_ahead(std::span<const std::byte> wasm);

}  // namespace quire::sandbox
