#pragma once
// ChatLines gives the lines of standard input to a chat: from the line editor with its history, where there is a terminal
// that can edit; else as they come.
//
// Thread   the main thread.
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "main/verbs/shared/interrupt.h"
#include "main/verbs/text/chat_history.h"
#include "main/verbs/text/line_editor.h"

namespace quire {

class ChatLines {
 public:
  enum class Got : unsigned char { Line, End, Interrupted };
  virtual ~ChatLines() = default;
  virtual Got read(const std::string& prompt, std::string& line) = 0;
  // The up arrow finds it, now and in later chats.
  virtual void remember(const std::string&) {}
};

// Bytes of a descriptor, so that Ctrl-C can be heard while waiting for one. The prompt is shown if `shows_prompts` is true.
class PlainLines final : public ChatLines {
 public:
  PlainLines(int descriptor, Interrupt& interrupt, bool shows_prompts)
      : descriptor_(descriptor), interrupt_(interrupt), shows_prompts_(shows_prompts) {}
  Got read(const std::string& prompt, std::string& line) override;

 private:
  const int descriptor_;
  Interrupt& interrupt_;
  const bool shows_prompts_;
  std::string pending_;
  bool ended_ = false;
};

class EditedLines final : public ChatLines {
 public:
  // `history`: none is read and kept without one. What is wrong with its file is a warning, once.
  EditedLines(std::unique_ptr<LineEditor> editor, std::optional<ChatHistory> history);
  Got read(const std::string& prompt, std::string& line) override;
  void remember(const std::string& entry) override;

 private:
  void stop_keeping(const Error& error);

  const std::unique_ptr<LineEditor> editor_;
  std::optional<ChatHistory> history_;
};

}  // namespace quire
