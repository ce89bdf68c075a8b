#pragma once
// How modules are compiled: the part of wasmtime's settings on which code depends. A process that
// compiles and one that runs the code make them alike, and wasmtime refuses code of any other.
//
// Thread   any; nothing is kept.
#include <cstddef>
#include <span>
#include <string_view>

#include "application/sandbox/compile_protocol.h"
#include "application/sandbox/wasmtime_handles.h"
#include "base/result.h"

namespace quire::sandbox {

// Whether a trap's backtrace has the files and lines of a module that says them. They are read from
// what its author wrote, when it traps.
enum class TrapLines : std::uint8_t { No, Yes };

// The engine that is made of it takes it.
wasm_config_t* new_compiler_config(const CodeLayout& layout, Effort effort,
                                   TrapLines lines = TrapLines::No);

// The type of an import, as host_call_table.inc writes it: "iI>i".
WasmFunctionType function_type(std::string_view signature);

// Errors: InvalidArgument, with what the compiler says of the module.
Result<WasmModule> compile_module(wasm_engine_t* engine, std::span<const std::byte> wasm);

}  // namespace quire::sandbox
