#include "application/sandbox/compile_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "base/sanitizer.h"
#include "base/utf8.h"

namespace quire::sandbox {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::size_t kWordsBytesMax = 4096;  // Read of what the child printed.
// Between the end of a child's pipe, which the kernel closes as it ends, and the end itself.
constexpr std::chrono::milliseconds kEndingTimeMax{1'000};
// The message of Rust's library before it ends a process that cannot have memory.
constexpr const char* kNoMemoryWords = "memory allocation of";

Error unavailable(const std::string& what) {
  return Error(ErrorCode::Unavailable, "the compiler's process " + what);
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  // Sources are 10 and above (see lift()), so that none is overwritten before its turn.
  void give(const Descriptor& from, CompilerDescriptor to) { give(from.get(), to); }
  void give(int from, CompilerDescriptor to) {
    posix_spawn_file_actions_adddup2(&actions_, from, to);
  }
  void close_rest() { posix_spawn_file_actions_addclosefrom_np(&actions_, kDescriptorCount); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// A process group of its own, so that Ctrl-C is not for it; no signal blocked or ignored.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// Reads until `into` is full, the other end is closed, `stop_event` can be read, or `deadline`.
enum class ReadEnd : std::uint8_t { Full, Closed, Stopped, Late };
ReadEnd read_whole(int descriptor, std::span<std::byte> into, int stop_event,
                   SteadyTime::time_point deadline) {
  while (!into.empty()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyTime::now()).count();
    if (left <= 0) return ReadEnd::Late;
    pollfd polled[] = {{descriptor, POLLIN, 0}, {stop_event, POLLIN, 0}};  // -1 is passed over.
    const int ready = poll(polled, 2, static_cast<int>(left));
    if (ready == 0) return ReadEnd::Late;
    if (ready < 0 && errno == EINTR) continue;
    if (polled[1].revents != 0) return ReadEnd::Stopped;
    const ssize_t count = read(descriptor, into.data(), into.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return ReadEnd::Closed;
    into = into.subspan(static_cast<std::size_t>(count));
  }
  return ReadEnd::Full;
}

std::string said(const std::string& words) {
  return words.empty() ? "" : ": " + in_quotes(words);
}

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

Result<CompileProcess::Pipe> CompileProcess::Pipe::create() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Error(ErrorCode::Io, std::string("pipe: ") + std::strerror(errno));
  }
  Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  Pipe pipe;
  pipe.read_end = TRY(lift(std::move(read_end)));
  pipe.write_end = TRY(lift(std::move(write_end)));
  return pipe;
}

Result<std::unique_ptr<CompileProcess>> CompileProcess::start(
    const std::vector<std::string>& command, const CompilerSetup& setup,
    const CompileLimits& limits) {
  Pipe requests = TRY(Pipe::create());
  Pipe replies = TRY(Pipe::create());
  Pipe words = TRY(Pipe::create());
  MemoryFile module = TRY(MemoryFile::create("quire-module"));
  MemoryFile code = TRY(MemoryFile::create("quire-code"));
  std::unique_ptr<CompileProcess> process(
      new CompileProcess({std::move(requests), std::move(replies), std::move(words),
                          std::move(module), std::move(code)},
                         limits));
  TRY(process->spawn(command));
  TRY(process->set_limits());
  TRY(write_whole(process->parts_.requests.write_end.get(), std::as_bytes(std::span(&setup, 1)),
                  "to the compiler's process"));
  return process;
}

Result<void> CompileProcess::spawn(const std::vector<std::string>& command) {
  SpawnActions actions;
  actions.give(parts_.requests.read_end, kRequests);
  actions.give(parts_.replies.write_end, kReplies);
  actions.give(parts_.words.write_end, kWords);
  actions.give(parts_.module.descriptor(), kModule);
  actions.give(parts_.code.descriptor(), kCode);
  actions.close_rest();
  const SpawnAttributes attributes;
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  std::string libraries = "LD_LIBRARY_PATH=";
  const char* given = std::getenv("LD_LIBRARY_PATH");
  if (given != nullptr) libraries += given;
  char* environment[] = {given != nullptr ? libraries.data() : nullptr, nullptr};
  const int refused = posix_spawn(&process_, arguments[0], actions.get(), attributes.get(),
                                  arguments.data(), environment);
  parts_.replies.write_end.reset();
  parts_.words.write_end.reset();
  if (refused == 0) return {};
  process_ = -1;
  return unavailable("cannot be started: " + command[0] + ": " + std::strerror(refused));
}

// At most what this process itself may have. At the soft limit of processor time it gets a signal
// that says so; the hard one stays where it was, since the next module gets as much again.
Result<void> CompileProcess::set_limit(int resource, std::uint64_t most) const {
  const auto which = static_cast<__rlimit_resource>(resource);
  rlimit limit{};
  if (prlimit(process_, which, nullptr, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
    if (which != RLIMIT_CPU) limit.rlim_max = limit.rlim_cur;
    if (prlimit(process_, which, &limit, nullptr) == 0) return {};
  }
  return unavailable(std::string("cannot be limited: ") + std::strerror(errno));
}

// From here, so that they hold whatever the child does. It has no module yet.
Result<void> CompileProcess::set_limits() const {
  // A sanitizer's own tables take terabytes of it.
  if (!kUnderSanitizer) TRY(set_limit(RLIMIT_DATA, limits_.memory_bytes_max));
  TRY(set_limit(RLIMIT_FSIZE, limits_.code_bytes_max));
  TRY(set_limit(RLIMIT_NOFILE, limits_.file_count_max));
  return set_limit(RLIMIT_CORE, 0);
}

// Sets the limit of the next module, after the time that all before it took.
Result<void> CompileProcess::set_time_limit() const {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    return unavailable("has no clock");
  }
  const auto begun = static_cast<std::uint64_t>(used.tv_sec) + 1;  // Limits are whole seconds.
  return set_limit(RLIMIT_CPU, begun + limits_.cpu_seconds_max);
}

CompileProcess::~CompileProcess() {
  kill_and_reap();
}

void CompileProcess::kill_and_reap() {
  if (process_ < 0) return;
  kill(-process_, SIGKILL);  // Its group, which spawn() made.
  while (waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

bool CompileProcess::has_ended() {
  if (process_ < 0) return true;
  // -1: the process that started this one has children reaped for it, and this one is.
  if (waitpid(process_, &status_, WNOHANG) == 0) return false;
  process_ = -1;
  return true;
}

Result<void> CompileProcess::send(std::span<const std::byte> wasm, Effort effort) {
  const int module = parts_.module.descriptor();
  if (ftruncate(module, 0) != 0 || lseek(module, 0, SEEK_SET) != 0) {
    return Error(ErrorCode::Io, std::string("a file in memory: ") + std::strerror(errno));
  }
  TRY(write_whole(module, wasm, "the module for the compiler's process"));
  CompileJob job;
  job.wasm_bytes = wasm.size();
  job.effort = effort;
  return write_whole(parts_.requests.write_end.get(), std::as_bytes(std::span(&job, 1)),
                     "to the compiler's process");
}

Error CompileProcess::stopped() {
  return unavailable("was stopped: the server ends");
}

Result<CompiledCode> CompileProcess::compile(std::span<const std::byte> wasm, Effort effort,
                                             int stop_event) {
  wasm_bytes_ = wasm.size();
  may_go_on_ = false;
  TRY(set_time_limit());
  TRY(send(wasm, effort));
  CompileReply reply;
  const ReadEnd end =
      read_whole(parts_.replies.read_end.get(), std::as_writable_bytes(std::span(&reply, 1)),
                 stop_event, SteadyTime::now() + limits_.wall_max);
  if (end == ReadEnd::Stopped) {
    kill_and_reap();
    return stopped();
  }
  if (end == ReadEnd::Late) {
    kill_and_reap();
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
  const auto deadline = SteadyTime::now() + kEndingTimeMax;
  while (!has_ended()) {
    if (SteadyTime::now() > deadline) {
      kill_and_reap();
      return unavailable("closed its pipe without a reply");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (WIFSIGNALED(status_)) return why_ended_by(WTERMSIG(status_));
  return unavailable("ended with " + std::to_string(WEXITSTATUS(status_)) +
                     " and without a whole reply" + said(first_words()));
}

Error CompileProcess::why_ended_by(int signal) const {
  const std::string words = first_words();
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

// The first output of the child, as it is.
std::string CompileProcess::first_words() const {
  char words[kWordsBytesMax];
  pollfd polled = {parts_.words.read_end.get(), POLLIN, 0};
  if (poll(&polled, 1, 0) <= 0) return "";
  const ssize_t count = read(polled.fd, words, sizeof words);
  return std::string(words, count > 0 ? static_cast<std::size_t>(count) : 0);
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
        pread(parts_.code.descriptor(), into.data(), into.size(), static_cast<off_t>(offset));
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
