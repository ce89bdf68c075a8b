#pragma once
// ChatHistory keeps what a user typed into chats, oldest first, in a file of the user's data folder: an entry a line,
// with newlines and backslashes spelled as \n and \\.
//
// The file has mode 0600, at most kEntryCountMax entries and kBytesMax bytes; older entries go. Several chats may add to it
// at once: each change is made under a lock on the folder.
//
// Thread   any.
// Errors   Io, with the path. A file that is not ours to read is an error, and not an empty history.
#include <string>
#include <vector>

#include "base/result.h"

namespace quire {

class ChatHistory {
 public:
  static constexpr std::size_t kEntryCountMax = 1000;
  static constexpr std::size_t kBytesMax = std::size_t{1} << 20;
  static constexpr std::size_t kEntryBytesMax = std::size_t{64} << 10;  // A longer one is not kept.

  // `folder` is made if it is not there, of mode 0700.
  explicit ChatHistory(const std::string& folder);

  Result<std::vector<std::string>> entries() const;
  // An entry that is the newest one already is not kept twice.
  Result<void> add(const std::string& entry) const;

 private:
  const std::string folder_;
  const std::string path_;
};

}  // namespace quire
