#pragma once
// FakeRuntime runs guests that are C++ state machines instead of Wasm: for ThreadSanitizer, which
// cannot see into a Wasm engine, and for the simulation, where one seed gives one trace.
//
// Thread   engine thread only; compile() from any, once all programs were added.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "application/sandbox/wasm_runtime.h"

namespace quire::sandbox {

// FakeHost is a fake guest's view of its host: its memory, and the imports by interface and name.
class FakeHost {
 public:
  FakeHost(std::span<const HostFunction> functions, void* host_state, std::uint64_t memory_bytes)
      : functions_(functions),
        host_state_(host_state),
        memory_bytes_(memory_bytes),
        memory_(memory_bytes) {}

  struct Outcome {
    CallOutcome outcome = CallOutcome::Return;
    std::int64_t value = 0;  // Of Return, or the exit code of End.
  };
  // `interface` is a word such as "future", or "wasi" for WASI preview 1. Arguments as Wasm passes
  // them: a list is an address and a count.
  Outcome call(std::string_view interface, std::string_view name,
               std::initializer_list<std::int64_t> arguments);
  Outcome call(const HostFunction& function, std::span<const std::int64_t> arguments);

  std::vector<std::byte>& memory() { return memory_; }
  // The size that the guest's memory counts for; only what it began with can be used. False: it may
  // not grow so far.
  bool grow(std::uint64_t bytes) {
    if (bytes > memory_bytes_max_) return false;
    memory_bytes_ = std::max(memory_bytes_, bytes);
    return true;
  }
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  void set_memory_max(std::uint64_t bytes) { memory_bytes_max_ = bytes; }
  // Copies bytes to `address` of the guest's memory; returns the address.
  std::int64_t put(std::uint32_t address, std::string_view bytes);
  std::string get(std::uint32_t address, std::uint32_t bytes) const;

  std::optional<std::int32_t> wait_result;  // Of the suspending call, once the guest goes on.

 private:
  std::span<const HostFunction> functions_;
  void* host_state_;
  std::uint64_t memory_bytes_max_ = UINT64_MAX;
  std::uint64_t memory_bytes_;
  std::vector<std::byte> memory_;
};

struct FakeAction {
  enum class Kind : std::uint8_t { Wait, Yield, Finish, Trap } kind = Kind::Finish;
  std::int32_t exit_code = 0;
  std::string message;
};

class FakeGuest {
 public:
  virtual ~FakeGuest() = default;
  // Runs until the guest would wait (a call gave Suspend), was cut, or ends.
  virtual FakeAction step(FakeHost& host) = 0;
};

struct FakeModule {
  std::function<std::unique_ptr<FakeGuest>()> make;
  std::uint64_t memory_bytes_min = 0;
};

class FakeRuntime : public WasmRuntime {
 public:
  explicit FakeRuntime(std::span<const HostFunction> functions,
                       std::uint32_t instance_count_max = 1024)
      : functions_(functions), instance_count_max_(instance_count_max) {}

  // Whether a quick compilation gives code that could be better, and how often each was asked for.
  std::atomic<bool> has_quick{false};
  std::atomic<std::uint32_t> quick_count{0};
  std::atomic<std::uint32_t> best_count{0};
  std::atomic<std::uint64_t> code_bytes{0};  // Of what is compiled next.
  std::uint64_t module_bytes = 16u << 20;    // At most.
  std::function<void()> before_compiling;    // On the thread that compiles; set before it does.

  // The "module" of a program is its name. It cannot be instantiated with less memory than given.
  void add_program(std::string name, std::function<std::unique_ptr<FakeGuest>()> make,
                   std::uint64_t memory_bytes_min = 0);

  Result<std::shared_ptr<const Program>> compile(std::span<const std::byte> wasm, Effort effort,
                                                 Origin origin) override;
  void prepare() override {}
  void stop_compiling() override {}
  Result<std::unique_ptr<Instance>> instantiate(std::shared_ptr<const Program> program,
                                                void* host_state,
                                                const InstanceOptions& options) override;
  std::uint32_t instance_count_max() const override { return instance_count_max_; }
  std::uint64_t module_bytes_max() const override { return module_bytes; }

 private:
  const std::span<const HostFunction> functions_;
  const std::uint32_t instance_count_max_;
  std::map<std::string, FakeModule> programs_;
};

}  // namespace quire::sandbox
