#include "application/sandbox/script_workbench.h"

#if __has_include(<wasmtime.h>)
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "application/sandbox/epoch_ticker.h"
#include "application/sandbox/guest_memory.h"
#include "application/sandbox/pool_plan.h"
#include "application/sandbox/wasmtime_config.h"
#include "application/sandbox/wasmtime_handles.h"

namespace quire::sandbox {
namespace {

constexpr const char* kOptionsFunction = "quire_options";
constexpr const char* kCompileFunction = "compile";
constexpr std::uint64_t kByteCodeBytesMax = std::uint64_t{16} << 20;
constexpr std::int64_t kScriptMemoryBytesMax = 128 << 20;
constexpr std::int64_t kScriptTableElementCountMax = 20'000;

constexpr std::string_view kHostModules = "quire:";
constexpr std::int32_t kLogLevelWarning = 2;
constexpr std::string_view kNoHost =
    "calls are not answered while the options of a script are read";

// The input of a call, and what it made.
struct WorkPiece {
  std::string_view script;
  std::string byte_code = {};
  std::string reason = {};  // The last warning or error that the runtime logged.
  bool is_warning = false;
};

// A host call that the workbench answers itself.
struct WorkbenchCall {
  const char* module;
  const char* name;
  const char* signature;
  // Leaves its result in values[0]; false if the arguments point outside of the memory.
  bool (*answer)(WorkPiece& piece, GuestMemory memory, RawValue* values);
};

std::optional<std::span<std::byte>> guest_range(GuestMemory memory, std::uint32_t address,
                                                std::uint32_t bytes) {
  Result<std::span<std::byte>> range =
      memory.range<std::uint8_t>(GuestAddress{address}, bytes, "buffer");
  if (!range.ok()) return std::nullopt;
  return std::move(range).take();
}

bool answer_size(WorkPiece& piece, GuestMemory, RawValue* values) {
  values[0].set(static_cast<std::int32_t>(piece.script.size()));
  return true;
}

bool answer_read(WorkPiece& piece, GuestMemory memory, RawValue* values) {
  const auto offset = std::min<std::size_t>(values[0].as<std::uint32_t>(), piece.script.size());
  const std::string_view part = piece.script.substr(offset, values[2].as<std::uint32_t>());
  const auto bytes = static_cast<std::uint32_t>(part.size());
  const auto into = guest_range(memory, values[1].as<std::uint32_t>(), bytes);
  if (!into) return false;
  if (bytes > 0) std::memcpy(into->data(), part.data(), bytes);
  values[0].set(static_cast<std::int32_t>(bytes));
  return true;
}

bool answer_random(WorkPiece&, GuestMemory memory, RawValue* values) {
  const auto bytes = values[1].as<std::uint32_t>();
  const auto into = guest_range(memory, values[0].as<std::uint32_t>(), bytes);
  if (!into) return false;
  std::ranges::fill(*into, std::byte{0});
  values[0].set(static_cast<std::int32_t>(bytes));
  return true;
}

bool answer_zero(WorkPiece&, GuestMemory, RawValue* values) {
  values[0].set(std::int64_t{0});
  return true;
}

bool answer_wasi_time(WorkPiece&, GuestMemory memory, RawValue* values) {
  const auto into = guest_range(memory, values[2].as<std::uint32_t>(), sizeof(std::uint64_t));
  if (!into) return false;
  std::ranges::fill(*into, std::byte{0});
  values[0].set(std::int32_t{0});
  return true;
}

// A script may write lines while its modules load. They are for its clients, so they are dropped
// here.
bool answer_log(WorkPiece& piece, GuestMemory memory, RawValue* values) {
  const auto text =
      guest_range(memory, values[1].as<std::uint32_t>(), values[2].as<std::uint32_t>());
  if (!text) return false;
  const auto level = values[0].as<std::int32_t>();
  if (level >= kLogLevelWarning) {
    piece.reason.assign(reinterpret_cast<const char*>(text->data()), text->size());
    piece.is_warning = level == kLogLevelWarning;
  }
  values[0].set(std::int32_t{0});
  return true;
}

bool answer_last_error(WorkPiece&, GuestMemory memory, RawValue* values) {
  const auto bytes = std::min<std::uint32_t>(values[1].as<std::uint32_t>(), kNoHost.size());
  const auto into = guest_range(memory, values[0].as<std::uint32_t>(), bytes);
  if (!into) return false;
  if (bytes > 0) std::memcpy(into->data(), kNoHost.data(), bytes);
  values[0].set(static_cast<std::int32_t>(kNoHost.size()));
  return true;
}

bool answer_put(WorkPiece& piece, GuestMemory memory, RawValue* values) {
  const auto bytes = values[1].as<std::uint32_t>();
  const auto from = guest_range(memory, values[0].as<std::uint32_t>(), bytes);
  if (!from || bytes > kByteCodeBytesMax) return false;
  piece.byte_code.assign(reinterpret_cast<const char*>(from->data()), from->size());
  values[0].set(std::int32_t{0});
  return true;
}

constexpr WorkbenchCall kWorkbenchCalls[] = {
    {"quire:script@1", "size", ">i", &answer_size},
    {"quire:script@1", "read", "iii>i", &answer_read},
    {"quire:script@1", "bytecode-size", ">i", &answer_zero},
    {"quire:script@1", "put-bytecode", "ii>i", &answer_put},
    {"quire:core/runtime@1", "random", "ii>i", &answer_random},
    {"quire:core/runtime@1", "limits", "ii>i", &answer_zero},
    {"quire:core/runtime@1", "clock-now", ">I", &answer_zero},
    {"quire:core/runtime@1", "log", "iii>i", &answer_log},
    {"quire:core/runtime@1", "last-error", "ii>i", &answer_last_error},
    {"wasi_snapshot_preview1", "clock_time_get", "iIi>i", &answer_wasi_time},
};

struct CallEnvironment {
  const WorkbenchCall* call;
  WorkPiece* piece;
};

wasm_trap_t* answer_call(void* data, wasmtime_caller_t* caller, wasmtime_val_raw_t* values,
                         std::size_t) noexcept {
  const auto& environment = *static_cast<const CallEnvironment*>(data);
  GuestMemory memory;
  wasmtime_extern_t item;
  if (wasmtime_caller_export_get(caller, "memory", 6, &item) &&
      item.kind == WASMTIME_EXTERN_MEMORY) {
    wasmtime_context_t* context = wasmtime_caller_context(caller);
    memory =
        GuestMemory(reinterpret_cast<std::byte*>(wasmtime_memory_data(context, &item.of.memory)),
                    wasmtime_memory_data_size(context, &item.of.memory));
  }
  auto* raw = reinterpret_cast<RawValue*>(values);
  if (environment.call->answer(*environment.piece, memory, raw)) return nullptr;
  static constexpr char kMessage[] = "a buffer outside of the memory";
  return wasmtime_trap_new(kMessage, sizeof kMessage - 1);
}

// Every other call of the host fails, as a call of a host can.
template <typename T>
wasm_trap_t* refuse_call(void*, wasmtime_caller_t*, wasmtime_val_raw_t* values,
                         std::size_t) noexcept {
  reinterpret_cast<RawValue*>(values)[0].set(-static_cast<T>(ErrorCode::NotSupported));
  return nullptr;
}

std::string trap_text(const wasm_trap_t* trap) {
  wasmtime_trap_code_t code = 0;
  const bool is_late = wasmtime_trap_code(trap, &code) && code == WASMTIME_TRAP_CODE_INTERRUPT;
  if (!is_late) return cause_of(trap);
  return "its modules take longer than " + std::to_string(kWorkbenchMs) + " ms to load";
}

Result<void> check_work(wasmtime_error_t* raw_error, wasm_trap_t* raw_trap) {
  const WasmError error(raw_error);
  const WasmTrap trap(raw_trap);
  if (error != nullptr) return Error(ErrorCode::InvalidArgument, message_of(error.get()));
  if (trap != nullptr) return Error(ErrorCode::InvalidArgument, trap_text(trap.get()));
  return {};
}

std::string_view text_of(const wasm_name_t* name) {
  return {name->data, name->size};
}

Result<WasmModule> runtime_module(wasm_engine_t* engine, const ScriptRuntime& runtime) {
  wasmtime_module_t* raw = nullptr;
  const WasmError error(wasmtime_module_deserialize_file(engine, runtime.code_file.c_str(), &raw));
  if (error == nullptr) return WasmModule(raw);
  const std::string wasm = TRY(read_runtime_module(runtime));
  return compile_module(engine, std::as_bytes(std::span(wasm)));
}

// One instance of a runtime, for one call.
class WorkbenchInstance {
 public:
  WorkbenchInstance(wasm_engine_t* engine, WorkPiece& piece)
      : store_(wasmtime_store_new(engine, nullptr, nullptr)),
        context_(wasmtime_store_context(store_.get())),
        linker_(wasmtime_linker_new(engine)) {
    wasmtime_store_limiter(store_.get(), kScriptMemoryBytesMax, kScriptTableElementCountMax, 1, 1,
                           1);
    wasmtime_context_set_epoch_deadline(context_, kWorkbenchMs);
    for (std::size_t i = 0; i < std::size(kWorkbenchCalls); ++i) {
      environments_[i] = {&kWorkbenchCalls[i], &piece};
    }
  }

