#include "main/modules/script_imports.h"

#include <algorithm>
#include <string>

namespace quire::modules {
namespace {

enum class TokenKind : std::uint8_t { None, Word, Text, Mark };

struct Token {
  TokenKind kind = TokenKind::None;
  std::string_view text;  // Of a Text, what is between the quotes.
  std::uint32_t line = 0;
};

bool is_word_letter(char letter) {
  const auto value = static_cast<unsigned char>(letter);
  return (value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z') ||
         (value >= '0' && value <= '9') || value == '_' || value == '$' || value >= 0x80;
}

// After these words a slash begins a regular expression; after other words it divides.
bool expects_value(std::string_view word) {
  constexpr std::string_view kWords[] = {"return", "typeof",     "case",  "in",    "of",
                                         "delete", "void",       "throw", "new",   "do",
                                         "else",   "instanceof", "yield", "await", "default"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

class ScriptScanner {
 public:
  explicit ScriptScanner(std::string_view source) : source_(source) {}

  // Kind None at the end.
  Token next() {
    skip_blanks();
    if (at_ >= source_.size()) return {};
    const std::uint32_t line = line_;
    const char letter = source_[at_];
    Token token;
    if (letter == '"' || letter == '\'') {
      token = {TokenKind::Text, quoted(letter), line};
    } else if (letter == '`') {
      ++at_;
      skip_template();
      token = {TokenKind::Mark, ")", line};  // A value: a slash after it divides.
    } else if (is_word_letter(letter)) {
      const std::size_t begin = at_;
      while (at_ < source_.size() && is_word_letter(source_[at_])) ++at_;
      token = {TokenKind::Word, source_.substr(begin, at_ - begin), line};
    } else if (letter == '/' && regex_may_begin()) {
      skip_regex();
      token = {TokenKind::Mark, ")", line};
    } else {
      token = {TokenKind::Mark, source_.substr(at_++, 1), line};
      note_brace(letter);
    }
    last_ = token;
    return token;
  }

 private:
  void step() {
    if (source_[at_++] == '\n') ++line_;
  }

  void skip_to(std::string_view end) {
    const std::size_t found = std::min(source_.find(end, at_), source_.size());
    while (at_ < found) step();
    at_ = std::min(at_ + end.size(), source_.size());
    if (end == "\n" && found < source_.size()) ++line_;
  }

  void skip_blanks() {
    while (at_ < source_.size()) {
      const char letter = source_[at_];
      const std::string_view rest = source_.substr(at_);
      if (rest.starts_with("//") || (at_ == 0 && rest.starts_with("#!"))) {
        skip_to("\n");
      } else if (rest.starts_with("/*")) {
        skip_to("*/");
      } else if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r') {
        step();
      } else {
        return;
      }
    }
  }

  std::string_view quoted(char quote) {
    const std::size_t begin = ++at_;
    while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n') {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) step();
      step();
    }
    const std::string_view text = source_.substr(begin, at_ - begin);
    if (at_ < source_.size() && source_[at_] == quote) ++at_;
    return text;
  }

  // From within: to its end, or to a value in it, whose closing brace leads back here.
  void skip_template() {
    while (at_ < source_.size() && source_[at_] != '`') {
      if (source_.substr(at_).starts_with("${")) {
        at_ += 2;
        braces_.push_back(true);
        return;
      }
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) step();
      step();
    }
    if (at_ < source_.size()) ++at_;
  }

  void note_brace(char letter) {
    if (letter == '{') braces_.push_back(false);
    if (letter != '}' || braces_.empty()) return;
    const bool is_in_template = braces_.back();
    braces_.pop_back();
    if (is_in_template) skip_template();
  }

  bool regex_may_begin() const {
    if (last_.kind == TokenKind::None) return true;
    if (last_.kind == TokenKind::Text) return false;
    if (last_.kind == TokenKind::Word) return expects_value(last_.text);
    return last_.text != ")" && last_.text != "]" && last_.text != "}";
  }

  void skip_regex() {
    bool is_in_class = false;
    for (++at_; at_ < source_.size() && source_[at_] != '\n'; ++at_) {
      const char letter = source_[at_];
      if (letter == '\\' && at_ + 1 < source_.size() && source_[at_ + 1] != '\n') {
        ++at_;
      } else if (letter == '[') {
        is_in_class = true;
      } else if (letter == ']') {
        is_in_class = false;
      } else if (letter == '/' && !is_in_class) {
        ++at_;
        return;
      }
    }
  }

  const std::string_view source_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  Token last_;
  std::vector<bool> braces_;  // Open ones: whether each belongs to a template.
};

bool is_local(std::string_view specifier) {
  return specifier.starts_with("./") || specifier.starts_with("../") || specifier == "." ||
         specifier == "..";
}

bool is_word(const Token& token, std::string_view word) {
  return token.kind == TokenKind::Word && token.text == word;
}

bool is_mark(const Token& token, std::string_view mark) {
  return token.kind == TokenKind::Mark && token.text == mark;
}

}  // namespace

std::vector<ScriptImport> local_imports(std::string_view source) {
  ScriptScanner scanner(source);
  std::vector<ScriptImport> imports;
  Token third;  // Before `second`, which is before `first`, which is before the token at hand.
  Token second;
  Token first;
  bool has_types_only = false;
  for (Token token = scanner.next(); token.kind != TokenKind::None; token = scanner.next()) {
    // `import type X from` and `export type {`, but not `import type from "./type.js"`.
    const bool is_type = is_word(first, "type") &&
                         (is_word(second, "import") || is_word(second, "export")) &&
                         !is_mark(third, ".") && !is_word(token, "from") && !is_mark(token, ",");
    if (is_type) has_types_only = true;
    if (is_word(token, "import") || is_word(token, "export")) has_types_only = false;
    if (token.kind == TokenKind::Text && is_local(token.text)) {
      const bool is_called =
          is_mark(first, "(") && is_word(second, "import") && !is_mark(third, ".");
      const bool is_named = is_word(first, "from") || is_word(first, "import");
      if (is_called) {
        imports.push_back({token.text, token.line, ImportKind::Dynamic});
      } else if (is_named && !is_mark(second, ".")) {
        imports.push_back(
            {token.text, token.line, has_types_only ? ImportKind::Types : ImportKind::Static});
      }
    }
    third = second;
    second = first;
    first = token;
  }
  return imports;
}

}  // namespace quire::modules
