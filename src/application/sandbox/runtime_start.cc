#include "application/sandbox/runtime_start.h"

#if __has_include(<wasmtime.h>)
#include <cstring>
#include <optional>
#include <utility>

#include "application/sandbox/closed_instance.h"
#include "application/sandbox/pool_plan.h"
#include "application/sandbox/wasmtime_config.h"
#include "application/sandbox/wasmtime_handles.h"

namespace quire::sandbox {
namespace {

constexpr std::int64_t kStartTableCountMax = 100;

Error start_failed(std::string why) {
  return Error(ErrorCode::InvalidArgument, std::move(why));
}

// A runtime, for as long as its start takes.
class RuntimeStart {
 public:
  explicit RuntimeStart(const StartLimits& limits)
      : instance_(ClosedCompiler::Cranelift, {.fuel = limits.fuel,
                                              .memory_bytes_max = limits.memory_bytes_max,
                                              .table_count_max = kStartTableCountMax}) {}

  Result<StartedState> run(std::span<const std::byte> wasm, const StartExports& exports) {
    TRY(instance_.instantiate(wasm));
    if (instance_.find("_initialize", WASMTIME_EXTERN_FUNC)) TRY(call("_initialize"));
    TRY(call("init"));
    return read_state(exports);
  }

 private:
  Result<wasmtime_extern_t> need(const std::string& name, wasmtime_extern_kind_t kind) {
    const auto found = instance_.find(name, kind);
    if (found) return *found;
    return start_failed("the module has no export " + name + " of the kind that is needed");
  }

  Result<void> call(const std::string& name) {
    const wasmtime_extern_t function = TRY(need(name, WASMTIME_EXTERN_FUNC));
    Result<void> called = instance_.call(function.of.func);
    if (called.ok()) return {};
    return std::move(called).take_error().while_("the call of " + name +
                                                 ", which may call no import and return nothing");
  }

  Result<StartedState> read_state(const StartExports& exports) {
    StartedState state;
    const wasmtime_extern_t memory = TRY(need(exports.memory, WASMTIME_EXTERN_MEMORY));
    state.memory.assign(
        reinterpret_cast<const char*>(wasmtime_memory_data(instance_.context(), &memory.of.memory)),
        wasmtime_memory_data_size(instance_.context(), &memory.of.memory));
    for (const std::string& name : exports.globals) {
      const wasmtime_extern_t global = TRY(need(name, WASMTIME_EXTERN_GLOBAL));
      wasmtime_val_t value{};
      wasmtime_global_get(instance_.context(), &global.of.global, &value);
      const bool is_small = value.kind == WASMTIME_I32 || value.kind == WASMTIME_F32;
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value.of, is_small ? sizeof(std::uint32_t) : sizeof bits);
      state.globals.push_back(bits);
    }
    return state;
  }

  ClosedInstance instance_;
};

}  // namespace

Result<StartedState> start_runtime(std::span<const std::byte> wasm, const StartExports& exports,
                                   const StartLimits& limits) {
  return RuntimeStart(limits).run(wasm, exports);
}

Result<std::string> compile_ahead(std::span<const std::byte> wasm) {
  const WasmEngine engine(wasm_engine_new_with_config(
      new_compiler_config({kWholeReservation, kWholeGuard}, Effort::Best)));
  const WasmModule module = TRY(compile_module(engine.get(), wasm));
  wasm_byte_vec_t code{};
  const WasmError error(wasmtime_module_serialize(module.get(), &code));
  if (error != nullptr) return Error(ErrorCode::Internal, message_of(error.get()));
  std::string bytes(code.data, code.size);
  wasm_byte_vec_delete(&code);
  return bytes;
}

}  // namespace quire::sandbox

#else

namespace quire::sandbox {

Result<StartedState> start_runtime(std::span<const std::byte>, const StartExports&,
                                   const StartLimits&) {
  return Error(ErrorCode::NotSupported, "this build has no Wasm engine (QUIRE_WASM=OFF)");
}

Result<std::string> compile_ahead(std::span<const std::byte>) {
  return Error(ErrorCode::NotSupported, "this build has no Wasm engine (QUIRE_WASM=OFF)");
}

}  // namespace quire::sandbox
#endif
