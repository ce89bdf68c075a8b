#pragma once
// ScriptScanner cuts JavaScript and TypeScript into tokens, without a grammar. Comments and blanks
// go, and so do the insides of templates and regular expressions. Whether a slash divides or begins
// a regular expression is read from the brackets and the words before it.
//
// Thread   any. Views point into the source, which outlives them.
// Errors   none: what is cut short ends with the source.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "quire/script_text.h"

namespace quire::script {

enum class TokenKind : std::uint8_t {
  None,      // The end.
  Word,      // A name, a keyword or a number.
  Text,      // A string; its text is what is between the quotes. A template without values, too.
  Template,  // A part of a template that has values.
  Regex,
  Mark,  // One letter of the others; "=>", "++", "--", "?." and "..." are one Mark.
};

struct Token {
  TokenKind kind = TokenKind::None;
  std::string_view text;
  std::size_t offset = 0;
  std::uint32_t line = 0;  // From 1.

  bool is_word(std::string_view word) const { return kind == TokenKind::Word && text == word; }
  bool is_mark(std::string_view mark) const { return kind == TokenKind::Mark && text == mark; }
};

class ScriptScanner {
 public:
  explicit ScriptScanner(std::string_view source) : text_(source) {}

  Token next() {
    text_.skip_blanks();
    if (text_.at_end()) return {};
    Token token{TokenKind::Mark, {}, text_.offset(), text_.line()};
    const char letter = text_.letter();
    if (letter == '"' || letter == '\'') {
      token.kind = TokenKind::Text;
      token.text = text_.quoted(letter);
      ends_value_ = true;
    } else if (ScriptText::is_word_letter(letter)) {
      token.kind = TokenKind::Word;
      token.text = text_.word();
      note_word(token.text);
    } else if (letter == '/' && !ends_value_) {
      token.kind = TokenKind::Regex;
      text_.skip_regex();
      ends_value_ = true;
    } else {
      token.text = text_.mark();
      note_mark(token);
    }
    before_last_ = last_;
    last_ = token;
    return token;
  }

 private:
  // An open bracket, and what the end of it means.
  struct Bracket {
    char letter = 0;  // '{', '(', '[', or '$' for a value in a template.
    bool ends_value = true;
    bool is_block = false;  // Statements are in it.
    bool is_for = false;
    std::uint32_t questions = 0;  // Those whose colon is still to come.
  };

  template <std::size_t kCount>
  static bool is_one_of(std::string_view word, const std::string_view (&words)[kCount]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  }
  // After these words a value is expected.
  static bool expects_value(std::string_view word) {
    constexpr std::string_view kWords[] = {"return", "typeof",     "case",  "in",      "delete",
                                           "void",   "throw",      "new",   "do",      "else",
                                           "yield",  "instanceof", "await", "default", "extends"};
    return is_one_of(word, kWords);
  }

  // From within a template: to its end, or to a value in it, whose closing brace leads back here.
  void read_template(Token& token, bool is_begin) {
    token.kind = TokenKind::Template;
    std::string_view part;
    ends_value_ = !text_.template_part(part);
    if (!ends_value_) {
      open_.push_back({.letter = '$'});
    } else if (is_begin) {
      token.kind = TokenKind::Text;
      token.text = part;
    }
  }

  bool is_member() const { return last_.is_mark(".") || last_.is_mark("?.") || last_.is_mark("#"); }

  void note_word(std::string_view text) {
    if (is_member()) {
      ends_value_ = true;
      return;
    }
    const bool is_between = text == "of" && ends_value_ && open_.back().is_for;
    if (text == "function" || text == "class") {
      is_expression_ = begins_expression();
      class_depth_ = text == "class" ? open_.size() + 1 : 0;
      function_depth_ = text == "function" ? open_.size() + 1 : 0;
    }
    ends_value_ = !is_between && !expects_value(text);
  }
  // Whether what comes next is part of an expression, and not the beginning of a statement.
  bool begins_expression() const {
    if (last_.kind == TokenKind::Word) {
      return last_.text == "async" ? is_expression_async()
                                   : expects_value(last_.text) && last_.text != "default" &&
                                         last_.text != "else" && last_.text != "do";
    }
    return is_expression_mark(last_);
  }
  bool is_expression_async() const { return is_expression_mark(before_last_); }
  static bool is_expression_mark(const Token& token) {
    constexpr std::string_view kStatements[] = {";", "{", "}", ")", "++", "--"};
    return token.kind == TokenKind::Mark && !is_one_of(token.text, kStatements);
  }