  // Calls a function of type () -> (i32), and returns its result; nothing if the runtime has no
  // such function.
  Result<std::optional<std::uint32_t>> call(const wasmtime_module_t* module, const char* name) {
    TRY(define_calls());
    TRY(refuse_other_calls(module));
    TRY(check_work(wasmtime_linker_define_unknown_imports_as_traps(
                       linker_.get(), const_cast<wasmtime_module_t*>(module)),
                   nullptr));
    wasm_trap_t* trap = nullptr;
    wasmtime_error_t* error =
        wasmtime_linker_instantiate(linker_.get(), context_, module, &instance_, &trap);
    TRY(check_work(error, trap));
    wasmtime_extern_t function;
    if (!wasmtime_instance_export_get(context_, &instance_, name, std::strlen(name), &function) ||
        function.kind != WASMTIME_EXTERN_FUNC) {
      return std::optional<std::uint32_t>();
    }
    wasmtime_val_t result{};
    error = wasmtime_func_call(context_, &function.of.func, nullptr, 0, &result, 1, &trap);
    TRY(check_work(error, trap));
    return std::optional(static_cast<std::uint32_t>(result.of.i32));
  }

  Result<std::optional<std::string>> text_at(std::uint32_t address) {
    if (address == 0) return std::optional<std::string>();
    wasmtime_extern_t memory;
    const bool has_memory =
        wasmtime_instance_export_get(context_, &instance_, "memory", 6, &memory) &&
        memory.kind == WASMTIME_EXTERN_MEMORY;
    const std::size_t bytes =
        has_memory ? wasmtime_memory_data_size(context_, &memory.of.memory) : 0;
    if (address >= bytes) {
      return Error(ErrorCode::InvalidArgument, "the options lie outside of the memory");
    }
    const char* begin =
        reinterpret_cast<const char*>(wasmtime_memory_data(context_, &memory.of.memory)) + address;
    const std::size_t most = std::min<std::size_t>(bytes - address, kScriptOptionsBytesMax + 1);
    const void* end = std::memchr(begin, 0, most);
    if (end == nullptr) {
      return Error(
          ErrorCode::InvalidArgument,
          "the options are longer than " + std::to_string(kScriptOptionsBytesMax) + " bytes");
    }
    return std::optional<std::string>(std::string(begin, static_cast<const char*>(end)));
  }

