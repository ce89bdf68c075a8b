#include "application/sandbox/runtime_start.h"

#if __has_include(<wasmtime.h>)
#include <cstring>
#include <optional>
#include <utility>

#include "application/sandbox/pool_plan.h"
#include "application/sandbox/wasmtime_config.h"
#include "application/sandbox/wasmtime_handles.h"

namespace quire::sandbox {
namespace {

constexpr std::int64_t kStartTableElementCountMax = 20'000;

Error start_failed(std::string why) {
  return Error(ErrorCode::InvalidArgument, std::move(why));
}

Result<void> check_call(wasmtime_error_t* raw_error, wasm_trap_t* raw_trap) {
  const WasmError error(raw_error);
  const WasmTrap trap(raw_trap);
  if (error != nullptr) return start_failed(message_of(error.get()));
  if (trap != nullptr) return start_failed(message_of(trap.get()));
  return {};
}

WasmEngine make_start_engine() {
  wasm_config_t* config = wasm_config_new();  // The engine's.
  wasmtime_config_parallel_compilation_set(config, true);
  wasmtime_config_consume_fuel_set(config, true);
  return WasmEngine(wasm_engine_new_with_config(config));
}

// A module on an engine of its own, for as long as the start takes.
class RuntimeStart {
 public:
  RuntimeStart(wasm_engine_t* engine, const StartLimits& limits)
      : engine_(engine),
        limits_(limits),
        store_(wasmtime_store_new(engine, nullptr, nullptr)),
        context_(wasmtime_store_context(store_.get())),
        linker_(wasmtime_linker_new(engine)) {
    wasmtime_store_limiter(store_.get(), static_cast<std::int64_t>(limits.memory_bytes_max),
                           kStartTableElementCountMax, 1, 100, 1);
  }

  Result<StartedState> run(std::span<const std::byte> wasm, const StartExports& exports) {
    const WasmModule module = TRY(compile_module(engine_, wasm));
    TRY(check_call(wasmtime_context_set_fuel(context_, limits_.fuel), nullptr));
    // A call of the host has no meaning here: it traps, and the trap names the import.
    TRY(check_call(wasmtime_linker_define_unknown_imports_as_traps(linker_.get(), module.get()),
                   nullptr));
    wasm_trap_t* trap = nullptr;
    wasmtime_error_t* error =
        wasmtime_linker_instantiate(linker_.get(), context_, module.get(), &instance_, &trap);
    TRY(check_call(error, trap));
    if (find("_initialize", WASMTIME_EXTERN_FUNC)) TRY(call("_initialize"));
    TRY(call("init"));
    return read_state(exports);
  }

 private:
  std::optional<wasmtime_extern_t> find(const std::string& name, wasmtime_extern_kind_t kind) {
    wasmtime_extern_t item;
    if (!wasmtime_instance_export_get(context_, &instance_, name.data(), name.size(), &item) ||
        item.kind != kind) {
      return std::nullopt;
    }
    return item;
  }

  Result<wasmtime_extern_t> need(const std::string& name, wasmtime_extern_kind_t kind) {
    const auto found = find(name, kind);
    if (found) return *found;
    return start_failed("the module has no export " + name + " of the kind that is needed");
  }

  Result<void> call(const std::string& name) {
    const wasmtime_extern_t function = TRY(need(name, WASMTIME_EXTERN_FUNC));
    wasm_trap_t* trap = nullptr;
    wasmtime_error_t* error =
        wasmtime_func_call(context_, &function.of.func, nullptr, 0, nullptr, 0, &trap);
    Result<void> called = check_call(error, trap);
    if (called.ok()) return {};
    return std::move(called).take_error().while_("the call of " + name +
                                                 ", which may call no import and return nothing");
  }

  Result<StartedState> read_state(const StartExports& exports) {
    StartedState state;
    const wasmtime_extern_t memory = TRY(need(exports.memory, WASMTIME_EXTERN_MEMORY));
    state.memory.assign(
        reinterpret_cast<const char*>(wasmtime_memory_data(context_, &memory.of.memory)),
        wasmtime_memory_data_size(context_, &memory.of.memory));
    for (const std::string& name : exports.globals) {
      const wasmtime_extern_t global = TRY(need(name, WASMTIME_EXTERN_GLOBAL));
      wasmtime_val_t value{};
      wasmtime_global_get(context_, &global.of.global, &value);
      const bool is_small = value.kind == WASMTIME_I32 || value.kind == WASMTIME_F32;
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value.of, is_small ? sizeof(std::uint32_t) : sizeof bits);
      state.globals.push_back(bits);
    }
    return state;
  }

  wasm_engine_t* const engine_;
  const StartLimits& limits_;
  WasmStore store_;
  wasmtime_context_t* context_;
  WasmLinker linker_;
  wasmtime_instance_t instance_{};
};

}  // namespace

Result<StartedState> start_runtime(std::span<const std::byte> wasm, const StartExports& exports,
                                   const StartLimits& limits) {
  const WasmEngine engine = make_start_engine();
  return RuntimeStart(engine.get(), limits).run(wasm, exports);
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
