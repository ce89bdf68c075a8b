#pragma once
// WasmRuntime compiles a guest's module and runs instances of it, each on a stack of its own, until
// they wait. Two implementations: WasmtimeRuntime, and FakeRuntime whose guests are C++ functions.
//
// Thread   compile() and stop_compiling() from any; all else on the engine thread.
// Errors   What a module or a guest does wrong is an Error or a RunState, never a dead process.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "application/sandbox/guest_memory.h"
#include "base/result.h"

namespace quire::sandbox {

enum class CallOutcome : std::uint8_t {
  Return,   // values[0] holds the result.
  Suspend,  // The guest is parked; Instance::finish_wait brings the result. Suspending calls only.
  End,      // The guest asked to end; values[0] holds its exit code.
};

// One import that guests may have. `call` finds its arguments in `values` and leaves its result in
// values[0]; it runs on the guest's stack, so it neither throws nor blocks. Signature: see
// hostcalls/host_call_table.inc.
struct HostFunction {
  const char* module = "";
  const char* name = "";
  const char* signature = "";
  bool suspends = false;
  CallOutcome (*call)(void* host_state, GuestMemory memory, RawValue* values) noexcept = nullptr;
};

enum class RunState : std::uint8_t {
  Waiting,   // Parked in a suspending call.
  Cut,       // Its time slice was over; resume() goes on.
  Finished,  // The entry returned, or the guest asked to end.
  Trapped,   // See trap_message().
  Overrun,   // It was ended, since it could not be cut: see trap_message().
};

// Processor time of calls one after another with nothing between where a guest could be cut; one
// that goes on ends with RunState::Overrun.
inline constexpr std::uint64_t kUncutNsMax = 500'000'000;

struct InstanceOptions {
  std::uint64_t memory_bytes_max = 128u << 20;
  std::uint32_t table_element_count_max = 20'000;
};

enum class Effort : std::uint8_t {
  Quick,  // Ready soon, and runs slower; what is at hand already, or safer, may be better.
  Best,
};

// The party that vouches for a module.
enum class Origin : std::uint8_t {
  Operator,  // It was named where the engine was started.
  Client,    // None: it is compiled within limits, in a process of its own if there is one.
};

// The script of an instance, for the runtime that runs it.
struct Script {
  std::string bundle;            // See script_bundle.h.
  std::string byte_code;         // That the runtime made of it here; empty: it reads the source.
  Effort effort = Effort::Best;  // Quick: byte code can be made of it, and was not yet.
};

class Program {
 public:
  virtual ~Program() = default;
  virtual Effort effort() const = 0;  // Of its code.
  // With its tables and data; of a script what is its own, because all scripts share the code.
  virtual std::uint64_t code_bytes() const = 0;
  virtual std::uint64_t first_memory_bytes() const = 0;  // Of each instance, as it begins.
  // Null for programs that are not scripts.
  virtual std::shared_ptr<const Script> script() const { return nullptr; }
};

class Instance {
 public:
  // Destroying a parked instance ends it: its stack is unwound without running the guest.
  virtual ~Instance() = default;

  // Runs the guest until it waits, ends or has used `slice_ticks` (1 ms each, of which one has
  // begun already). Only in the states before Finished, and not while a wait has no result. A guest
  // is cut where a loop or a function begins, and in a suspending call. One that makes other host
  // calls, and comes to no such place for half a second of processor time, is ended.
  virtual RunState resume(std::uint32_t slice_ticks) = 0;

  // The result of the call in which the guest waits; before the next resume().
  virtual void finish_wait(std::int32_t result) = 0;

  virtual std::int32_t exit_code() const = 0;  // After Finished.
  // After Trapped, with function names; after Overrun.
  virtual const std::string& trap_message() const = 0;
  virtual std::uint64_t memory_bytes() const = 0;  // Of the guest's linear memory.
  // The limit from here on, in place of InstanceOptions::memory_bytes_max. A memory that is larger
  // stays as it is. Also while the guest is in a host call.
  virtual void set_memory_max(std::uint64_t bytes) = 0;
};

// For implementations: QuotaExceeded where a module begins with more memory than `bytes_max`.
Result<void> check_first_memory(std::uint64_t bytes, std::uint64_t bytes_max);

// For implementations, and for callers that check before: TooLarge over module_bytes_max.
Result<void> check_module_bytes(std::uint64_t bytes, std::uint64_t bytes_max);

class WasmRuntime {
 public:
  virtual ~WasmRuntime() = default;

  // Checks and compiles. `host_state` of the functions offered comes with each instance.
  virtual Result<std::shared_ptr<const Program>> compile(std::span<const std::byte> wasm,
                                                         Effort effort, Origin origin) = 0;

  // Clears up after the last compilation of a client's module, and readies what the next would wait
  // for: some ms, when nothing else is to do. Any thread.
  virtual void prepare() = 0;

  // No client's module is compiled in a process of its own any more: the one that is, and all that
  // come, are Unavailable at once. Any thread.
  virtual void stop_compiling() = 0;

  // `host_state` outlives the instance and is passed to every host function.
  virtual Result<std::unique_ptr<Instance>> instantiate(std::shared_ptr<const Program> program,
                                                        void* host_state,
                                                        const InstanceOptions& options) = 0;

  virtual std::uint32_t instance_count_max() const = 0;  // At once.
  virtual std::uint64_t module_bytes_max() const = 0;    // Of Wasm that compile() may take.
};

}  // namespace quire::sandbox
