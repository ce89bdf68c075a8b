#include "application/sandbox/text_export.h"

#if __has_include(<wasmtime.h>)
#include <algorithm>
#include <cstring>
#include <utility>

#include "application/sandbox/wasmtime_config.h"
#include "application/sandbox/wasmtime_handles.h"

namespace quire::sandbox {
namespace {

constexpr std::int64_t kTableElementCountMax = 20'000;

Error failed(std::string why) {
  return Error(ErrorCode::InvalidArgument, std::move(why));
}

// The module runs once for some microseconds, so that what its code costs is the compiler's time: Winch takes a
// tenth of Cranelift's.
WasmEngine make_engine() {
  wasm_config_t* config = wasm_config_new();  // The engine's.
  wasmtime_config_strategy_set(config, WASMTIME_STRATEGY_WINCH);
  wasmtime_config_parallel_compilation_set(config, true);
  wasmtime_config_consume_fuel_set(config, true);
  return WasmEngine(wasm_engine_new_with_config(config));
}

class TextExport {
 public:
  TextExport(wasm_engine_t* engine, const TextExportLimits& limits)
      : engine_(engine),
        limits_(limits),
        store_(wasmtime_store_new(engine, nullptr, nullptr)),
        context_(wasmtime_store_context(store_.get())),
        linker_(wasmtime_linker_new(engine)) {
    wasmtime_store_limiter(store_.get(), static_cast<std::int64_t>(limits.memory_bytes_max),
                           kTableElementCountMax, 1, 1, 1);
  }

  Result<std::optional<std::string>> call(std::span<const std::byte> wasm,
                                          const std::string& name) {
    const WasmModule module = TRY(compile_module(engine_, wasm));
    TRY(check(wasmtime_context_set_fuel(context_, limits_.fuel), nullptr));
    // A call of the host has no meaning here: it traps, and the trap names the import.
    TRY(check(wasmtime_linker_define_unknown_imports_as_traps(linker_.get(), module.get()),
              nullptr));
    wasm_trap_t* trap = nullptr;
    wasmtime_error_t* error =
        wasmtime_linker_instantiate(linker_.get(), context_, module.get(), &instance_, &trap);
    TRY(check(error, trap));
    const auto function = find(name, WASMTIME_EXTERN_FUNC);
    if (!function) return std::optional<std::string>();
    TRY(check_type(function->of.func, name));
    if (const auto initialize = find("_initialize", WASMTIME_EXTERN_FUNC)) {
      error = wasmtime_func_call(context_, &initialize->of.func, nullptr, 0, nullptr, 0, &trap);
      TRY(check(error, trap));
    }
    wasmtime_val_t address{};
    error = wasmtime_func_call(context_, &function->of.func, nullptr, 0, &address, 1, &trap);
    TRY(check(error, trap));
    return text_at(static_cast<std::uint32_t>(address.of.i32), name);
  }

 private:
  static Result<void> check(wasmtime_error_t* raw_error, wasm_trap_t* raw_trap) {
    const WasmError error(raw_error);
    const WasmTrap trap(raw_trap);
    if (error != nullptr) return failed(message_of(error.get()));
    if (trap != nullptr) return failed(message_of(trap.get()));
    return {};
  }

  std::optional<wasmtime_extern_t> find(const std::string& name, wasmtime_extern_kind_t kind) {
    wasmtime_extern_t item;
    if (!wasmtime_instance_export_get(context_, &instance_, name.data(), name.size(), &item) ||
        item.kind != kind) {
      return std::nullopt;
    }
    return item;
  }

  Result<void> check_type(const wasmtime_func_t& function, const std::string& name) {
    const WasmFunctionType type(wasmtime_func_type(context_, &function));
    const wasm_valtype_vec_t* results = wasm_functype_results(type.get());
    if (wasm_functype_params(type.get())->size == 0 && results->size == 1 &&
        wasm_valtype_kind(results->data[0]) == WASM_I32) {
      return {};
    }
    return failed("the export " + name + " is not () -> (i32)");
  }

  Result<std::optional<std::string>> text_at(std::uint32_t address, const std::string& name) {
    if (address == 0) return std::optional<std::string>();
    const auto memory = find("memory", WASMTIME_EXTERN_MEMORY);
    const std::size_t bytes = memory ? wasmtime_memory_data_size(context_, &memory->of.memory) : 0;
    if (address >= bytes) {
      return failed(name + " returned the address " + std::to_string(address) + " of " +
                    std::to_string(bytes) + " bytes of memory");
    }
    const char* begin =
        reinterpret_cast<const char*>(wasmtime_memory_data(context_, &memory->of.memory)) + address;
    const std::size_t most = std::min<std::size_t>(bytes - address, limits_.text_bytes_max + 1);
    const void* end = std::memchr(begin, 0, most);
    if (end == nullptr) {
      return failed("the text of " + name + " is longer than " +
                    std::to_string(limits_.text_bytes_max) + " bytes");
    }
    return std::optional<std::string>(std::string(begin, static_cast<const char*>(end) - begin));
  }

  wasm_engine_t* const engine_;
  const TextExportLimits& limits_;
  WasmStore store_;
  wasmtime_context_t* context_;
  WasmLinker linker_;
  wasmtime_instance_t instance_{};
};

}  // namespace

Result<std::optional<std::string>> call_text_export(std::span<const std::byte> wasm,
                                                    const std::string& name,
                                                    const TextExportLimits& limits) {
  const WasmEngine engine = make_engine();
  return TextExport(engine.get(), limits).call(wasm, name);
}

}  // namespace quire::sandbox

#else

namespace quire::sandbox {

Result<std::optional<std::string>> call_text_export(std::span<const std::byte>, const std::string&,
                                                    const TextExportLimits&) {
  return Error(ErrorCode::NotSupported, "this build has no Wasm engine (QUIRE_WASM=OFF)");
}

}  // namespace quire::sandbox
#endif
