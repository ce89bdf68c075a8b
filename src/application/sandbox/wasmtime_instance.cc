#if __has_include(<wasmtime.h>)
#include "application/sandbox/wasmtime_instance.h"

#include <quire_engines.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "application/sandbox/pool_plan.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/planted_fault.h"

namespace quire::sandbox {
namespace {

static_assert(sizeof(RawValue) == sizeof(wasmtime_val_raw_t));
static_assert(alignof(RawValue) == alignof(wasmtime_val_raw_t));

constexpr std::size_t kSuspendingArgumentCountMax = 8;
constexpr std::uint64_t kNextEpoch = 1;
constexpr std::uint64_t kNoEpoch = std::uint64_t{1} << 62;  // Of the planted fault.

// No epoch cuts a guest between one host call and the next, so the calls themselves see that it
// comes to no place where it could be cut. They count ticks, which cost a load; the clock, which
// goes on for this thread only, says whether the guest had the processor all the while.
constexpr std::uint64_t kOverdueTicks = 32;  // After its slice, and from look to look.

// A mutable global that programs of `quire build` export (sdk/cpp/guest_flags.rsp).
constexpr std::string_view kStackPointer = "__stack_pointer";

std::string size_text(std::uint64_t bytes) {
  if (bytes % (1u << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes % (1u << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " bytes";
}

wasm_trap_t* end_guest() {
  static constexpr char kMessage[] = "the program ended";
  return wasmtime_trap_new(kMessage, sizeof kMessage - 1);
}

}  // namespace

std::uint64_t WasmtimeProgram::code_bytes() const {
  if (script_ != nullptr) return script_->bundle.size() + script_->byte_code.size();
  void* begin = nullptr;
  void* end = nullptr;
  wasmtime_module_image_range(module_.get(), &begin, &end);
  return static_cast<std::uint64_t>(static_cast<std::byte*>(end) - static_cast<std::byte*>(begin));
}

WasmtimeInstance::WasmtimeInstance(EpochTicker& ticker,
                                   std::shared_ptr<const WasmtimeProgram> program, void* host_state,
                                   const InstanceOptions& options)
    : program_(std::move(program)),
      ticker_(ticker),
      host_state_(host_state),
      options_(options),
      store_(wasmtime_store_new(program_->engine(), this, nullptr)),
      context_(wasmtime_store_context(store_.get())) {
  quire_store_limits(store_.get(), options.memory_bytes_max, options.table_element_count_max);
  wasmtime_context_set_epoch_deadline(context_,
                                      is_planted(Fault::EpochNotArmed) ? kNoEpoch : kNextEpoch);
  wasmtime_store_epoch_deadline_callback(store_.get(), &epoch_reached, this, nullptr);
}

WasmtimeInstance::~WasmtimeInstance() {
  future_.reset();  // Unwinds the guest's stack; may leave a trap or an error.
  if (trap_ != nullptr) wasm_trap_delete(trap_);
  if (error_ != nullptr) wasmtime_error_delete(error_);
}

// A guest that runs on an old deadline (it waited) goes on; one whose slice is over is parked.
wasmtime_error_t* WasmtimeInstance::epoch_reached(wasmtime_context_t*, void* data,
                                                  std::uint64_t* delta,
                                                  wasmtime_update_deadline_kind_t* kind) noexcept {
  auto& self = *static_cast<WasmtimeInstance*>(data);
  const std::uint64_t used = self.ticker_.ticks() - self.slice_start_;
  if (used < self.slice_ticks_) {
    *delta = self.slice_ticks_ - used;
    *kind = WASMTIME_UPDATE_DEADLINE_CONTINUE;
  } else {
    *delta = 1;
    *kind = WASMTIME_UPDATE_DEADLINE_YIELD;
  }
  return nullptr;
}

GuestMemory WasmtimeInstance::memory(wasmtime_context_t* context) {
  if (!has_memory_) return GuestMemory();
  return GuestMemory(reinterpret_cast<std::byte*>(wasmtime_memory_data(context, &memory_)),
                     wasmtime_memory_data_size(context, &memory_));
}

std::uint64_t WasmtimeInstance::memory_bytes() const {
  return has_memory_ ? wasmtime_memory_data_size(context_, &memory_) : 0;
}

void WasmtimeInstance::set_memory_max(std::uint64_t bytes) {
  quire_store_limits(store_.get(), std::min(bytes, options_.memory_bytes_max),
                     options_.table_element_count_max);
}

// After a host call that returns: null, or the trap.
wasm_trap_t* WasmtimeInstance::end_if_overrun() {
  const std::uint64_t tick = ticker_.ticks();
  if (tick < overdue_tick_) return nullptr;
  overdue_tick_ = tick + kOverdueTicks;
  const std::uint64_t now_ns = ThreadClock().now_ns();
  if (!overdue_since_ns_) overdue_since_ns_ = now_ns;
  if (now_ns - *overdue_since_ns_ < kUncutNsMax) return nullptr;
  overran_ = true;
  return end_guest();
}

wasm_trap_t* WasmtimeInstance::call_host(void* environment, wasmtime_caller_t* caller,
                                         wasmtime_val_raw_t* values, std::size_t) noexcept {
  const auto& function = *static_cast<const HostFunction*>(environment);
  wasmtime_context_t* context = wasmtime_caller_context(caller);
  auto& self = *static_cast<WasmtimeInstance*>(wasmtime_context_get_data(context));
  auto* raw = reinterpret_cast<RawValue*>(values);
  const CallOutcome outcome = function.call(self.host_state_, self.memory(context), raw);
  if (outcome == CallOutcome::Return) return self.end_if_overrun();
  QUIRE_CHECK(outcome == CallOutcome::End, "only suspending calls suspend");
  self.exited_ = true;
  self.exit_code_ = raw[0].as<std::int32_t>();
  return end_guest();
}

bool WasmtimeInstance::wait_finished(void* data) noexcept {
  auto& self = *static_cast<WasmtimeInstance*>(data);
  if (!self.waiting_) return !std::exchange(self.yields_, false);
  if (!self.wait_result_) return false;
  *self.wait_slot_ = *self.wait_result_;
  self.wait_result_.reset();
  self.wait_slot_ = nullptr;
  self.waiting_ = false;
  return true;
}

void WasmtimeInstance::call_suspending_host(void* environment, wasmtime_caller_t* caller,
                                            const wasmtime_val_t* arguments,
                                            std::size_t argument_count, wasmtime_val_t* results,
                                            std::size_t result_count, wasm_trap_t** trap,
                                            wasmtime_async_continuation_t* continuation) noexcept {
  const auto& function = *static_cast<const HostFunction*>(environment);
  wasmtime_context_t* context = wasmtime_caller_context(caller);
  auto& self = *static_cast<WasmtimeInstance*>(wasmtime_context_get_data(context));
  QUIRE_CHECK(argument_count <= kSuspendingArgumentCountMax && result_count == 1,
              "the table of host functions says so");
  RawValue values[kSuspendingArgumentCountMax + 1] = {};
  for (std::size_t i = 0; i < argument_count; ++i) {
    if (arguments[i].kind == WASMTIME_I64) {
      values[i].set(arguments[i].of.i64);
    } else {
      values[i].set(arguments[i].of.i32);
    }
  }
  *continuation = {&wait_finished, &self, nullptr};
  results[0].kind = WASMTIME_I32;
  switch (function.call(self.host_state_, self.memory(context), values)) {
    case CallOutcome::Return:
      results[0].of.i32 = values[0].as<std::int32_t>();
      self.yields_ = self.ticker_.ticks() - self.slice_start_ >= self.slice_ticks_;
      return;
    case CallOutcome::Suspend:
      self.waiting_ = true;
      self.wait_slot_ = &results[0].of.i32;
      return;
    case CallOutcome::End:
      self.exited_ = true;
      self.exit_code_ = values[0].as<std::int32_t>();
      *trap = end_guest();
      return;
  }
}

bool WasmtimeInstance::find_function(const char* name) {
  wasmtime_extern_t item;
  if (!wasmtime_instance_export_get(context_, &instance_, name, std::strlen(name), &item)) {
    return false;
  }
  QUIRE_CHECK(item.kind == WASMTIME_EXTERN_FUNC, "check_module saw a function");
  function_ = item.of.func;
  return true;
}

WasmFuture WasmtimeInstance::start_stage() {
  const ModuleSummary& summary = program_->summary();
  if (stage_ == Stage::Instantiate) {
    return WasmFuture(wasmtime_instance_pre_instantiate_async(program_->pre(), context_, &instance_,
                                                              &trap_, &error_));
  }
  const bool entry = stage_ == Stage::Entry;
  const char* name =
      !entry ? "_initialize" : (summary.entry == ModuleEntry::Run ? "run" : "_start");
  QUIRE_CHECK(find_function(name), "check_module saw the export");
  const std::size_t result_count = entry && summary.entry_returns_code ? 1 : 0;
  return WasmFuture(wasmtime_func_call_async(context_, &function_, nullptr, 0, &result_,
                                             result_count, &trap_, &error_));
}

void WasmtimeInstance::find_exports() {
  wasmtime_extern_t item;
  if (program_->summary().has_memory &&
      wasmtime_instance_export_get(context_, &instance_, "memory", 6, &item)) {
    has_memory_ = item.kind == WASMTIME_EXTERN_MEMORY;
    if (has_memory_) memory_ = item.of.memory;
  }
  if (!wasmtime_instance_export_get(context_, &instance_, kStackPointer.data(),
                                    kStackPointer.size(), &item) ||
      item.kind != WASMTIME_EXTERN_GLOBAL) {
    return;
  }
  wasmtime_val_t value{};
  wasmtime_global_get(context_, &item.of.global, &value);
  if (value.kind != WASMTIME_I32) return;
  stack_pointer_ = item.of.global;
  stack_bytes_ = static_cast<std::uint32_t>(value.of.i32);
}

// With the reason, where it is a stack that has overflowed.
std::string WasmtimeInstance::describe_trap(const wasm_trap_t* trap) {
  wasmtime_trap_code_t code{};
  if (!wasmtime_trap_code(trap, &code)) return message_of(trap);
  if (code == WASMTIME_TRAP_CODE_STACK_OVERFLOW) {
    return "the program overflowed its call stack of " + size_text(kWasmStackBytesMax) +
           " (deep recursion)\n" + message_of(trap);
  }
  if (code == WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS && stack_pointer_) {
    wasmtime_val_t value{};
    wasmtime_global_get(context_, &*stack_pointer_, &value);
    // The stack lies at the start of the memory, so the pointer went below 0.
    if (static_cast<std::uint32_t>(value.of.i32) > stack_bytes_) {
      return "the program overflowed its stack of " + size_text(stack_bytes_) +
             " (a large local array, or deep recursion); quire build FILE -- "
             "-Wl,-z,stack-size=" +
             std::to_string(std::uint64_t{stack_bytes_} * 4) + " makes it larger\n" +
             message_of(trap);
    }
  }
  return message_of(trap);
}

RunState WasmtimeInstance::trapped(std::string message) {
  trap_message_ = std::move(message);
  stage_ = Stage::Ended;
  return RunState::Trapped;
}

// The call of this stage has returned: goes on to the next one, or says how the guest ended.
RunState WasmtimeInstance::end_stage() {
  const WasmTrap trap(std::exchange(trap_, nullptr));
  const WasmError error(std::exchange(error_, nullptr));
  if (exited_) {
    stage_ = Stage::Ended;
    return RunState::Finished;
  }
  if (overran_) {
    trapped("the program made host calls for " + std::to_string(kUncutNsMax / 1'000'000) +
            " ms without returning to a loop or function where it could be interrupted");
    return RunState::Overrun;
  }
  if (trap != nullptr) return trapped(describe_trap(trap.get()));
  if (error != nullptr) return trapped(message_of(error.get()));
  if (stage_ == Stage::Instantiate) {
    find_exports();
    stage_ = program_->summary().has_initialize ? Stage::Initialize : Stage::Entry;
  } else if (stage_ == Stage::Initialize) {
    stage_ = Stage::Entry;
  } else {
    if (program_->summary().entry_returns_code) exit_code_ = result_.of.i32;
    stage_ = Stage::Ended;
    return RunState::Finished;
  }
  return RunState::Cut;
}

RunState WasmtimeInstance::resume(std::uint32_t slice_ticks) {
  QUIRE_CHECK(stage_ != Stage::Ended, "the guest has ended");
  QUIRE_CHECK(!waiting_ || wait_result_, "the guest waits");
  slice_start_ = ticker_.ticks();
  slice_ticks_ = slice_ticks;
  overdue_tick_ = slice_start_ + slice_ticks + kOverdueTicks;
  overdue_since_ns_.reset();
  ticker_.begin();
  RunState state = RunState::Cut;
  while (stage_ != Stage::Ended) {
    if (future_ == nullptr) future_ = start_stage();
    if (!wasmtime_call_future_poll(future_.get())) {
      state = waiting_ ? RunState::Waiting : RunState::Cut;
      break;
    }
    future_.reset();
    state = end_stage();
  }
  ticker_.end();
  return state;
}

void WasmtimeInstance::finish_wait(std::int32_t result) {
  QUIRE_CHECK(waiting_ && !wait_result_, "the guest waits for one result");
  wait_result_ = result;
}

}  // namespace quire::sandbox
#endif
