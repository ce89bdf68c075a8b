#pragma once
// The checks of a module before it is compiled. It must be Wasm, small enough, and have an entry.
// It may import only what is offered, under the right types, and have no loops that would hold a
// compiler up. The check also finds how long its code could go on without being cut. The compiler
// validates the rest.
//
// Thread   any; nothing is kept.
// Errors   InvalidArgument names what is wrong and at which byte; NotSupported names the import;
//          TooLarge names the limit.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "application/sandbox/wasm_runtime.h"
#include "base/result.h"

namespace quire::sandbox {

struct ModuleLimits {
  std::uint64_t module_bytes_max = 16u << 20;
  std::uint32_t function_count_max = 100'000;
  std::uint32_t type_count_max = 100'000;
  std::uint32_t import_count_max = 1'000;
  std::uint32_t export_count_max = 10'000;
  std::uint32_t loop_depth_max = 100;  // Loops inside loops, of one function.
};

enum class ModuleEntry : std::uint8_t { Run, Start };  // `run` of a reactor, `_start` of a command.

struct ModuleSummary {
  ModuleEntry entry = ModuleEntry::Run;
  bool entry_returns_code = false;  // run: func() -> i32
  bool has_initialize = false;      // `_initialize`, which a reactor wants called first.
  bool has_memory = false;          // Exports "memory".
  bool makes_byte_code = false;     // Exports `compile`, as runtimes of scripts may.
  std::uint64_t memory_pages_min = 0;
  std::uint32_t function_count = 0;        // Defined, not imported.
  std::uint32_t bulk_operation_count = 0;  // Of the function that has most: see check_bodies().
};

Result<ModuleSummary> check_module(std::span<const std::byte> wasm,
                                   std::span<const HostFunction> offered,
                                   const ModuleLimits& limits = {});

}  // namespace quire::sandbox