 private:
  Result<void> define_calls() {
    for (CallEnvironment& each : environments_) {
      const WasmFunctionType type = function_type(each.call->signature);
      TRY(check_work(
          wasmtime_linker_define_func_unchecked(
              linker_.get(), each.call->module, std::strlen(each.call->module), each.call->name,
              std::strlen(each.call->name), type.get(), &answer_call, &each, nullptr),
          nullptr));
    }
    return {};
  }

  Result<void> refuse_other_calls(const wasmtime_module_t* module) {
    wasm_importtype_vec_t imports;
    wasmtime_module_imports(module, &imports);
    Result<void> defined;
    for (std::size_t i = 0; i < imports.size && defined.ok(); ++i) {
      defined = refuse_import(*imports.data[i]);
    }
    wasm_importtype_vec_delete(&imports);
    return defined;
  }
  Result<void> refuse_import(const wasm_importtype_t& import) {
    const std::string_view from = text_of(wasm_importtype_module(&import));
    const std::string_view name = text_of(wasm_importtype_name(&import));
    const wasm_functype_t* type = wasm_externtype_as_functype_const(wasm_importtype_type(&import));
    if (type == nullptr || !from.starts_with(kHostModules)) return {};
    const bool is_answered = std::ranges::any_of(kWorkbenchCalls, [&](const WorkbenchCall& each) {
      return from == each.module && name == each.name;
    });
    const wasm_valtype_vec_t* results = wasm_functype_results(type);
    if (is_answered || results->size != 1) return {};
    const bool is_wide = wasm_valtype_kind(results->data[0]) == WASM_I64;
    return check_work(
        wasmtime_linker_define_func_unchecked(
            linker_.get(), from.data(), from.size(), name.data(), name.size(), type,
            is_wide ? &refuse_call<std::int64_t> : &refuse_call<std::int32_t>, nullptr, nullptr),
        nullptr);
  }

