#include "workers/worker_process.h"

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

#include "base/memory_file.h"
#include "base/sanitizer.h"

namespace quire::workers {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::size_t kWordsBytesMax = 4096;  // Read of what the child printed.
// Between the end of a child's pipe, which the kernel closes as it ends, and the end itself.
constexpr std::chrono::milliseconds kEndingTimeMax{1'000};

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  // Sources are 10 and above (see lift()), so that none is overwritten before its turn.
  void give(const Descriptor& from, int to) { give(from.get(), to); }
  void give(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  void close_from(int first) { posix_spawn_file_actions_addclosefrom_np(&actions_, first); }
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

}  // namespace

Error WorkerProcess::unavailable(const std::string& what) const {
  return Error(ErrorCode::Unavailable, title_ + " " + what);
}

Result<WorkerProcess::Pipe> WorkerProcess::Pipe::create() {
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

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const WorkerSetup& setup) {
  Pipe requests = TRY(Pipe::create());
  Pipe replies = TRY(Pipe::create());
  Pipe words = TRY(Pipe::create());
  std::unique_ptr<WorkerProcess> process(
      new WorkerProcess(setup.title, {std::move(requests), std::move(replies), std::move(words)}));
  TRY(process->spawn(setup));
  TRY(process->set_limits(setup.limits));
  return process;
}

Result<void> WorkerProcess::spawn(const WorkerSetup& setup) {
  SpawnActions actions;
  actions.give(pipes_.requests.read_end, kRequests);
  actions.give(pipes_.replies.write_end, kReplies);
  actions.give(pipes_.words.write_end, kWords);
  int next = kFirstFile;
  for (const int file : setup.files) actions.give(file, next++);
  actions.close_from(next);
  const SpawnAttributes attributes;
  std::vector<char*> arguments;
  for (const std::string& each : setup.command) {
    arguments.push_back(const_cast<char*>(each.c_str()));
  }
  arguments.push_back(nullptr);
  std::string libraries = "LD_LIBRARY_PATH=";
  const char* given = std::getenv("LD_LIBRARY_PATH");
  if (given != nullptr) libraries += given;
  char* environment[] = {given != nullptr ? libraries.data() : nullptr, nullptr};
  const int refused = posix_spawn(&process_, arguments[0], actions.get(), attributes.get(),
                                  arguments.data(), environment);
  pipes_.replies.write_end.reset();
  pipes_.words.write_end.reset();
  if (refused == 0) return {};
  process_ = -1;
  return unavailable("cannot be started: " + setup.command[0] + ": " + std::strerror(refused));
}

// At most what this process itself may have. At the soft limit of processor time it gets a signal
// that says so; the hard one stays where it was, since the next module gets as much again.
Result<void> WorkerProcess::set_limit(int resource, std::uint64_t most) const {
  const auto which = static_cast<__rlimit_resource>(resource);
  rlimit limit{};
  if (prlimit(process_, which, nullptr, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
    if (which != RLIMIT_CPU) limit.rlim_max = limit.rlim_cur;
    if (prlimit(process_, which, &limit, nullptr) == 0) return {};
  }
  return unavailable(std::string("cannot be limited: ") + std::strerror(errno));
}

// From here, so that they hold whatever the child does. It has no stranger's bytes yet.
Result<void> WorkerProcess::set_limits(const WorkerLimits& limits) const {
  // A sanitizer's own tables take terabytes of it.
  if (!kUnderSanitizer) TRY(set_limit(RLIMIT_DATA, limits.memory_bytes_max));
  TRY(set_limit(RLIMIT_FSIZE, limits.file_bytes_max));
  TRY(set_limit(RLIMIT_NOFILE, limits.file_count_max));
  return set_limit(RLIMIT_CORE, 0);
}

Result<void> WorkerProcess::limit_time(std::uint32_t cpu_seconds_max) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    return unavailable("has no clock");
  }
  const auto begun = static_cast<std::uint64_t>(used.tv_sec) + 1;  // Limits are whole seconds.
  return set_limit(RLIMIT_CPU, begun + cpu_seconds_max);
}

WorkerProcess::~WorkerProcess() {
  kill_and_reap();
}

void WorkerProcess::kill_and_reap() {
  if (process_ < 0) return;
  kill(-process_, SIGKILL);  // Its group, which spawn() made.
  while (waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

bool WorkerProcess::has_ended() {
  if (process_ < 0) return true;
  // -1: the process that started this one has children reaped for it, and this one is.
  if (waitpid(process_, &status_, WNOHANG) == 0) return false;
  process_ = -1;
  return true;
}

bool WorkerProcess::ends_soon() {
  const auto deadline = SteadyTime::now() + kEndingTimeMax;
  while (!has_ended()) {
    if (SteadyTime::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Result<void> WorkerProcess::send(std::span<const std::byte> record) {
  return write_whole(pipes_.requests.write_end.get(), record, "to " + title_);
}

WorkerProcess::ReadEnd WorkerProcess::receive(std::span<std::byte> into, int stop_event,
                                              Time deadline) {
  const int descriptor = pipes_.replies.read_end.get();
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

std::string WorkerProcess::first_words() const {
  char words[kWordsBytesMax];
  pollfd polled = {pipes_.words.read_end.get(), POLLIN, 0};
  if (poll(&polled, 1, 0) <= 0) return "";
  const ssize_t count = read(polled.fd, words, sizeof words);
  return std::string(words, count > 0 ? static_cast<std::size_t>(count) : 0);
}

}  // namespace quire::workers
