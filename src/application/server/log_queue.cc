#include "application/server/log_queue.h"

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::server {

std::size_t LogQueue::charge_of(const Entry& entry) {
  return entry.dropped_count > 0 ? 0 : entry.text.size() + kLogLineOverheadBytes;
}

bool LogQueue::push(std::string line) {
  ++pushed_count_;
  const std::size_t bytes = line.size() + kLogLineOverheadBytes;
  if (bytes_ + bytes > bytes_max_ && !is_planted(Fault::LogUnbounded)) {
    drop();
    return false;
  }
  bytes_ += bytes;
  entries_.push_back({std::move(line)});
  return true;
}

// The last notice counts on while its text is not made.
void LogQueue::drop() {
  ++dropped_count_;
  if (is_planted(Fault::LogDropNotTold)) return;
  const bool may_grow =
      !entries_.empty() && entries_.back().dropped_count > 0 && entries_.back().text.empty();
  if (may_grow) {
    ++entries_.back().dropped_count;
  } else {
    entries_.push_back({"", 1});
  }
}

std::string_view LogQueue::front() {
  if (entries_.empty()) return {};
  Entry& first = entries_.front();
  if (first.text.empty()) first.text = notice_of_(first.dropped_count);
  return std::string_view(first.text).substr(front_written_);
}

LogNext LogQueue::wrote(LogWritten written) {
  if (!entries_.empty()) {
    const Entry& first = entries_.front();
    QUIRE_CHECK(front_written_ + written.bytes <= first.text.size(), "LG3");
    front_written_ += written.bytes;
    // A line of which a part was refused goes on where it stopped.
    const bool is_over = front_written_ == first.text.size() ||
                         (written.error != 0 && is_planted(Fault::LogRestLost));
    if (is_over && !first.text.empty()) {
      bytes_ -= charge_of(first);
      if (first.dropped_count == 0) ++written_count_;
      entries_.pop_front();
      front_written_ = 0;
    }
  }
  if (entries_.empty()) return LogNext::Wait;
  return written.error == 0 ? LogNext::Write : LogNext::Retry;
}

void LogQueue::verify() const {
  std::size_t bytes = 0;
  std::uint64_t line_count = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool is_notice = entries_[i].dropped_count > 0;
    const bool follows_growing =
        i > 0 && entries_[i - 1].dropped_count > 0 && entries_[i - 1].text.empty();
    QUIRE_CHECK(!is_notice || !follows_growing, "LG2");
    QUIRE_CHECK(!is_notice || i == 0 || entries_[i].text.empty(), "LG2");
    bytes += charge_of(entries_[i]);
    if (!is_notice) ++line_count;
  }
  QUIRE_CHECK(bytes == bytes_, "LG1");
  QUIRE_CHECK(bytes_ <= bytes_max_, "LG1");
  QUIRE_CHECK(front_written_ == 0 || !entries_.empty(), "LG3");
  QUIRE_CHECK(entries_.empty() || front_written_ <= entries_.front().text.size(), "LG3");
  QUIRE_CHECK(pushed_count_ == written_count_ + line_count + dropped_count_, "LG4");
}

}  // namespace quire::server
