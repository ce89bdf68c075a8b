#pragma once
// ChatInput makes messages and commands of lines: what stands between two lines that begin and end with three quotation
// marks is one message, and so is every line that is not a command.
//
// Thread   the main thread.
#include <string>

#include "main/verbs/text/chat_lines.h"

namespace quire {

struct ChatEntry {
  enum class Kind : unsigned char { Message, Command, Interrupted, End };
  Kind kind = Kind::End;
  std::string text;  // Of a command without its slash.
};

// Sorts one line. A command is a slash and letters, alone or before a space: "/etc/hosts is a file"
// is a message.
ChatEntry entry_of(const std::string& line);

class ChatInput {
 public:
  // Without a terminal each line is a message, but for /clear, /help and /quit: a script sends texts as they are.
  ChatInput(ChatLines& lines, bool is_terminal) : lines_(lines), is_terminal_(is_terminal) {}

  ChatEntry next();

 private:
  ChatEntry quoted(std::string line);

  ChatLines& lines_;
  const bool is_terminal_;
};

}  // namespace quire
