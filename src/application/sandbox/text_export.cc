#include "application/sandbox/text_export.h"

#if __has_include(<wasmtime.h>)
#include <algorithm>
#include <cstring>
#include <utility>

#include "application/sandbox/closed_instance.h"

namespace quire::sandbox {
namespace {

Error failed(std::string why) {
  return Error(ErrorCode::InvalidArgument, std::move(why));
}

// The import that a trap names, as "unknown import: `module::name` has not been defined" does.
std::string called_import(std::string_view trap) {
  const std::size_t begin = trap.find("unknown import: `");
  const std::size_t name = begin == std::string_view::npos ? begin : trap.find('`', begin) + 1;
  const std::size_t end = name == std::string_view::npos ? name : trap.find('`', name);
  return end == std::string_view::npos ? "" : std::string(trap.substr(name, end - name));
}

class TextExport {
 public:
  explicit TextExport(const TextExportLimits& limits)
      : limits_(limits),
        instance_(ClosedCompiler::Winch,
                  {.fuel = limits.fuel, .memory_bytes_max = limits.memory_bytes_max}) {}

  Result<std::optional<std::string>> call(std::span<const std::byte> wasm,
                                          const std::string& name) {
    TRY(instance_.instantiate(wasm));
    const auto function = instance_.find(name, WASMTIME_EXTERN_FUNC);
    if (!function) return std::optional<std::string>();
    TRY(check_type(function->of.func, name));
    if (const auto initialize = instance_.find("_initialize", WASMTIME_EXTERN_FUNC)) {
      TRY(call(initialize->of.func, {}));
    }
    wasmtime_val_t address{};
    TRY(call(function->of.func, {&address, 1}));
    return text_at(static_cast<std::uint32_t>(address.of.i32), name);
  }

 private:
  Result<void> call(const wasmtime_func_t& function, std::span<wasmtime_val_t> results) {
    Result<void> called = instance_.call(function, results);
    const std::string import = called.ok() ? "" : called_import(called.error().message());
    if (import.empty()) return called;
    return failed("the program calls " + import +
                  " before it declares them; it can do that in the function that it runs");
  }

  Result<void> check_type(const wasmtime_func_t& function, const std::string& name) {
    const WasmFunctionType type(wasmtime_func_type(instance_.context(), &function));
    const wasm_valtype_vec_t* results = wasm_functype_results(type.get());
    if (wasm_functype_params(type.get())->size == 0 && results->size == 1 &&
        wasm_valtype_kind(results->data[0]) == WASM_I32) {
      return {};
    }
    return failed("the export " + name + " is not () -> (i32)");
  }

  Result<std::optional<std::string>> text_at(std::uint32_t address, const std::string& name) {
    if (address == 0) return std::optional<std::string>();
    const auto memory = instance_.find("memory", WASMTIME_EXTERN_MEMORY);
    const std::size_t bytes =
        memory ? wasmtime_memory_data_size(instance_.context(), &memory->of.memory) : 0;
    if (address >= bytes) {
      return failed(name + " returned the address " + std::to_string(address) + " of " +
                    std::to_string(bytes) + " bytes of memory");
    }
    const char* begin = reinterpret_cast<const char*>(
                            wasmtime_memory_data(instance_.context(), &memory->of.memory)) +
                        address;
    const std::size_t most = std::min<std::size_t>(bytes - address, limits_.text_bytes_max + 1);
    const void* end = std::memchr(begin, 0, most);
    if (end == nullptr) {
      return failed("the text of " + name + " is longer than " +
                    std::to_string(limits_.text_bytes_max) + " bytes");
    }
    return std::optional<std::string>(std::string(begin, static_cast<const char*>(end) - begin));
  }

  const TextExportLimits& limits_;
  ClosedInstance instance_;
};

}  // namespace

Result<std::optional<std::string>> call_text_export(std::span<const std::byte> wasm,
                                                    const std::string& name,
                                                    const TextExportLimits& limits) {
  return TextExport(limits).call(wasm, name);
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
