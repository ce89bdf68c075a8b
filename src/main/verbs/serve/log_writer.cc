#include "main/verbs/serve/log_writer.h"

#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "application/server/log_queue.h"
#include "base/blocked_signals.h"
#include "base/check.h"
#include "base/descriptor.h"
#include "base/start_thread.h"

namespace quire {
namespace {

using server::LogNext;
using server::LogQueue;
using server::LogWritten;

// A pipe that poll() calls writable takes so many bytes without holding the writer.
constexpr std::size_t kWriteBytesMax = PIPE_BUF;
constexpr std::chrono::milliseconds kRetryTime{100};   // After a file refused bytes.
constexpr std::chrono::milliseconds kGiveUpTime{100};  // For the thread to see that it is to end.

// Waits until the descriptor takes bytes, or `give_up` can be read: then it has written none.
LogWritten write_some(int descriptor, int give_up, const std::string& bytes) {
  while (true) {
    pollfd polled[] = {{descriptor, POLLOUT, 0}, {give_up, POLLIN, 0}};
    if (poll(polled, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return {0, errno};
    }
    if (polled[1].revents != 0) return {0, ECANCELED};
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) return {static_cast<std::size_t>(count), 0};
    if (errno != EINTR) return {0, errno};
  }
}

}  // namespace

struct LogWriter::State {
  State(int to, Descriptor event, std::function<std::string(std::uint64_t)> notice_of)
      : descriptor(to),
        give_up(std::move(event)),
        queue(server::kLogQueueBytesMax, std::move(notice_of)) {}

  void run();

  const int descriptor;
  const Descriptor give_up;  // An eventfd.
  std::mutex mutex;
  std::condition_variable changed;
  // The mutex guards the members below.
  LogQueue queue;
  bool is_closing = false;
  bool is_over = false;
};

void LogWriter::State::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return is_closing || !queue.is_empty(); });
    if (queue.is_empty()) break;
    const std::string bytes(queue.front().substr(0, kWriteBytesMax));
    lock.unlock();
    const LogWritten written = write_some(descriptor, give_up.get(), bytes);
    lock.lock();
    const LogNext next = queue.wrote(written);
    if (next == LogNext::Wait) changed.notify_all();  // For flush().
    if (next != LogNext::Retry) continue;
    if (is_closing) break;  // What a file refuses now is lost with the process.
    changed.wait_for(lock, kRetryTime, [this] { return is_closing; });
  }
  is_over = true;
  changed.notify_all();
}

Result<std::unique_ptr<LogWriter>> LogWriter::open(
    int descriptor, std::function<std::string(std::uint64_t)> notice_of) {
  Descriptor event(eventfd(0, EFD_CLOEXEC));
  if (event.get() < 0) return Error(ErrorCode::Io, std::string("eventfd: ") + std::strerror(errno));
  auto state = std::make_shared<State>(
      descriptor, std::move(event),
      [notice_of = std::move(notice_of)](std::uint64_t count) { return notice_of(count) + "\n"; });
  std::unique_ptr<LogWriter> writer(new LogWriter(state));
  const BlockedSignals blocked;
  writer->thread_ = TRY(start_thread("the log", [state] { state->run(); }));
  return writer;
}

LogWriter::~LogWriter() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(state_->mutex);
  state_->is_closing = true;
  state_->changed.notify_all();
  const auto is_over = [this] { return state_->is_over; };
  if (!state_->changed.wait_for(lock, kLastLinesTime, is_over)) {
    QUIRE_CHECK(eventfd_write(state_->give_up.get(), 1) == 0, "an eventfd takes one");
  }
  const bool may_join = state_->changed.wait_for(lock, kGiveUpTime, is_over);
  lock.unlock();
  // The kernel may hold the write, as a file system over a network does. The process ends without it.
  if (may_join) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void LogWriter::write(const std::string& line) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push(line + "\n");
  }
  state_->changed.notify_all();
}

void LogWriter::flush() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, kLastLinesTime, [this] { return state_->queue.is_empty(); });
}

std::uint64_t LogWriter::dropped_count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->queue.dropped_count();
}

}  // namespace quire
