#include "main/verbs/shared/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern "C" char** environ;

namespace quire {
namespace {

constexpr std::size_t kOutputBytesMax = 1u << 20;

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Signals that this process blocks or ignores are the program's as any shell gives them to it.
class DefaultSignals {
 public:
  DefaultSignals() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~DefaultSignals() { posix_spawnattr_destroy(&attributes_); }
  DefaultSignals(const DefaultSignals&) = delete;
  DefaultSignals& operator=(const DefaultSignals&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// Reads what the program writes, to its last byte. Output above the limit is read and thrown away.
std::string read_all(int descriptor) {
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return out;
    if (out.size() < kOutputBytesMax) out.append(buffer, static_cast<std::size_t>(count));
  }
}

Result<int> wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return Error(ErrorCode::Io, std::string("waitpid: ") + std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<ProcessEnd> run_process(const std::vector<std::string>& arguments, ProcessOutput output) {
  std::vector<char*> pointers;
  for (const std::string& each : arguments) pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  int ends[2] = {-1, -1};
  const bool returns = output != ProcessOutput::Show && output != ProcessOutput::Hide;
  if (returns && pipe2(ends, O_CLOEXEC) != 0) {
    return Error(ErrorCode::Io, std::string("pipe: ") + std::strerror(errno));
  }
  FileActions actions;
  if (returns) {
    const int replaced = output == ProcessOutput::ReturnErrors ? STDERR_FILENO : STDOUT_FILENO;
    posix_spawn_file_actions_adddup2(actions.get(), ends[1], replaced);
  } else if (output == ProcessOutput::Hide) {
    posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  if (output == ProcessOutput::Hide || output == ProcessOutput::Return) {
    posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  pid_t process = 0;
  const DefaultSignals signals;
  const int refused =
      posix_spawnp(&process, pointers[0], actions.get(), signals.get(), pointers.data(), environ);
  if (ends[1] >= 0) close(ends[1]);
  ProcessEnd end;
  if (refused == 0 && ends[0] >= 0) end.output = read_all(ends[0]);
  if (ends[0] >= 0) close(ends[0]);
  if (refused != 0) {
    return Error(refused == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                 arguments[0] + ": " + std::strerror(refused));
  }
  end.exit_code = TRY(wait_for(process));
  return end;
}

}  // namespace quire