  CallEnvironment environments_[std::size(kWorkbenchCalls)];
  WasmStore store_;
  wasmtime_context_t* context_;
  WasmLinker linker_;
  wasmtime_instance_t instance_{};
};

class WasmtimeWorkbench final : public ScriptWorkbench {
 public:
  // The ticker counts for this engine.
  WasmtimeWorkbench(WasmEngine engine, WasmModule module, std::unique_ptr<EpochTicker> ticker)
      : engine_(std::move(engine)), module_(std::move(module)), ticker_(std::move(ticker)) {}

  Result<std::optional<std::string>> options(std::string_view script) override {
    WorkPiece piece{.script = script};
    WorkbenchInstance instance(engine_.get(), piece);
    Result<std::optional<std::uint32_t>> address = call(instance, kOptionsFunction);
    if (address.ok()) return instance.text_at(address.value().value_or(0));
    // A runtime logs why before it traps.
    if (piece.reason.empty()) return std::move(address).take_error();
    return Error(piece.is_warning ? ErrorCode::NotSupported : ErrorCode::InvalidArgument,
                 piece.reason);
  }

  Result<std::string> byte_code(std::string_view script) override {
    WorkPiece piece{.script = script};
    WorkbenchInstance instance(engine_.get(), piece);
    const std::optional<std::uint32_t> code = TRY(call(instance, kCompileFunction));
    return code == 0 ? std::move(piece.byte_code) : std::string();
  }

 private:
  Result<std::optional<std::uint32_t>> call(WorkbenchInstance& instance, const char* name) {
    ticker_->begin();
    Result<std::optional<std::uint32_t>> result = instance.call(module_.get(), name);
    ticker_->end();
    return result;
  }

  const WasmEngine engine_;
  const WasmModule module_;
  const std::unique_ptr<EpochTicker> ticker_;  // Last: its thread uses the engine.
};

}  // namespace

Result<std::unique_ptr<ScriptWorkbench>> ScriptWorkbench::open(const ScriptRuntime& runtime) {
  WasmEngine engine(wasm_engine_new_with_config(
      new_compiler_config({kWholeReservation, kWholeGuard}, Effort::Best)));
  WasmModule module = TRY(runtime_module(engine.get(), runtime));
  std::unique_ptr<EpochTicker> ticker = TRY(
      EpochTicker::start([counted = engine.get()] { wasmtime_engine_increment_epoch(counted); }));
  return std::unique_ptr<ScriptWorkbench>(
      std::make_unique<WasmtimeWorkbench>(std::move(engine), std::move(module), std::move(ticker)));
}

}  // namespace quire::sandbox

#else

namespace quire::sandbox {

Result<std::unique_ptr<ScriptWorkbench>> ScriptWorkbench::open(const ScriptRuntime&) {
  return Error(ErrorCode::NotSupported, "this build has no Wasm engine (QUIRE_WASM=OFF)");
}

}  // namespace quire::sandbox
#endif
