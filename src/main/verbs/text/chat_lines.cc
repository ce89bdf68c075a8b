#include "main/verbs/text/chat_lines.h"

#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "cli/terminal.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

}  // namespace

ChatLines::Got PlainLines::read(const std::string& prompt, std::string& line) {
  if (shows_prompts_) {
    const cli::Terminal terminal = cli::Terminal::standard_error();
    std::fprintf(stderr, "%s", terminal.paint(prompt, cli::Colour::Bold).c_str());
  }
  while (true) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return Got::Line;
    }
    if (ended_ || pending_.size() > kLineBytesMax) {
      line = std::exchange(pending_, {});
      return line.empty() ? Got::End : Got::Line;
    }
    if (interrupt_.wait_for_input(descriptor_) == Interrupt::Woken::Interrupted) {
      if (shows_prompts_) std::fputs("\n", stderr);
      return Got::Interrupted;
    }
    char part[4096];
    const ssize_t count = ::read(descriptor_, part, sizeof part);
    if (count <= 0) ended_ = true;
    if (count > 0) pending_.append(part, static_cast<std::size_t>(count));
  }
}

EditedLines::EditedLines(std::unique_ptr<LineEditor> editor, std::optional<ChatHistory> history)
    : editor_(std::move(editor)), history_(std::move(history)) {
  if (!history_) return;
  const Result<std::vector<std::string>> entries = history_->entries();
  if (!entries.ok()) {
    stop_keeping(entries.error());
    return;
  }
  for (const std::string& each : entries.value()) editor_->add_history(each);
}

ChatLines::Got EditedLines::read(const std::string& prompt, std::string& line) {
  switch (editor_->read(prompt, line)) {
    case LineEditor::Got::Line:
      return Got::Line;
    case LineEditor::Got::Interrupted:
      return Got::Interrupted;
    case LineEditor::Got::End:
      break;
  }
  return Got::End;
}

void EditedLines::remember(const std::string& entry) {
  editor_->add_history(entry);
  if (!history_) return;
  if (const Result<void> added = history_->add(entry); !added.ok()) stop_keeping(added.error());
}

void EditedLines::stop_keeping(const Error& error) {
  warn("the history of this chat is not kept: " + std::string(error.message()));
  history_.reset();
}

}  // namespace quire
