#pragma once
// WorkerProcess is a child process that works on a stranger's bytes within limits. This is the side
// of the server; the child raises its own wall first of all (worker_wall.h).
//
// Owns     the process, which is killed if it still runs, and reaped; the pipes to it.
// Thread   one at a time. The thread that starts it outlives it: the system ends the process with
//          that thread (PR_SET_PDEATHSIG, which the child sets), so that it cannot outlive the
//          server.
// Errors   Unavailable, with the title of the process, if it could not be started or limited; Io
//          for a pipe.
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace quire::workers {

// The first descriptors of the child; the files that it is given follow.
enum WorkerDescriptor : int {
  kRequests = 0,
  kReplies = 1,
  kWords = 2,  // What its libraries print.
  kFirstFile = 3,
};

// The kernel holds the child to all of these.
struct WorkerLimits {
  // Heap, stacks and what else it may write to (RLIMIT_DATA).
  std::uint64_t memory_bytes_max = 0;
  std::uint64_t file_bytes_max = 0;  // Of a file that it writes (RLIMIT_FSIZE).
  std::uint32_t file_count_max = 0;  // Open at once (RLIMIT_NOFILE).
};

struct WorkerSetup {
  std::string title;  // As errors name it: "the compiler's process".
  // A program and its arguments. It gets no environment but where libraries lie, no descriptor but
  // those above, and no signal of the terminal.
  std::vector<std::string> command;
  std::vector<int> files = {};  // Open descriptors of 10 or more (lift()).
  WorkerLimits limits = {};
};

class WorkerProcess {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static Result<std::unique_ptr<WorkerProcess>> start(const WorkerSetup& setup);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Limits the processor time of what comes next, after the time that all before it took. At the
  // limit the child gets SIGXCPU.
  Result<void> limit_time(std::uint32_t cpu_seconds_max);

  Result<void> send(std::span<const std::byte> record);

  // Reads until `into` is full, the child's end is closed, `stop_event` can be read from (-1:
  // never), or `deadline`.
  enum class ReadEnd : std::uint8_t { Full, Closed, Stopped, Late };
  ReadEnd receive(std::span<std::byte> into, int stop_event, Time deadline);

  // Whether it has ended, though nothing was asked of it.
  bool has_ended();
  // After the child closed its end of the pipe: false if it has not ended within a second.
  bool ends_soon();
  void kill_and_reap();
  // The status of waitpid(), once it has ended.
  int status() const { return status_; }
  // The first output of the child, as it is.
  std::string first_words() const;

  Error unavailable(const std::string& what) const;

 private:
  struct Pipe {
    Descriptor read_end;
    Descriptor write_end;
    static Result<Pipe> create();
  };
  // Both ends stay open, so that writing to a process that is gone raises no signal.
  struct Pipes {
    Pipe requests;
    Pipe replies;
    Pipe words;
  };
  WorkerProcess(std::string title, Pipes pipes)
      : title_(std::move(title)), pipes_(std::move(pipes)) {}
  Result<void> spawn(const WorkerSetup& setup);
  Result<void> set_limit(int resource, std::uint64_t most) const;
  Result<void> set_limits(const WorkerLimits& limits) const;

  const std::string title_;
  Pipes pipes_;
  pid_t process_ = -1;  // -1: none, or reaped.
  int status_ = 0;
};

}  // namespace quire::workers
