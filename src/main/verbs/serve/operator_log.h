#pragma once
// OperatorLog makes lines of what happens to a server. They are lines for people, or one JSON
// object a line with the time, the level, the name of the event and its fields. LogWriter brings
// them to standard error.
//
// Lines for people begin with "warning:" or "error:" if the event is one.
//
// An event that is the same as the one before, within kRepeatMs, is counted and not written. The
// next line, or the end, says how often it came.
//
// Thread   any; a mutex keeps lines whole.
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "application/server/log_event.h"
#include "base/clock.h"
#include "cli/options_serve.h"

namespace quire {

inline constexpr std::uint64_t kRepeatMs = 10'000;

// "2026-11-25T19:20:00.123Z".
std::string utc_time(std::uint64_t unix_ms);
// The event as a line without its end.
std::string log_line(cli::LogFormat format, const server::LogEvent& event, std::uint64_t now_ms);
// The line of the log that stands for `count` lines that did not fit.
server::LogEvent dropped_lines_event(std::uint64_t count);

class OperatorLog {
 public:
  // `write` gets whole lines without their end. The clock outlives the log.
  OperatorLog(cli::LogOptions options, const WallClock& clock,
              std::function<void(const std::string&)> write)
      : options_(options), clock_(clock), write_(std::move(write)) {}
  ~OperatorLog();
  OperatorLog(const OperatorLog&) = delete;
  OperatorLog& operator=(const OperatorLog&) = delete;

  void tell(const server::LogEvent& event);
  bool is_for_people() const { return options_.format == cli::LogFormat::Text; }

 private:
  std::string line_of(const server::LogEvent& event, std::uint64_t now_ms) const {
    return log_line(options_.format, event, now_ms);
  }
  void tell_repeats(std::uint64_t now_ms);

  const cli::LogOptions options_;
  const WallClock& clock_;
  const std::function<void(const std::string&)> write_;
  std::mutex mutex_;
  // The mutex guards the members below.
  std::string last_;  // The last event, without its time.
  std::uint64_t last_ms_ = 0;
  std::uint64_t repeat_count_ = 0;
};

}  // namespace quire
