#pragma once
// WordWrap breaks text into the lines of a terminal, between words and as the text comes. A word
// is held back until its end has come. A word that is longer than a line stands alone, and the
// terminal breaks it. Lines may also be broken beside an East Asian character or an emoji.
//
// Owns     the word whose end has not come yet.
// Thread   any; one at a time.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/columns.h"

namespace quire::cli {

class WordWrap {
 public:
  // Lines: a line that begins with a space has columns of its own and is left as it is.
  // Markdown: code blocks and tables are left as they are, and items of lists hang.
  enum class Form : std::uint8_t { Lines, Markdown };
  struct Layout {
    std::uint32_t width = 0;   // Columns; 0: lines are left as they are.
    std::uint32_t indent = 0;  // Of the lines that a break begins.
    std::uint32_t column = 0;  // At which the first line begins.
    Form form = Form::Lines;
  };

  explicit WordWrap(const Layout& layout)
      : layout_(layout), indent_(layout.indent), column_(layout.column) {}

  // The text that can be shown now.
  std::string add(std::string_view text);
  // The end: the word that was held back.
  std::string finish();
  // The terminal has another width from now on.
  void set_width(std::uint32_t width) { layout_.width = width; }

 private:
  void take(std::string_view character, const TextCharacter& first);
  void take_of_line_as_it_is(std::string_view character);
  void end_line();
  void end_word();
  void begin_line();
  bool breaks_before(const TextCharacter& next) const;

  Layout layout_;
  std::uint32_t indent_;
  std::uint32_t column_;
  std::string out_;
  std::string partial_;  // The bytes of a character whose end has not come.
  std::string spaces_;   // Before the word.
  std::string word_;
  std::uint32_t word_columns_ = 0;
  TextCharacter last_;         // Of the word.
  bool has_words_ = false;     // The line of the terminal, so that it may be broken.
  bool is_line_begin_ = true;  // No word of the line of the text has ended.
  bool is_as_it_is_ = false;   // The rest of the line.
  bool is_in_long_word_ = false;
  std::string fence_;       // That ends the code block; empty: the line is not in one.
  std::string code_begin_;  // The first characters of a line of a code block.
};

// All of `text`.
std::string wrapped(std::string_view text, const WordWrap::Layout& layout);

}  // namespace quire::cli
