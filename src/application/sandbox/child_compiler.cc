#include "application/sandbox/child_compiler.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace quire::sandbox {

ChildCompiler::ChildCompiler(std::vector<std::string> command, const CompilerSetup& setup,
                             const CompileLimits& limits)
    : command_(std::move(command)),
      setup_(setup),
      limits_(limits),
      stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void ChildCompiler::stop() {
  is_stopped_.store(true);
  const std::uint64_t one = 1;
  // The event stays readable, so each thread that waits sees it. A write can only fail if one came
  // before it.
  [[maybe_unused]] const ssize_t written = write(stop_event_.get(), &one, sizeof one);
}

Result<std::unique_ptr<CompileProcess>> ChildCompiler::start() const {
  return CompileProcess::start(command_, setup_, limits_);
}

// Takes the idle process, unless it was ended from outside, which loses nothing.
std::unique_ptr<CompileProcess> ChildCompiler::take_idle() {
  std::lock_guard lock(mutex_);
  std::unique_ptr<CompileProcess> process = std::move(idle_);
  if (process != nullptr && process->has_ended()) process = nullptr;
  return process;
}

// Back to wait for the next module, or to be reaped.
void ChildCompiler::put_back(std::unique_ptr<CompileProcess> process) {
  std::lock_guard lock(mutex_);
  const bool waits = process->may_go_on() && idle_ == nullptr;
  std::swap(waits ? idle_ : done_, process);
}

Result<CompiledCode> ChildCompiler::compile(std::span<const std::byte> wasm, Effort effort) {
  if (is_stopped_.load()) return CompileProcess::stopped();
  if (std::unique_ptr<CompileProcess> process = take_idle()) {
    Result<CompiledCode> code = process->compile(wasm, effort, stop_event_.get());
    put_back(std::move(process));
    const bool has_died = !code.ok() && code.error().code() == ErrorCode::Unavailable;
    // Else it may have died of something that was before this module.
    if (!has_died || is_stopped_.load()) return code;
  }
  std::unique_ptr<CompileProcess> process = TRY(start());
  Result<CompiledCode> code = process->compile(wasm, effort, stop_event_.get());
  put_back(std::move(process));
  return code;
}

void ChildCompiler::prepare() {
  std::unique_ptr<CompileProcess> done;
  {
    std::lock_guard lock(mutex_);
    done = std::move(done_);
    if (idle_ != nullptr && !idle_->has_ended()) return;
    idle_ = nullptr;
  }
  Result<std::unique_ptr<CompileProcess>> next = start();
  if (next.ok()) put_back(std::move(next).take());
}

}  // namespace quire::sandbox
