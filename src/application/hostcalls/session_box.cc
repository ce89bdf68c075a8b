#include "application/hostcalls/session_box.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace quire::hostcalls {
namespace {

std::size_t line_count(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Up to the end of the last line that one call may end; all of a text with fewer.
std::string_view first_lines(std::string_view text) {
  std::size_t bytes = 0;
  for (std::size_t count = 0; count < SessionBox::kCallLineCountMax; ++count) {
    const std::size_t end = text.find('\n', bytes);
    if (end == std::string_view::npos) return text;
    bytes = end + 1;
  }
  return text.substr(0, bytes);
}

}  // namespace

Result<void> SessionBox::send(std::string message) {
  if (outbox_.message_count() >= limits_.outbox_message_count_max) {
    return Error(ErrorCode::QuotaExceeded, "outbox_message_count_max: the client has not taken " +
                                               std::to_string(outbox_.message_count()) +
                                               " messages");
  }
  if (outbox_.message_bytes() + message.size() > limits_.outbox_bytes_max) {
    return Error(ErrorCode::QuotaExceeded,
                 "outbox_bytes_max: " + std::to_string(message.size()) + " bytes wanted, " +
                     std::to_string(outbox_.message_bytes()) + " of " +
                     std::to_string(limits_.outbox_bytes_max) + " not yet taken by the client");
  }
  TRY(output_.check(message.size()));
  output_.add(message.size());
  outbox_.push(Outbox::Message{std::move(message)});
  return {};
}

Result<void> SessionBox::push(std::string message) {
  if (closed_) return Error(ErrorCode::Unavailable, "the client has ended its side");
  if (inbox_.size() >= limits_.inbox_message_count_max ||
      inbox_bytes_ + message.size() > limits_.inbox_bytes_max) {
    return Error(
        ErrorCode::QuotaExceeded,
        std::string(inbox_.size() >= limits_.inbox_message_count_max ? "inbox_message_count_max"
                                                                     : "inbox_bytes_max") +
            ": the program has not received " + std::to_string(inbox_.size()) + " messages of " +
            std::to_string(inbox_bytes_) + " bytes");
  }
  inbox_bytes_ += message.size();
  inbox_.push(std::move(message));
  return {};
}

std::optional<std::size_t> SessionBox::next_bytes() const {
  return inbox_.empty() ? std::nullopt : std::optional(inbox_.front().size());
}

std::optional<OrderedQueue<std::string>::Element> SessionBox::pull() {
  if (inbox_.empty()) return std::nullopt;
  OrderedQueue<std::string>::Element message = inbox_.pop();
  inbox_bytes_ -= message.value.size();
  return message;
}

void SessionBox::put_back(std::uint64_t order, std::string message) {
  inbox_bytes_ += message.size();
  inbox_.put_back({order, std::move(message)});
}

void SessionBox::drop_inbox() {
  inbox_ = {};
  inbox_bytes_ = 0;
}

std::optional<Error> SessionBox::ended() const {
  return inbox_.empty() ? absence() : std::nullopt;
}

std::optional<Error> SessionBox::absence() const {
  if (closed_) return Error(ErrorCode::Unavailable, "the client has ended its side");
  if (away_) return Error(ErrorCode::Unavailable, *away_);
  return std::nullopt;
}

Result<void> SessionBox::charge_log(std::size_t bytes, std::size_t line_count) {
  const std::uint64_t charged = bytes + line_count * Outbox::kLineBytes;
  if (outbox_.line_bytes() + charged > limits_.log_pending_bytes_max) {
    return Error(ErrorCode::QuotaExceeded,
                 "log_pending_bytes_max: the client has not taken " +
                     std::to_string(outbox_.line_count()) + " lines, charged with " +
                     std::to_string(outbox_.line_bytes()) + " of " +
                     std::to_string(limits_.log_pending_bytes_max) + " bytes");
  }
  if (log_bytes_ + bytes > limits_.log_bytes_max) {
    return Error(ErrorCode::QuotaExceeded, "log_bytes_max: " + std::to_string(bytes) +
                                               " bytes wanted, " + std::to_string(log_bytes_) +
                                               " of " + std::to_string(limits_.log_bytes_max) +
                                               " written");
  }
  TRY(output_.check(bytes));
  output_.add(bytes);
  log_bytes_ += bytes;
  return {};
}

void SessionBox::emit(LogSource source, LogLevel level, std::string_view line) {
  std::string text;
  if (line.size() > limits_.log_line_bytes_max) {
    text = printable(line.substr(0, limits_.log_line_bytes_max)) +
           " [cut: " + std::to_string(line.size()) + " bytes]";
  } else {
    text = printable(line);
  }
  outbox_.push(Outbox::Line{source, level, std::move(text)});
}

Result<void> SessionBox::log(LogLevel level, std::string_view text) {
  const std::string_view lines = first_lines(text);
  TRY(charge_log(text.size() + 1, line_count(lines) + 1));
  std::size_t start = 0;
  for (std::size_t end = lines.find('\n'); end != std::string_view::npos;
       end = lines.find('\n', start)) {
    emit(LogSource::Log, level, lines.substr(start, end - start));
    start = end + 1;
  }
  if (start < text.size() || text.empty()) emit(LogSource::Log, level, text.substr(start));
  return {};
}

Result<std::size_t> SessionBox::write(LogSource stream, std::string_view bytes) {
  bytes = first_lines(bytes);
  if (bytes.empty()) return 0;
  TRY(charge_log(bytes.size(), line_count(bytes)));
  std::string& partial = partial_[stream == LogSource::Stderr ? 1 : 0];
  const LogLevel level = stream == LogSource::Stderr ? LogLevel::Warning : LogLevel::Info;
  const std::size_t searched_bytes = partial.size();  // No newline is in them.
  partial += bytes;
  std::size_t start = 0;
  for (std::size_t end = partial.find('\n', searched_bytes); end != std::string::npos;
       end = partial.find('\n', start)) {
    emit(stream, level, std::string_view(partial).substr(start, end - start));
    start = end + 1;
  }
  partial.erase(0, start);
  return bytes.size();
}

void SessionBox::note_failure(std::string_view text) {
  last_failure_ = printable_lines(text.substr(0, limits_.log_line_bytes_max));
  while (last_failure_.ends_with('\n')) last_failure_.pop_back();
}

void SessionBox::flush_streams() {
  for (const LogSource stream : {LogSource::Stdout, LogSource::Stderr}) {
    std::string& partial = partial_[stream == LogSource::Stderr ? 1 : 0];
    if (partial.empty()) continue;
    emit(stream, stream == LogSource::Stderr ? LogLevel::Warning : LogLevel::Info, partial);
    partial.clear();
  }
}

}  // namespace quire::hostcalls
