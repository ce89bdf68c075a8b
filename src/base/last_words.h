#pragma once
// say_last_words() writes to standard error when a process is about to end without its own parts.
// It waits for a reader for kLastWordsMs at most, so that an unread log never keeps a broken
// process alive.
//
// Thread   any.
#include <string_view>

namespace quire {

inline constexpr int kLastWordsMs = 100;

// At most PIPE_BUF bytes of `text` are written.
void say_last_words(std::string_view text);

}  // namespace quire
