#pragma once
// SessionBox takes what a guest says and logs into its Outbox, and holds what its client has sent and
// the guest has not received. All of it has limits in GuestLimits.
//
// Thread   engine thread only.
// Errors   QuotaExceeded names the limit; the side that speaks too fast gets it.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "application/hostcalls/guest_limits.h"
#include "application/hostcalls/ordered_queue.h"
#include "application/hostcalls/outbox.h"
#include "application/hostcalls/output_meter.h"
#include "base/result.h"
#include "service/said.h"

namespace quire::hostcalls {

using service::LogLevel;
using service::LogSource;

class SessionBox {
 public:
  static constexpr std::size_t kCallLineCountMax = 1024;  // 0.1 ms or so.

  SessionBox(const GuestLimits& limits, OutputMeter& output, Outbox& outbox)
      : limits_(limits), output_(output), outbox_(outbox) {}

  // The guest speaks.
  Result<void> send(std::string message);

  // The client speaks.
  Result<void> push(std::string message);
  void close() { closed_ = true; }
  // The size of the message that pull() gives next; empty: there is none.
  std::optional<std::size_t> next_bytes() const;
  std::optional<OrderedQueue<std::string>::Element> pull();
  // Pulled for a future that was dropped.
  void put_back(std::uint64_t order, std::string message);
  void drop_inbox();
  void client_left(std::string why) { away_ = std::move(why); }
  void client_back() { away_.reset(); }
  // Why nothing comes from the client: it has closed its side, or left and may be back. Empty while
  // something may come.
  std::optional<Error> absence() const;
  // The same once the inbox is empty.
  std::optional<Error> ended() const;

  // One call of `log`: a line for each newline in `text`, of which kCallLineCountMax end one. The
  // rest is one line.
  Result<void> log(LogLevel level, std::string_view text);
  // Notes the last line that the guest itself logged at the level of an error. It is the reason if
  // the guest ends with an exit code that is not 0, so it is kept even if the log has no room for
  // it.
  void note_failure(std::string_view text);
  const std::string& last_failure() const { return last_failure_; }
  // Bytes of a stream; lines go out as they end. How many were written: up to the end of the line
  // kCallLineCountMax.
  Result<std::size_t> write(LogSource stream, std::string_view bytes);
  void flush_streams();  // At the end of the guest: lines without a newline.

  std::uint64_t log_bytes() const { return log_bytes_; }
  std::size_t inbox_message_count() const { return inbox_.size(); }
  std::uint64_t inbox_bytes() const { return inbox_bytes_; }
  void verify() const { inbox_.verify(); }

 private:
  Result<void> charge_log(std::size_t bytes, std::size_t line_count);
  void emit(LogSource source, LogLevel level, std::string_view line);

  const GuestLimits& limits_;
  OutputMeter& output_;
  Outbox& outbox_;
  OrderedQueue<std::string> inbox_;
  std::uint64_t inbox_bytes_ = 0;
  bool closed_ = false;
  std::optional<std::string> away_;  // Why the client is not there.
  std::uint64_t log_bytes_ = 0;
  std::string partial_[2];    // Of stdout and stderr.
  std::string last_failure_;  // Of at most log_line_bytes_max; control characters are spelled out.
};

}  // namespace quire::hostcalls
