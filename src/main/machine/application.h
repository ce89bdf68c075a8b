#pragma once
// Application is the upper layer on a Machine: sandbox, host calls and lifecycle, built in the
// order in which they need one another.
//
// Owns     the Wasm runtime, the programs and their instances.
// Thread   built and used on the main thread, which is the engine thread.
// Errors   Unavailable when the address space for instances cannot be had.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "application/lifecycle/engine_loop.h"
#include "application/lifecycle/instance_manager.h"
#include "application/sandbox/compile_process.h"
#include "base/clock.h"
#include "base/result.h"
#include "main/machine/machine.h"
#include "workers/worker_wall.h"

namespace quire {

struct SandboxOptions {
  std::uint32_t instance_count_max = 1024;                    // At once; further ones queue,
  std::uint32_t waiting_launch_count_max = 1u << 16;          // so many at most.
  std::uint64_t memory_bytes_max = std::uint64_t{128} << 20;  // Of an instance,
  std::uint64_t program_memory_bytes_max = lifecycle::ProgramMemory::kUnlimited;  // and of all.
  // The limits of compiling a client's module, in a process of its own. None if no client can
  // upload one.
  std::optional<sandbox::CompileLimits> compile = {};
  bool traps_tell_lines = false;          // Of modules built with --debug; for the user's own.
  bool has_quick_compiler = true;         // Winch, for the first launches of what clients upload.
  bool has_keyed_numbers = false;         // Of instances: for clients that are not one user's.
  lifecycle::UsageSink* usage = nullptr;  // Outlives the application. Null: no accounts.
};

// An application stands on a control layer and the way its answers come.
struct ApplicationBase {
  control::ControlPort& control;
  lifecycle::AnswerInbox& answers;
  Wakeup& wakeup;
  const control::AdapterCatalog* adapters = nullptr;  // Null: no model has any.
};

// The wall of a process that compiles a client's module (SandboxOptions::compile) on this machine.
// Unavailable if such a process cannot be had.
Result<workers::WallReport> compiler_wall();

class Application {
 public:
  static Result<std::unique_ptr<Application>> build(const ApplicationBase& base, const Clock& clock,
                                                    const SandboxOptions& options,
                                                    WalkSink* walk = nullptr);
  static Result<std::unique_ptr<Application>> build(Machine& machine, const Clock& clock,
                                                    const SandboxOptions& options,
                                                    WalkSink* walk = nullptr);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  // Launches for the command line: stop 1 of the walk. A server's clients launch through ClientDesk
  // (src/application/server/client_requests.cc). The client outlives the instance.
  Result<lifecycle::InstanceId> launch(lifecycle::LaunchRequest request, service::Listener& client);
  // Any thread. Compiles a module of the operator, so that the engine's thread finds its code in
  // the cache when it loads the module. Errors are the module's; a script must compile, too.
  Result<void> compile(std::span<const std::byte> wasm);
  lifecycle::InstanceManager& manager();
  lifecycle::EngineLoop& loop();

 private:
  struct Parts;
  explicit Application(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace quire
