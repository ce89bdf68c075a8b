#include "main/verbs/run/input_lines.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

namespace quire {

void InputLines::read() {
  pollfd polled{STDIN_FILENO, POLLIN, 0};
  if (is_at_end_ || pending_.size() >= kBytesMax || poll(&polled, 1, 0) <= 0) return;
  char part[65536];
  const ssize_t count = ::read(STDIN_FILENO, part, sizeof part);
  if (count < 0 && errno == EINTR) return;  // The next call reads it.
  if (count <= 0) {
    is_at_end_ = true;
    return;
  }
  pending_.append(part, static_cast<std::size_t>(count));
}

const std::string* InputLines::front() {
  if (has_line_) return &line_;
  const std::size_t end = pending_.find('\n');
  if (end <= kBytesMax) {
    line_ = pending_.substr(0, end);
    pending_.erase(0, end + 1);
  } else if (pending_.size() >= kBytesMax || (is_at_end_ && !pending_.empty())) {
    line_ = pending_.substr(0, kBytesMax);
    pending_.erase(0, kBytesMax);
  } else {
    return nullptr;
  }
  has_line_ = true;
  return &line_;
}

void InputLines::pop() {
  has_line_ = false;
}

bool InputLines::ended() {
  return is_at_end_ && front() == nullptr;
}

}  // namespace quire
