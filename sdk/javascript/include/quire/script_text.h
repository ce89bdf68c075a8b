#pragma once
// ScriptText goes through the text of a script: its blanks and comments, its words, strings and
// regular expressions, each from its first letter to its end.
//
// Thread   any. Views point into the source, which outlives them.
// Errors   none: what is cut short ends with the source.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quire::script {

class ScriptText {
 public:
  explicit ScriptText(std::string_view source) : source_(source) {}

  std::uint32_t line() const { return line_; }  // From 1.
  std::size_t offset() const { return at_; }
  bool at_end() const { return at_ >= source_.size(); }
  char letter() const { return source_[at_]; }
  static bool is_word_letter(char letter) {
    const auto value = static_cast<unsigned char>(letter);
    return (value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z') ||
           (value >= '0' && value <= '9') || value == '_' || value == '$' || value >= 0x80;
  }
  bool starts_with(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void skip_blanks() {
    while (at_ < source_.size()) {
      const bool is_first = source_.substr(0, at_) == "\xef\xbb\xbf" || at_ == 0;
      if (starts_with("//") || (is_first && starts_with("#!"))) {
        while (at_ < source_.size() && !at_line_end()) ++at_;
      } else if (starts_with("/*")) {
        const std::size_t end = std::min(source_.find("*/", at_ + 2), source_.size());
        while (at_ < end) step();
        at_ = std::min(at_ + 2, source_.size());
      } else if (const std::size_t bytes = blank_bytes(); bytes > 0) {
        step();
        at_ += bytes - 1;
      } else {
        return;
      }
    }
  }

  // The text between the quotes; a string ends with its line.
  std::string_view quoted(char quote) {
    const std::size_t begin = ++at_;
    while (at_ < source_.size() && source_[at_] != quote && !at_line_end()) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) step();
      step();
    }
    const std::string_view text = source_.substr(begin, at_ - begin);
    if (at_ < source_.size() && source_[at_] == quote) ++at_;
    return text;
  }
  // A part of a template, from within. True: a value follows; false: the template has ended.
  bool template_part(std::string_view& text) {
    const std::size_t begin = at_;
    while (at_ < source_.size() && source_[at_] != '`' && !starts_with("${")) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) step();
      step();
    }
    text = source_.substr(begin, at_ - begin);
    const bool has_value = starts_with("${");
    at_ = std::min(at_ + (has_value ? 2 : 1), source_.size());
    return has_value;
  }

  // A name, a keyword or a number.
  std::string_view word() {
    const std::size_t begin = at_;
    const bool is_number = source_[at_] >= '0' && source_[at_] <= '9';
    const auto skip = [this] {
      while (at_ < source_.size() && is_word_letter(source_[at_]) && blank_bytes() == 0) ++at_;
    };
    skip();
    if (is_number && at_ < source_.size() && source_[at_] == '.') {
      ++at_;
      skip();
    }
    return source_.substr(begin, at_ - begin);
  }
  void skip_regex() {
    bool is_in_class = false;
    for (++at_; at_ < source_.size() && !at_line_end(); ++at_) {
      const char letter = source_[at_];
      if (letter == '\\' && at_ + 1 < source_.size() && source_[at_ + 1] != '\n') {
        ++at_;
      } else if (letter == '[') {
        is_in_class = true;
      } else if (letter == ']') {
        is_in_class = false;
      } else if (letter == '/' && !is_in_class) {
        ++at_;
        while (at_ < source_.size() && is_word_letter(source_[at_])) ++at_;
        return;
      }
    }
  }
  // One letter, or several that are one mark.
  std::string_view mark() {
    const std::size_t begin = at_;
    at_ += mark_bytes();
    return source_.substr(begin, at_ - begin);
  }

 private:
  // The bytes of the blank here, if there is one: those of Unicode, and the mark of byte order.
  std::size_t blank_bytes() const {
    if (source_[at_] == ' ' || (source_[at_] >= '\t' && source_[at_] <= '\r')) return 1;
    if (starts_with("\xc2\xa0")) return 2;
    if (starts_with("\xef\xbb\xbf") || starts_with("\xe3\x80\x80")) return 3;
    const bool is_general = starts_with("\xe2\x80") && at_ + 2 < source_.size();
    const auto third = is_general ? static_cast<unsigned char>(source_[at_ + 2]) : 0;
    return (third >= 0x80 && third <= 0x8a) || third == 0xa8 || third == 0xa9 || third == 0xaf ? 3
                                                                                               : 0;
  }
  // A line ends with "\n", "\r" or "\r\n".
  bool at_line_end() const { return source_[at_] == '\n' || source_[at_] == '\r'; }
  void step() {
    if (source_[at_] == '\n' || (source_[at_] == '\r' && !starts_with("\r\n"))) ++line_;
    ++at_;
  }
  std::size_t mark_bytes() const {
    constexpr std::string_view kLong[] = {"...", "=>", "++", "--"};
    for (const std::string_view each : kLong) {
      if (starts_with(each)) return each.size();
    }
    // "a?.5:b" has no "?.".
    const bool is_chain = starts_with("?.") && (at_ + 2 >= source_.size() ||
                                                source_[at_ + 2] < '0' || source_[at_ + 2] > '9');
    return is_chain ? 2 : 1;
  }

  const std::string_view source_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace quire::script
