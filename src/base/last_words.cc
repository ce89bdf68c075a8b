#include "base/last_words.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace quire {

void say_last_words(std::string_view text) {
  // A pipe that poll() calls writable takes so many bytes at once.
  const std::size_t bytes = std::min<std::size_t>(text.size(), PIPE_BUF);
  pollfd polled{STDERR_FILENO, POLLOUT, 0};
  if (poll(&polled, 1, kLastWordsMs) == 1) (void)!write(STDERR_FILENO, text.data(), bytes);
}

}  // namespace quire
