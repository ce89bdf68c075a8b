#pragma once
// WasmtimeRuntime runs guests on wasmtime: pooled instances, one parked stack each, cut by a 1 ms
// epoch. Cranelift compiles modules, and its code is cached on disk. At first Winch may compile
// one, in a sixth of the time; its code is not cached. Winch has had the worse security record, so
// it compiles for users that may run the operator's programs. Clients' modules are compiled by
// either in a process of its own.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "application/sandbox/compile_process.h"
#include "application/sandbox/module_check.h"
#include "application/sandbox/wasm_runtime.h"

namespace quire::sandbox {

struct WasmtimeOptions {
  std::uint32_t instance_count_max = 1024;      // Fewer where the address space is small.
  std::uint64_t memory_bytes_max = 128u << 20;  // No instance can have more.
  std::uint32_t table_element_count_max = 20'000;
  std::uint64_t address_space_bytes_max = UINT64_MAX;  // Reserve no more; tests make it small.
  std::string cache_folder{};                          // Empty: compiled code is not kept.
  bool has_quick = true;  // Winch too, if the address space holds a second pool.
  // Whether traps of modules with debugging information name files and lines. The author of a
  // module wrote that information, so it is read only if the author runs the engine.
  bool traps_tell_lines = false;
  ModuleLimits module{};
  // The folder of script_runtimes.h, for scripts. Empty: there are none.
  std::string runtimes_folder{};
  // The program that compiles a client's module, with its arguments (compile_worker.h), and the
  // limits on it. Empty: this process does.
  std::vector<std::string> compiler_command{};
  CompileLimits compile{};
};

// Errors: Unavailable when the address space holds no pool, with the figures; PermissionDenied for
// a cache folder that is not ours alone; NotSupported in a build without Wasm. `functions` and what
// they point to outlive the runtime.
Result<std::unique_ptr<WasmRuntime>> make_wasmtime_runtime(std::span<const HostFunction> functions,
                                                           const WasmtimeOptions& options);

}  // namespace quire::sandbox
