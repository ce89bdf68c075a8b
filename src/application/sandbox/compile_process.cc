#include "application/sandbox/compile_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/utf8.h"

namespace quire::sandbox {
namespace {

using SteadyTime = std::chrono::steady_clock;
using workers::WorkerProcess;
using ReadEnd = WorkerProcess::ReadEnd;

constexpr std::chrono::seconds kReportTimeMax{30};  // From the start of a process to its report.
constexpr const char* kTitle = "the compiler's process";
// The message of Rust's library before it ends a process that cannot have memory.
constexpr const char* kNoMemoryWords = "memory allocation of";

Error unavailable(const std::string& what) {
  return Error(ErrorCode::Unavailable, std::string(kTitle) + " " + what);
}

std::string said(const std::string& words) {
  return words.empty() ? "" : ": " + in_quotes(words);
}

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

Result<std::unique_ptr<CompileProcess>> CompileProcess::start(
    const std::vector<std::string>& command, const CompilerSetup& setup,
    const CompileLimits& limits) {
  MemoryFile module = TRY(MemoryFile::create("quire-module"));
  MemoryFile code = TRY(MemoryFile::create("quire-code"));
  std::unique_ptr<WorkerProcess> worker =
      TRY(WorkerProcess::start({.title = kTitle,
                                .command = command,
                                .files = {module.descriptor(), code.descriptor()},
                                .limits = {.memory_bytes_max = limits.memory_bytes_max,
                                           .file_bytes_max = limits.code_bytes_max,
                                           .file_count_max = limits.file_count_max}}));
  std::unique_ptr<CompileProcess> process(
      new CompileProcess(std::move(worker), std::move(module), std::move(code), limits));
  CompilerSetup own = setup;
  own.requires_wall = limits.requires_wall ? 1 : 0;
  TRY(process->worker_->send(std::as_bytes(std::span(&own, 1))));
  return process;
}

Result<workers::WallReport> CompileProcess::wall_of(const std::vector<std::string>& command) {
  CompilerSetup setup;
  setup.only_reports_wall = 1;
  const std::unique_ptr<CompileProcess> process = TRY(start(command, setup, {}));
  CompileReply reply;
  const ReadEnd end = process->worker_->receive(std::as_writable_bytes(std::span(&reply, 1)), -1,
                                                SteadyTime::now() + kReportTimeMax);
  if (end == ReadEnd::Closed) return process->why_ended();
  if (end != ReadEnd::Full || reply.outcome != CompileOutcome::WallReported) {
    return unavailable("gave no report of its wall");
  }
  return reply.wall;
}

Result<void> CompileProcess::send(std::span<const std::byte> wasm, Effort effort) {
  const int module = module_.descriptor();
  if (ftruncate(module, 0) != 0 || lseek(module, 0, SEEK_SET) != 0) {
    return Error(ErrorCode::Io, std::string("a file in memory: ") + std::strerror(errno));
  }
  TRY(write_whole(module, wasm, "the module for the compiler's process"));
  CompileJob job;
  job.wasm_bytes = wasm.size();
  job.effort = effort;
  return worker_->send(std::as_bytes(std::span(&job, 1)));
}

Error CompileProcess::stopped() {
  return unavailable("was stopped: the server ends");
}

Result<CompiledCode> CompileProcess::compile(std::span<const std::byte> wasm, Effort effort,
                                             int stop_event) {
  wasm_bytes_ = wasm.size();
  may_go_on_ = false;
  TRY(worker_->limit_time(limits_.cpu_seconds_max));
  TRY(send(wasm, effort));
  CompileReply reply;
  const ReadEnd end = worker_->receive(std::as_writable_bytes(std::span(&reply, 1)), stop_event,
                                       SteadyTime::now() + limits_.wall_max);
  if (end == ReadEnd::Stopped) {
    worker_->kill_and_reap();
    return stopped();
  }
  if (end == ReadEnd::Late) {
    worker_->kill_and_reap();
    return Error(ErrorCode::Timeout,
                 "the compiler was not done with this module of " + std::to_string(wasm_bytes_) +
                     " bytes after " + std::to_string(limits_.wall_max.count()) +
                     " ms and was stopped: split the program, or try again when the machine has "
                     "less to do");
  }
  if (end == ReadEnd::Closed) return why_ended();
  Result<CompiledCode> code = take(reply);
  may_go_on_ = code.ok() ? reply.is_last == 0
                         : code.error().code() == ErrorCode::InvalidArgument && reply.is_last == 0;
  if (limits_.is_of_one_module) may_go_on_ = false;
  return code;
}

// The child's pipe is closed, so it is about to end, by itself or by a signal.
Error CompileProcess::why_ended() {
  if (!worker_->ends_soon()) {
    worker_->kill_and_reap();
    return unavailable("closed its pipe without a reply");
  }
  const int status = worker_->status();
  if (WIFSIGNALED(status)) return why_ended_by(WTERMSIG(status));
  return unavailable("ended with " + std::to_string(WEXITSTATUS(status)) +
                     " and without a whole reply" + said(worker_->first_words()));
}

Error CompileProcess::why_ended_by(int signal) const {
  const std::string words = worker_->first_words();
  if (signal == SIGABRT && words.find(kNoMemoryWords) != std::string::npos) return no_memory();
  if (signal == SIGXCPU) {
    return too_large(
        "needs more than " + std::to_string(limits_.cpu_seconds_max) + " s of processor time",
        ", or have the server raise --compile-seconds-max");
  }
  if (signal == SIGXFSZ) {
    return too_large("makes more than " + mebibytes(limits_.code_bytes_max) + " of code", "");
  }
  return unavailable("was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) +
                     ")" + said(words));
}

Error CompileProcess::no_memory() const {
  return too_large("needs more than " + mebibytes(limits_.memory_bytes_max) + " of memory",
                   ", or have the server raise --compile-memory-max");
}

Error CompileProcess::too_large(const std::string& what, const std::string& or_else) const {
  return Error(ErrorCode::TooLarge, "the compiler " + what + " for this module of " +
                                        std::to_string(wasm_bytes_) + " bytes: split the program" +
                                        or_else);
}

Result<CompiledCode> CompileProcess::take(const CompileReply& reply) const {
  const std::string message(reply.message, strnlen(reply.message, sizeof reply.message));
  switch (reply.outcome) {
    case CompileOutcome::Refused:
      return Error(ErrorCode::InvalidArgument, printable_lines(message));
    case CompileOutcome::Failed:
      return unavailable("failed" + said(message));
    case CompileOutcome::NoMemory:
      return no_memory();
    case CompileOutcome::Compiled:
      break;
    default:
      return unavailable("gave no reply that can be understood");
  }
  if (reply.effort != Effort::Quick && reply.effort != Effort::Best) {
    return unavailable("gave code of no known kind");
  }
  if (reply.code_bytes > limits_.code_bytes_max) {
    return unavailable("announces more code than it may write");
  }
  // The child could still change the file, so only a copy is read.
  const auto read_at = [this](std::uint64_t offset, std::span<std::byte> into) -> Result<void> {
    const ssize_t count =
        pread(code_.descriptor(), into.data(), into.size(), static_cast<off_t>(offset));
    if (count == static_cast<ssize_t>(into.size())) return {};
    return unavailable("wrote less code than it announced");
  };
  SealedCopy code = TRY(sealed_copy(read_at, 0, reply.code_bytes));
  if (code.digest != reply.digest) {
    return unavailable("gave " + std::to_string(reply.code_bytes) +
                       " bytes of code whose digest is not the one that it announced");
  }
  return CompiledCode{reply.effort, std::move(code.file)};
}

}  // namespace quire::sandbox
