#pragma once
// Owning types for what wasmtime's C API hands out, and its messages as strings.
#include <wasm.h>
#include <wasmtime.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace quire::sandbox {

template <auto kRelease>
struct Releaser {
  template <typename T>
  void operator()(T* handle) const {
    kRelease(handle);
  }
};

using WasmEngine = std::unique_ptr<wasm_engine_t, Releaser<wasm_engine_delete>>;
using WasmLinker = std::unique_ptr<wasmtime_linker_t, Releaser<wasmtime_linker_delete>>;
using WasmModule = std::unique_ptr<wasmtime_module_t, Releaser<wasmtime_module_delete>>;
using WasmInstancePre =
    std::unique_ptr<wasmtime_instance_pre_t, Releaser<wasmtime_instance_pre_delete>>;
using WasmStore = std::unique_ptr<wasmtime_store_t, Releaser<wasmtime_store_delete>>;
using WasmFuture = std::unique_ptr<wasmtime_call_future_t, Releaser<wasmtime_call_future_delete>>;
using WasmError = std::unique_ptr<wasmtime_error_t, Releaser<wasmtime_error_delete>>;
using WasmTrap = std::unique_ptr<wasm_trap_t, Releaser<wasm_trap_delete>>;
using WasmFunctionType = std::unique_ptr<wasm_functype_t, Releaser<wasm_functype_delete>>;
using WasmPoolingConfig = std::unique_ptr<wasmtime_pooling_allocation_config_t,
                                          Releaser<wasmtime_pooling_allocation_config_delete>>;

inline std::string take_text(wasm_name_t& name) {
  std::string text(name.data, name.size);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  wasm_name_delete(&name);
  return printable_lines(text);  // It quotes names that the guest's author chose.
}

inline std::string message_of(const wasmtime_error_t* error) {
  wasm_name_t name{};
  wasmtime_error_message(error, &name);
  return take_text(name);
}

inline std::string message_of(const wasm_trap_t* trap) {
  wasm_name_t name{};
  wasm_trap_message(trap, &name);
  return take_text(name);
}

// Why code trapped, in one line: the message without the functions that ran.
inline std::string cause_of(const wasm_trap_t* trap) {
  std::string text = message_of(trap);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0' || text.back() == ' ')) {
    text.pop_back();
  }
  text.erase(0, text.rfind('\n') + 1);
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  constexpr std::string_view kTrap = "wasm trap: ";
  const std::size_t trap_at = text.find(kTrap);
  if (trap_at != std::string::npos) text.erase(0, trap_at + kTrap.size());
  return text;
}

}  // namespace quire::sandbox
