#pragma once
// LogWriter writes the lines of the operator's log to a descriptor on a thread of its own. So the server never
// waits for whatever reads its log: a pipe that is not read, a terminal that is stopped, a disk that is full.
// Lines that do not fit LogQueue are dropped and counted, and the count stands in the log.
//
// Owns     the thread and the queue; not the descriptor.
// Thread   write() and dropped_count() from any thread. The caller ignores SIGPIPE. The writer's thread takes no
//          signals.
// Errors   Unavailable if no thread can be started, Io if the kernel refuses what wakes it.
// Bound    kLogQueueBytesMax of lines. The destructor gives the descriptor kLastLinesTime to take what is queued.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"

namespace quire {

inline constexpr std::chrono::milliseconds kLastLinesTime{1'000};

class LogWriter {
 public:
  // `notice_of` makes the line, without its end, that says how many lines were dropped.
  static Result<std::unique_ptr<LogWriter>> open(
      int descriptor, std::function<std::string(std::uint64_t)> notice_of);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  void write(const std::string& line);  // Without its end.
  // Returns once the descriptor has taken what is queued, or after kLastLinesTime.
  void flush() const;
  std::uint64_t dropped_count() const;

 private:
  struct State;
  explicit LogWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // The thread has it, too, because a write that the kernel holds cannot be ended.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace quire
