#include "main/verbs/text/chat_input.h"

#include <string_view>
#include <utility>

namespace quire {
namespace {

constexpr const char* kPrompt = "> ";
constexpr const char* kFurtherPrompt = ". ";
constexpr std::string_view kQuotes = "\"\"\"";
constexpr std::size_t kQuotedBytesMax = std::size_t{16} << 20;

void trim_end(std::string& text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
}

}  // namespace

ChatEntry entry_of(const std::string& line) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_?";
  const std::size_t end = line.find_first_not_of(kLetters, 1);
  const bool is_word = end == std::string::npos || line[end] == ' ' || line[end] == '\t';
  const bool is_command =
      line.starts_with('/') && line.size() > 1 && is_word && line.find('\n') == std::string::npos;
  if (!is_command) return {ChatEntry::Kind::Message, line};
  return {ChatEntry::Kind::Command, line.substr(1)};
}

ChatEntry ChatInput::next() {
  std::string line;
  switch (lines_.read(kPrompt, line)) {
    case ChatLines::Got::End:
      return {ChatEntry::Kind::End, ""};
    case ChatLines::Got::Interrupted:
      return {ChatEntry::Kind::Interrupted, ""};
    case ChatLines::Got::Line:
      break;
  }
  if (!is_terminal_) {
    const bool is_command = line == "/clear" || line == "/help" || line == "/quit";
    return is_command ? ChatEntry{ChatEntry::Kind::Command, line.substr(1)}
                      : ChatEntry{ChatEntry::Kind::Message, std::move(line)};
  }
  if (line.starts_with(kQuotes)) return quoted(std::move(line));
  trim_end(line);
  if (!line.empty()) lines_.remember(line);
  return entry_of(line);
}

ChatEntry ChatInput::quoted(std::string line) {
  std::string text = line.substr(kQuotes.size());
  trim_end(text);
  while (!text.ends_with(kQuotes) && text.size() < kQuotedBytesMax) {
    switch (lines_.read(kFurtherPrompt, line)) {
      case ChatLines::Got::End:
        return {ChatEntry::Kind::End, ""};
      case ChatLines::Got::Interrupted:
        return {ChatEntry::Kind::Interrupted, ""};
      case ChatLines::Got::Line:
        break;
    }
    trim_end(line);
    text += "\n" + line;
  }
  if (text.ends_with(kQuotes)) text.resize(text.size() - kQuotes.size());
  while (text.starts_with('\n')) text.erase(0, 1);
  trim_end(text);
  if (!text.empty()) lines_.remember(std::string(kQuotes) + text + std::string(kQuotes));
  return {ChatEntry::Kind::Message, std::move(text)};
}

}  // namespace quire
