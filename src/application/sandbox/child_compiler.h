#pragma once
// ChildCompiler compiles modules that no operator vouches for, in another process. That is started
// before it is wanted, and goes on with the next module. It is replaced when it has failed, grown
// or done many.
//
// Owns     at most one idle process; one that has done its work, until prepare() or the next that
//          has, since waiting for the end of a process that held much memory takes time.
// Thread   any; each compilation is on its caller's thread. See CompileProcess on threads that end.
// Errors   those of CompileProcess.
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "application/sandbox/compile_process.h"
#include "base/result.h"

namespace quire::sandbox {

class ChildCompiler {
 public:
  ChildCompiler(std::vector<std::string> command, const CompilerSetup& setup,
                const CompileLimits& limits);

  Result<CompiledCode> compile(std::span<const std::byte> wasm, Effort effort);

  // Reaps what has ended and has a process wait for the next module; a process that cannot be
  // started is the next compilation's Error.
  void prepare();

  // Ends what compiles now, and refuses what comes: both are Unavailable.
  void stop();

 private:
  Result<std::unique_ptr<CompileProcess>> start() const;
  std::unique_ptr<CompileProcess> take_idle();
  void put_back(std::unique_ptr<CompileProcess> process);

  const std::vector<std::string> command_;
  const CompilerSetup setup_;
  const CompileLimits limits_;
  // Readable once stopped. Where the system had none left, what compiles then runs to its end.
  const Descriptor stop_event_;
  std::atomic<bool> is_stopped_{false};
  std::mutex mutex_;  // Of what follows.
  std::unique_ptr<CompileProcess> idle_;
  std::unique_ptr<CompileProcess> done_;
};

}  // namespace quire::sandbox
