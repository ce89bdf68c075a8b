#pragma once
// Runs a program as a user does: arguments in, exit code and what it wrote out.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quire_paths.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sanitizer.h"

namespace quire::test {

struct ProcessResult {
  int exit_code = -1;  // 128 + the signal where one ended it.
  bool timed_out = false;
  std::string out;
  std::string err;
};

struct ProcessOptions {
  std::string input = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // Added to ours.
  std::chrono::seconds limit{kUnderSanitizer ? 1800 : 300};
  // Sends SIGINT, once, when so many bytes have come out; 0: never.
  std::size_t interrupt_after_bytes = 0;
};

namespace detail {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) {
      read_end = ends[0];
      write_end = ends[1];
    }
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() {
    if (read_end >= 0) close(std::exchange(read_end, -1));
  }
  void close_write() {
    if (write_end >= 0) close(std::exchange(write_end, -1));
  }
};

[[noreturn]] inline void become(const std::vector<std::string>& command,
                                const ProcessOptions& options, const Pipe& in, const Pipe& out,
                                const Pipe& err) {
  dup2(in.read_end, STDIN_FILENO);
  dup2(out.write_end, STDOUT_FILENO);
  dup2(err.write_end, STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);
  for (const auto& [name, value] : options.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

// Writes the input and reads both outputs until the process has closed them.
inline void exchange(pid_t child, const ProcessOptions& options, Pipe& in, Pipe& out, Pipe& err,
                     ProcessResult& result) {
  const std::string& input = options.input;
  const auto end = std::chrono::steady_clock::now() + options.limit;
  std::size_t interrupt_after = options.interrupt_after_bytes;
  std::size_t written = 0;
  if (input.empty()) in.close_write();
  while (out.read_end >= 0 || err.read_end >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      result.timed_out = true;
      return;
    }
    pollfd polled[] = {
        {out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}, {in.write_end, POLLOUT, 0}};
    if (poll(polled, 3, static_cast<int>(left.count())) < 0) continue;
    char part[65536];
    for (int i = 0; i < 2; ++i) {
      if (polled[i].revents == 0) continue;
      const ssize_t count = read(polled[i].fd, part, sizeof part);
      if (count > 0) {
        (i == 0 ? result.out : result.err).append(part, static_cast<std::size_t>(count));
        if (interrupt_after > 0 && result.out.size() >= interrupt_after) {
          kill(child, SIGINT);
          interrupt_after = 0;
        }
      } else {
        (i == 0 ? out : err).close_read();
      }
    }
    if (polled[2].revents != 0) {
      const ssize_t count = write(in.write_end, input.data() + written, input.size() - written);
      written += count > 0 ? static_cast<std::size_t>(count) : 0;
      if (count <= 0 || written == input.size()) in.close_write();
    }
  }
}

}  // namespace detail

inline ProcessResult run_process(const std::vector<std::string>& command,
                                 const ProcessOptions& options = {}) {
  ProcessResult result;
  signal(SIGPIPE, SIG_IGN);  // A program may end before it has read its input.
  detail::Pipe in, out, err;
  const pid_t child = fork();
  if (child < 0) return result;
  if (child == 0) detail::become(command, options, in, out, err);
  in.close_read();
  out.close_write();
  err.close_write();
  detail::exchange(child, options, in, out, err, result);
  if (result.timed_out) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

// build/PRESET/quire with these arguments. A run without a flag of stores leaves the user's alone.
inline ProcessResult run_quire(std::vector<std::string> arguments, ProcessOptions options = {},
                               const char* program = "quire") {
  bool names_store = false;
  for (const std::string& each : arguments) {
    names_store = names_store || each == "--store" || each == "--no-store";
  }
  for (const auto& [name, value] : options.environment) {
    names_store = names_store || name == "QUIRE_STORE" || name == "QUIRE_DATA";
  }
  if (!names_store) options.environment.emplace_back("QUIRE_NO_STORE", "1");
  arguments.insert(arguments.begin(), std::string(QUIRE_BINARY_DIR "/") + program);
  return run_process(arguments, options);
}

inline ProcessResult run_quire_bench(std::vector<std::string> arguments) {
  return run_quire(std::move(arguments), {}, "quire-bench");
}

// A folder that lasts as long as the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quire-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

 private:
  std::string path_;
};

}  // namespace quire::test
