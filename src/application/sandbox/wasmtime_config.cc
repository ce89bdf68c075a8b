#if __has_include(<wasmtime.h>)
#include "application/sandbox/wasmtime_config.h"

#include <quire_engines.h>

#include <string_view>
#include <vector>

#include "application/sandbox/pool_plan.h"

namespace quire::sandbox {
namespace {

void set_features(wasm_config_t* config) {
  wasmtime_config_wasm_simd_set(config, true);
  wasmtime_config_wasm_bulk_memory_set(config, true);
  wasmtime_config_wasm_multi_value_set(config, true);
  wasmtime_config_wasm_relaxed_simd_set(config, false);
  wasmtime_config_wasm_multi_memory_set(config, false);
  wasmtime_config_wasm_memory64_set(config, false);
  wasmtime_config_wasm_tail_call_set(config, false);
  wasmtime_config_shared_memory_set(config, false);
  wasmtime_config_gc_support_set(config, false);
#ifdef WASMTIME_FEATURE_THREADS
  wasmtime_config_wasm_threads_set(config, false);
#endif
#ifdef WASMTIME_FEATURE_GC
  wasmtime_config_wasm_gc_set(config, false);
#endif
}

wasm_valtype_t* value_type(char letter) {
  switch (letter) {
    case 'i':
      return wasm_valtype_new(WASM_I32);
    case 'I':
      return wasm_valtype_new(WASM_I64);
    case 'f':
      return wasm_valtype_new(WASM_F32);
    default:
      return wasm_valtype_new(WASM_F64);
  }
}

wasm_valtype_vec_t value_types(std::string_view letters) {
  std::vector<wasm_valtype_t*> types;
  for (const char letter : letters) types.push_back(value_type(letter));
  wasm_valtype_vec_t out;
  wasm_valtype_vec_new(&out, types.size(), types.data());
  return out;
}

}  // namespace

WasmFunctionType function_type(std::string_view signature) {
  const std::size_t split = signature.find('>');
  wasm_valtype_vec_t parameters = value_types(signature.substr(0, split));
  wasm_valtype_vec_t results = value_types(signature.substr(split + 1));
  return WasmFunctionType(wasm_functype_new(&parameters, &results));
}

wasm_config_t* new_compiler_config(const CodeLayout& layout, Effort effort, TrapLines lines) {
  wasm_config_t* config = wasm_config_new();
  if (effort == Effort::Quick) {
    wasmtime_config_strategy_set(config, WASMTIME_STRATEGY_WINCH);
  } else {
    wasmtime_config_strategy_set(config, WASMTIME_STRATEGY_CRANELIFT);
    wasmtime_config_cranelift_opt_level_set(config, WASMTIME_OPT_LEVEL_SPEED);
  }
  wasmtime_config_parallel_compilation_set(config, true);
  wasmtime_config_epoch_interruption_set(config, true);
  // A slot maps the image of a module when it first has an instance of it. Where 900 slots get a
  // module for the first time, as new ones are launched, copying its data is cheaper.
  wasmtime_config_memory_init_cow_set(config, effort == Effort::Best);
  wasmtime_config_max_wasm_stack_set(config, kWasmStackBytesMax);
  wasmtime_config_async_stack_size_set(config, kGuestStackBytes);
  wasmtime_config_memory_reservation_set(config, layout.reservation_bytes);
  wasmtime_config_memory_guard_size_set(config, layout.guard_bytes);
  wasmtime_config_memory_reservation_for_growth_set(config, 0);
  quire_config_traps_tell_lines(config, lines == TrapLines::Yes);
  set_features(config);
  return config;
}

Result<WasmModule> compile_module(wasm_engine_t* engine, std::span<const std::byte> wasm) {
  wasmtime_module_t* raw = nullptr;
  const WasmError error(wasmtime_module_new(
      engine, reinterpret_cast<const std::uint8_t*>(wasm.data()), wasm.size(), &raw));
  if (error != nullptr) {
    return Error(ErrorCode::InvalidArgument, "not a valid Wasm module: " + message_of(error.get()));
  }
  return WasmModule(raw);
}

}  // namespace quire::sandbox
#endif
