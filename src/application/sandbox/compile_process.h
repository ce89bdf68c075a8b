#pragma once
// CompileProcess is a child process that compiles modules, one after the other and each within
// limits. What it does is in compile_worker.cc; this is the side that wants the code.
//
// Owns     the process, as workers/worker_process.h says, and the files to it.
// Thread   one at a time; the thread that starts it outlives it.
// Errors   TooLarge and Timeout name the limit that the module ran into; InvalidArgument is what
//          the compiler says of the module; Unavailable where the process could not be started, was
//          killed or said nothing that could be understood; Io for a pipe or a file.
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "application/sandbox/compile_protocol.h"
#include "base/memory_file.h"
#include "base/result.h"
#include "workers/worker_process.h"

namespace quire::sandbox {

// The limits of each compilation. The kernel holds the child to all but the last.
struct CompileLimits {
  // Heap, stacks and what else it may write to (RLIMIT_DATA). Cranelift takes about 250 bytes for a
  // byte of Wasm where functions are small.
  std::uint64_t memory_bytes_max = std::uint64_t{1} << 30;
  std::uint64_t code_bytes_max = std::uint64_t{256} << 20;  // That come out (RLIMIT_FSIZE).
  std::uint32_t cpu_seconds_max = 60;                       // Of all its threads (RLIMIT_CPU).
  std::uint32_t file_count_max = 32;                        // Open at once (RLIMIT_NOFILE).
  // By the clock on the wall, which the parent keeps: a machine that is full gives the compiler
  // little of its processor time, but an end has to come.
  std::chrono::milliseconds wall_max{240'000};
  // The process ends with its module, so that a module that took the compiler over reaches no other one.
  bool is_of_one_module = false;
  // No module is compiled in a process that lacks a part of its wall (workers/worker_wall.h).
  bool requires_wall = false;
};

struct CompiledCode {
  Effort effort = Effort::Best;
  MemoryFile file;  // Sealed; its digest was compared.
};

class CompileProcess {
 public:
  // `command`: a program and its arguments. It gets the descriptors of compile_protocol.h.
  static Result<std::unique_ptr<CompileProcess>> start(const std::vector<std::string>& command,
                                                       const CompilerSetup& setup,
                                                       const CompileLimits& limits);

  // The wall of such a process on this machine, as one that starts and ends here reports it.
  static Result<workers::WallReport> wall_of(const std::vector<std::string>& command);

  // Whether it has ended, though nothing was asked of it.
  bool has_ended() { return worker_->has_ended(); }

  // Gives the compilation up, with stopped(), if `stop_event` can be read from, before or
  // meanwhile. -1: never.
  Result<CompiledCode> compile(std::span<const std::byte> wasm, Effort effort, int stop_event = -1);
  static Error stopped();

  // Whether another module may follow.
  bool may_go_on() const { return may_go_on_; }

 private:
  CompileProcess(std::unique_ptr<workers::WorkerProcess> worker, MemoryFile module, MemoryFile code,
                 const CompileLimits& limits)
      : worker_(std::move(worker)),
        module_(std::move(module)),
        code_(std::move(code)),
        limits_(limits) {}
  Result<void> send(std::span<const std::byte> wasm, Effort effort);
  Error why_ended();
  Error why_ended_by(int signal) const;
  Error no_memory() const;
  Error too_large(const std::string& what, const std::string& or_else) const;
  Result<CompiledCode> take(const CompileReply& reply) const;

  const std::unique_ptr<workers::WorkerProcess> worker_;
  MemoryFile module_;
  MemoryFile code_;
  const CompileLimits limits_;
  std::uint64_t wasm_bytes_ = 0;
  bool may_go_on_ = true;
};

}  // namespace quire::sandbox