  void note_mark(Token& token) {
    const char letter = token.text.size() == 1 ? token.text[0] : 0;
    if (letter == '`') {
      read_template(token, true);
    } else if (letter == '(') {
      open_paren();
    } else if (letter == '[') {
      open_.push_back({.letter = '['});
      ends_value_ = false;
    } else if (letter == '{') {
      open_brace();
    } else if (letter == ')' || letter == ']' || letter == '}') {
      close(token);
    } else if (token.text == "++" || token.text == "--") {
      // After a value it belongs to that value.
    } else if (letter == '!' && ends_value_ && !text_.starts_with("=")) {
      // TypeScript's assertion that a value is there.
    } else {
      if (letter == '?') ++open_.back().questions;
      if (letter == ':') note_colon();
      ends_value_ = false;
    }
  }
  void note_colon() {
    Bracket& around = open_.back();
    is_label_ = around.questions == 0 && around.is_block;
    if (around.questions > 0) --around.questions;
  }

  void open_paren() {
    constexpr std::string_view kHeads[] = {"if", "while", "for", "with"};
    Bracket bracket{.letter = '('};
    const bool is_head = last_.kind == TokenKind::Word && is_one_of(last_.text, kHeads) &&
                         !before_last_.is_mark(".") && !before_last_.is_mark("?.");
    const bool is_for_await = last_.is_word("await") && before_last_.is_word("for");
    bracket.ends_value = !is_head && !is_for_await;
    bracket.is_for = is_for_await || (is_head && last_.text == "for");
    open_.push_back(bracket);
    ends_value_ = false;
  }

  // After a block a statement begins; after an object, a class or a function that is a value, an
  // operator.
  void open_brace() {
    Bracket bracket{.letter = '{'};
    const std::size_t depth = open_.size() + 1;
    if (class_depth_ == depth && ends_value_) {
      bracket.ends_value = is_expression_;
      class_depth_ = 0;
    } else if (function_depth_ == depth && ends_value_) {
      bracket.ends_value = is_expression_;
      bracket.is_block = true;
      function_depth_ = 0;
    } else {
      bracket.is_block = begins_block();
      bracket.ends_value = !bracket.is_block;
    }
    open_.push_back(bracket);
    ends_value_ = false;
  }
  bool begins_block() const {
    if (last_.kind == TokenKind::None || last_.is_mark("=>")) return true;
    if (last_.is_word("do") || last_.is_word("else")) return true;
    if (last_.is_mark(":")) return is_label_;
    constexpr std::string_view kBefore[] = {";", "{", "}", ")", ">"};
    if (last_.kind == TokenKind::Mark && is_one_of(last_.text, kBefore)) return true;
    return ends_value_;
  }

  void close(Token& token) {
    const Bracket bracket = open_.back();
    if (open_.size() > 1) open_.pop_back();
    ends_value_ = bracket.ends_value;
    if (bracket.letter == '$' && token.is_mark("}")) read_template(token, false);
  }

  ScriptText text_;
  Token last_, before_last_;
  std::vector<Bracket> open_{Bracket{.is_block = true}};  // The first is the file.
  bool ends_value_ = false;  // What was read may be the end of a value, so that a slash divides.
  bool is_label_ = false;    // The last colon ended a label or a case.
  // Of the last `function` and `class`: whether it is a value, and 1 more than the count of
  // brackets around it, 0 once its body has begun.
  bool is_expression_ = false;
  std::size_t function_depth_ = 0, class_depth_ = 0;
};

}  // namespace quire::script
