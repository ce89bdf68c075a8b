#pragma once
// ClosedInstance: a module that runs by itself, without a host: on an engine and in a store of its
// own, with so much fuel and memory. A call of an import traps, and the trap names the import.
//
// Owns     the engine, the store and the instance; what find() gives is valid as long as it is
//          there.
// Thread   any one.
// Errors   InvalidArgument, with the message of the compiler, or of the trap in which a call ended.
#include <wasmtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "application/sandbox/wasmtime_handles.h"
#include "base/result.h"

namespace quire::sandbox {

struct ClosedLimits {
  std::uint64_t fuel = 0;
  std::uint64_t memory_bytes_max = 0;
  std::int64_t table_count_max = 1;
};

// Winch compiles in a tenth of the time that Cranelift takes: for code that runs for some
// microseconds.
enum class ClosedCompiler : std::uint8_t { Winch, Cranelift };

class ClosedInstance {
 public:
  ClosedInstance(ClosedCompiler compiler, const ClosedLimits& limits);
  ClosedInstance(const ClosedInstance&) = delete;
  ClosedInstance& operator=(const ClosedInstance&) = delete;

  Result<void> instantiate(std::span<const std::byte> wasm);
  // The export of that name; none if there is none of that kind.
  std::optional<wasmtime_extern_t> find(const std::string& name, wasmtime_extern_kind_t kind);
  // Calls a function without parameters.
  Result<void> call(const wasmtime_func_t& function, std::span<wasmtime_val_t> results = {});
  wasmtime_context_t* context() const { return context_; }

 private:
  WasmEngine engine_;
  ClosedLimits limits_;
  WasmStore store_;
  wasmtime_context_t* context_;
  WasmLinker linker_;
  wasmtime_instance_t instance_{};
};

}  // namespace quire::sandbox
