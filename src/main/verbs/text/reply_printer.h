#pragma once
// ReplyPrinter shows a reply as it comes. On a terminal its lines are broken between words at the
// terminal's edge; anywhere else it is written as it is.
//
// Owns     the word whose end has not come yet.
// Thread   the main thread.
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal_text.h"
#include "cli/word_wrap.h"

namespace quire {

class ReplyPrinter {
 public:
  // Thoughts are those of a model before its answer: gray, on standard error.
  enum class Kind : std::uint8_t { Answer, Thoughts };

  explicit ReplyPrinter(Kind kind);
  ~ReplyPrinter() { end(); }
  ReplyPrinter(const ReplyPrinter&) = delete;
  ReplyPrinter& operator=(const ReplyPrinter&) = delete;

  void add(std::string_view part);
  // Shows what was held back, and ends the line of thoughts. Nothing is added after it.
  void end();

 private:
  void show(const std::string& text);

  const Kind kind_;
  cli::WordWrap wrap_;
  cli::TerminalText output_ = cli::TerminalText::of_standard_output();  // Of answers.
  char last_byte_ = '\n';                                               // Of what was shown.
};

}  // namespace quire
