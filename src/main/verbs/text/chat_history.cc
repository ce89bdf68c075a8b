#include "main/verbs/text/chat_history.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/private_file.h"
#include "main/verbs/text/chat_folder.h"

namespace quire {
namespace {

std::string to_line(std::string_view entry) {
  std::string line;
  for (const char each : entry) {
    if (each == '\n') {
      line += "\\n";
    } else if (each == '\\') {
      line += "\\\\";
    } else {
      line += each;
    }
  }
  return line;
}

std::string to_entry(std::string_view line) {
  std::string entry;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '\\' || at + 1 == line.size()) {
      entry += line[at];
      continue;
    }
    entry += line[++at] == 'n' ? '\n' : line[at];
  }
  return entry;
}

// Waits for another chat that adds an entry.
Result<Descriptor> lock(const std::string& folder) {
  Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0 && flock(opened.get(), LOCK_EX) == 0) return opened;
  return Error(ErrorCode::Io, "cannot lock " + folder + ": " + std::strerror(errno));
}

}  // namespace

ChatHistory::ChatHistory(const std::string& folder) : folder_(folder), path_(folder + "/history") {}

Result<std::vector<std::string>> ChatHistory::entries() const {
  std::vector<std::string> entries;
  // One that was edited by hand may be longer.
  Result<std::string> read = read_file(path_, 4 * kBytesMax);
  if (!read.ok() && read.error().code() == ErrorCode::NotFound) return entries;
  const std::string text = TRY(std::move(read));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) entries.push_back(to_entry(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return entries;
}

Result<void> ChatHistory::add(const std::string& entry) const {
  if (entry.empty() || entry.size() > kEntryBytesMax) return {};
  TRY(make_chat_folder(folder_));
  const Descriptor locked = TRY(lock(folder_));
  std::vector<std::string> kept = TRY(entries());
  if (!kept.empty() && kept.back() == entry) return {};
  kept.push_back(entry);
  std::string text;
  std::size_t count = 0;
  for (auto each = kept.rbegin(); each != kept.rend() && count < kEntryCountMax; ++each, ++count) {
    const std::string line = to_line(*each) + "\n";
    if (text.size() + line.size() > kBytesMax) break;
    text.insert(0, line);
  }
  return replace_private_file(path_, text);
}

}  // namespace quire
