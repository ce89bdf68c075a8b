#if __has_include(<wasmtime.h>)
#include "application/sandbox/closed_instance.h"

#include <utility>

#include "application/sandbox/wasmtime_config.h"

namespace quire::sandbox {
namespace {

constexpr std::int64_t kClosedTableElementCountMax = 20'000;

WasmEngine make_closed_engine(ClosedCompiler compiler) {
  wasm_config_t* config = wasm_config_new();  // The engine's.
  if (compiler == ClosedCompiler::Winch) {
    wasmtime_config_strategy_set(config, WASMTIME_STRATEGY_WINCH);
  }
  wasmtime_config_parallel_compilation_set(config, true);
  wasmtime_config_consume_fuel_set(config, true);
  return WasmEngine(wasm_engine_new_with_config(config));
}

Result<void> check_closed(wasmtime_error_t* raw_error, wasm_trap_t* raw_trap) {
  const WasmError error(raw_error);
  const WasmTrap trap(raw_trap);
  if (error != nullptr) return Error(ErrorCode::InvalidArgument, message_of(error.get()));
  if (trap != nullptr) return Error(ErrorCode::InvalidArgument, cause_of(trap.get()));
  return {};
}

}  // namespace

ClosedInstance::ClosedInstance(ClosedCompiler compiler, const ClosedLimits& limits)
    : engine_(make_closed_engine(compiler)),
      limits_(limits),
      store_(wasmtime_store_new(engine_.get(), nullptr, nullptr)),
      context_(wasmtime_store_context(store_.get())),
      linker_(wasmtime_linker_new(engine_.get())) {
  wasmtime_store_limiter(store_.get(), static_cast<std::int64_t>(limits.memory_bytes_max),
                         kClosedTableElementCountMax, 1, limits.table_count_max, 1);
}

Result<void> ClosedInstance::instantiate(std::span<const std::byte> wasm) {
  const WasmModule module = TRY(compile_module(engine_.get(), wasm));
  TRY(check_closed(wasmtime_context_set_fuel(context_, limits_.fuel), nullptr));
  TRY(check_closed(wasmtime_linker_define_unknown_imports_as_traps(linker_.get(), module.get()),
                   nullptr));
  wasm_trap_t* trap = nullptr;
  wasmtime_error_t* error =
      wasmtime_linker_instantiate(linker_.get(), context_, module.get(), &instance_, &trap);
  return check_closed(error, trap);
}

std::optional<wasmtime_extern_t> ClosedInstance::find(const std::string& name,
                                                      wasmtime_extern_kind_t kind) {
  wasmtime_extern_t item;
  if (!wasmtime_instance_export_get(context_, &instance_, name.data(), name.size(), &item) ||
      item.kind != kind) {
    return std::nullopt;
  }
  return item;
}

Result<void> ClosedInstance::call(const wasmtime_func_t& function,
                                  std::span<wasmtime_val_t> results) {
  wasm_trap_t* trap = nullptr;
  wasmtime_error_t* error =
      wasmtime_func_call(context_, &function, nullptr, 0, results.data(), results.size(), &trap);
  return check_closed(error, trap);
}

}  // namespace quire::sandbox
#endif
