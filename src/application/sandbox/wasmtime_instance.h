#pragma once
// WasmtimeInstance is one guest on wasmtime: a store, a parked stack, and the call it is in.
//
// Owns     the store and the live future. wasmtime allows one future a store, and everything that
//          was passed to it outlives it; members are declared in that order.
// Thread   engine thread only.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "application/sandbox/epoch_ticker.h"
#include "application/sandbox/module_check.h"
#include "application/sandbox/wasm_runtime.h"
#include "application/sandbox/wasmtime_handles.h"

namespace quire::sandbox {

class WasmtimeProgram final : public Program {
 public:
  // The engine is that of the module. `script`: what the module of a runtime runs; else null.
  WasmtimeProgram(wasm_engine_t* engine, Effort effort, WasmModule module, WasmInstancePre pre,
                  const ModuleSummary& summary, std::shared_ptr<const Script> script)
      : engine_(engine),
        effort_(effort),
        module_(std::move(module)),
        pre_(std::move(pre)),
        summary_(summary),
        script_(std::move(script)) {}
  Effort effort() const override { return effort_; }
  std::shared_ptr<const Script> script() const override { return script_; }
  std::uint64_t code_bytes() const override;
  std::uint64_t first_memory_bytes() const override { return summary_.memory_pages_min << 16; }
  wasm_engine_t* engine() const { return engine_; }
  const wasmtime_module_t* module() const { return module_.get(); }
  const wasmtime_instance_pre_t* pre() const { return pre_.get(); }
  const ModuleSummary& summary() const { return summary_; }

 private:
  wasm_engine_t* const engine_;
  const Effort effort_;
  WasmModule module_;
  WasmInstancePre pre_;
  ModuleSummary summary_;
  const std::shared_ptr<const Script> script_;
};

class WasmtimeInstance final : public Instance {
 public:
  WasmtimeInstance(EpochTicker& ticker, std::shared_ptr<const WasmtimeProgram> program,
                   void* host_state, const InstanceOptions& options);
  ~WasmtimeInstance() override;

  RunState resume(std::uint32_t slice_ticks) override;
  void finish_wait(std::int32_t result) override;
  std::int32_t exit_code() const override { return exit_code_; }
  const std::string& trap_message() const override { return trap_message_; }
  std::uint64_t memory_bytes() const override;
  void set_memory_max(std::uint64_t bytes) override;

  // The imports of every linker: `environment` is the HostFunction.
  static wasm_trap_t* call_host(void* environment, wasmtime_caller_t* caller,
                                wasmtime_val_raw_t* values, std::size_t count) noexcept;
  static void call_suspending_host(void* environment, wasmtime_caller_t* caller,
                                   const wasmtime_val_t* arguments, std::size_t argument_count,
                                   wasmtime_val_t* results, std::size_t result_count,
                                   wasm_trap_t** trap,
                                   wasmtime_async_continuation_t* continuation) noexcept;

 private:
  enum class Stage : std::uint8_t { Instantiate, Initialize, Entry, Ended };

  static wasmtime_error_t* epoch_reached(wasmtime_context_t* context, void* data,
                                         std::uint64_t* delta,
                                         wasmtime_update_deadline_kind_t* kind) noexcept;
  wasm_trap_t* end_if_overrun();
  static bool wait_finished(void* data) noexcept;

  WasmFuture start_stage();
  RunState end_stage();
  bool find_function(const char* name);
  GuestMemory memory(wasmtime_context_t* context);
  RunState trapped(std::string message);
  void find_exports();
  std::string describe_trap(const wasm_trap_t* trap);

  const std::shared_ptr<const WasmtimeProgram> program_;
  EpochTicker& ticker_;
  void* const host_state_;
  const InstanceOptions options_;
  Stage stage_ = Stage::Instantiate;
  bool waiting_ = false;
  std::optional<std::int32_t> wait_result_;
  std::int32_t* wait_slot_ = nullptr;  // Where wasmtime wants the result; on no guest's memory.
  std::uint64_t slice_start_ = 0;
  std::uint32_t slice_ticks_ = 1;
  bool yields_ = false;             // In a suspending call that is over, as its slice is.
  std::uint64_t overdue_tick_ = 0;  // When a host call looks at the clock, for want of a cut.
  std::optional<std::uint64_t> overdue_since_ns_;  // Processor time of this thread.
  bool overran_ = false;
  bool exited_ = false;
  std::int32_t exit_code_ = 0;
  std::string trap_message_;

  WasmStore store_;
  wasmtime_context_t* context_ = nullptr;
  wasmtime_instance_t instance_{};
  wasmtime_func_t function_{};
  bool has_memory_ = false;
  wasmtime_memory_t memory_{};
  // The stack that the module's C++ code has in its memory, if the module exports its pointer.
  std::optional<wasmtime_global_t> stack_pointer_;
  std::uint32_t stack_bytes_ = 0;
  wasmtime_val_t result_{};
  wasm_trap_t* trap_ = nullptr;
  wasmtime_error_t* error_ = nullptr;
  WasmFuture future_;
};

}  // namespace quire::sandbox
