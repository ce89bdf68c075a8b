#pragma once
// CompileProcess is a child process that compiles modules, one after the other and each within
// limits. What it does is in compile_worker.cc; this is the side that wants the code.
//
// Owns     the process, which is killed where it still runs, and reaped; the pipes and files to it.
// Thread   one at a time. The thread that starts it outlives it: the system ends the process with
//          that thread (PR_SET_PDEATHSIG), so that it cannot outlive the server.
// Errors   TooLarge and Timeout name the limit that the module ran into; InvalidArgument is what
//          the compiler says of the module; Unavailable where the process could not be started, was
//          killed or said nothing that could be understood; Io for a pipe or a file.
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "application/sandbox/compile_protocol.h"
#include "application/sandbox/memory_file.h"
#include "base/result.h"

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
};

struct CompiledCode {
  Effort effort = Effort::Best;
  MemoryFile file;  // Sealed; its digest was compared.
};

class CompileProcess {
 public:
  // `command`: a program and its arguments. It gets no environment but where libraries lie, no
  // descriptor but those of compile_protocol.h, and no signal of the terminal.
  static Result<std::unique_ptr<CompileProcess>> start(const std::vector<std::string>& command,
                                                       const CompilerSetup& setup,
                                                       const CompileLimits& limits);
  ~CompileProcess();
  CompileProcess(const CompileProcess&) = delete;
  CompileProcess& operator=(const CompileProcess&) = delete;

  // Whether it has ended, though nothing was asked of it.
  bool has_ended();

  // Gives the compilation up, with stopped(), if `stop_event` can be read from, before or
  // meanwhile. -1: never.
  Result<CompiledCode> compile(std::span<const std::byte> wasm, Effort effort, int stop_event = -1);
  static Error stopped();

  // Whether another module may follow.
  bool may_go_on() const { return may_go_on_; }

 private:
  struct Pipe {
    Descriptor read_end;
    Descriptor write_end;
    static Result<Pipe> create();
  };
  struct Parts {
    // Both ends stay open, so that writing to a process that is gone raises no signal.
    Pipe requests;
    Pipe replies;
    Pipe words;
    MemoryFile module;
    MemoryFile code;
  };
  CompileProcess(Parts parts, const CompileLimits& limits)
      : parts_(std::move(parts)), limits_(limits) {}
  Result<void> spawn(const std::vector<std::string>& command);
  Result<void> set_limit(int resource, std::uint64_t most) const;
  Result<void> set_limits() const;
  Result<void> set_time_limit() const;
  Result<void> send(std::span<const std::byte> wasm, Effort effort);
  void kill_and_reap();
  Error why_ended();
  Error why_ended_by(int signal) const;
  Error no_memory() const;
  Error too_large(const std::string& what, const std::string& or_else) const;
  std::string first_words() const;
  Result<CompiledCode> take(const CompileReply& reply) const;

  Parts parts_;
  const CompileLimits limits_;
  pid_t process_ = -1;  // -1: none, or reaped.
  int status_ = 0;      // The status of waitpid, once reaped.
  std::uint64_t wasm_bytes_ = 0;
  bool may_go_on_ = true;
};

}  // namespace quire::sandbox
