#pragma once
// LogQueue holds the lines of the operator's log until standard error takes them. It is bounded: a line that
// does not fit is dropped and counted, and a notice with the count stands at that place between the lines. So
// a reader has every line, or its count: lines pushed = lines read + the counts of the notices.
//
// A file that refuses bytes (a full disk, a pipe without a reader) drops nothing: the bytes stay here until it
// takes them again, or until the queue is full.
//
// Thread   none of its own; LogWriter locks it.
// Bound    bytes_max, of lines and their overhead. One notice may stand on top of it.
//
// Invariants, all checked by verify():
//   LG1  bytes_ is the sum of all entries' charges, and without its notices at most bytes_max.
//   LG2  The text of a notice is made only while it is the first entry. No notice follows one without a text.
//   LG3  Only the first entry may be written in part, and then it is a text.
//   LG4  Lines pushed are lines written, lines here, and lines dropped.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/server_limits.h"

namespace quire::server {

inline constexpr std::size_t kLogQueueBytesMax = default_of<ServerLimit::LogQueueBytesMax>();
inline constexpr std::size_t kLogLineOverheadBytes = 64;  // Of an entry without its text.

// How many of the bytes of front() a file took, and the errno with which it refused the rest, or 0.
struct LogWritten {
  std::size_t bytes = 0;
  int error = 0;
};
// The writer's next step.
enum class LogNext : std::uint8_t { Write, Wait, Retry };

class LogQueue {
 public:
  // `notice_of` makes the line, with its end, that says how many lines were dropped.
  LogQueue(std::size_t bytes_max, std::function<std::string(std::uint64_t)> notice_of)
      : bytes_max_(bytes_max), notice_of_(std::move(notice_of)) {}

  // `line` has its end. False: it did not fit, and is counted.
  bool push(std::string line);
  // The bytes to write next; empty: there are none. They stay valid until the next call.
  std::string_view front();
  // Write: call front() again. Wait: there is nothing to write. Retry: the file takes no bytes yet.
  LogNext wrote(LogWritten written);

  bool is_empty() const { return entries_.empty(); }
  std::uint64_t dropped_count() const { return dropped_count_; }
  void verify() const;

 private:
  // A line, or a notice. The text of a notice is made when it is about to be written, because until then its
  // count may grow.
  struct Entry {
    std::string text;
    std::uint64_t dropped_count = 0;  // 0: it is a line.
  };
  static std::size_t charge_of(const Entry& entry);
  void drop();

  const std::size_t bytes_max_;
  const std::function<std::string(std::uint64_t)> notice_of_;
  std::deque<Entry> entries_;
  std::size_t front_written_ = 0;  // Bytes of the first entry.
  std::size_t bytes_ = 0;
  std::uint64_t pushed_count_ = 0;
  std::uint64_t written_count_ = 0;
  std::uint64_t dropped_count_ = 0;
};

}  // namespace quire::server
