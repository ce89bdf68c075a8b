#include "cli/word_wrap.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace quire::cli {
namespace {

constexpr std::size_t kFenceBytes = 3;
constexpr std::size_t kCodeBeginBytesMax = 64;  // A fence stands within these.
constexpr char32_t kJoiner = 0x200d;            // Makes one emoji of two.
constexpr std::uint32_t kWidthMin = 8;          // A narrower terminal breaks lines itself.

bool is_within(char32_t code, char32_t first, char32_t last) {
  return code >= first && code <= last;
}

// A character beside which a line may be broken. Words of Korean have spaces between them.
bool is_ideograph(const TextCharacter& character) {
  const char32_t code = character.code;
  const bool is_korean = is_within(code, 0x1100, 0x11ff) || is_within(code, 0xa960, 0xa97f) ||
                         is_within(code, 0xac00, 0xd7ff) || is_within(code, 0x3130, 0x318f);
  return character.columns == 2 && !is_korean;
}

// Punctuation that does not begin a line, and modifiers of the emoji before them.
bool stays_with_the_one_before(char32_t code) {
  constexpr std::u32string_view kClosing =
      U".,;:!?)]}\"'%…’”、。〉》」』】〕〗〙〛々ー・！％），．：；？］｝～";
  return kClosing.find(code) != std::u32string_view::npos || is_within(code, 0x1f3fb, 0x1f3ff);
}

// Punctuation that does not end a line, and the joiner of emoji.
bool stays_with_the_next(char32_t code) {
  constexpr std::u32string_view kOpening = U"([{\"'‘“〈《「『【〔〖〘〚（［｛\u200d";
  return kOpening.find(code) != std::u32string_view::npos;
}

// "-", "*", "12.", "a)".
bool is_list_marker(std::string_view word) {
  if (word == "-" || word == "*" || word == "+" || word == "•") return true;
  if (word.size() < 2 || word.size() > 4) return false;
  if (word.back() != '.' && word.back() != ')') return false;
  return word.substr(0, word.size() - 1).find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view without_spaces_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// The bytes of a character whose end may come yet.
bool is_begin_of_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const std::size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
  return bytes.size() < wanted;
}

}  // namespace

std::string WordWrap::add(std::string_view text) {
  if (layout_.width < kWidthMin) return finish() + std::string(text);
  std::string bytes = std::exchange(partial_, {});
  bytes += text;
  for (std::string_view rest = bytes; !rest.empty();) {
    const TextCharacter first = first_character(rest);
    if (first.code == 0xfffd && is_begin_of_character(rest)) {
      partial_ = rest;
      break;
    }
    take(rest.substr(0, first.bytes), first);
    rest.remove_prefix(first.bytes);
  }
  return std::exchange(out_, {});
}

std::string WordWrap::finish() {
  end_word();
  out_ += std::exchange(partial_, {});
  return std::exchange(out_, {});
}

void WordWrap::take(std::string_view character, const TextCharacter& first) {
  if (first.code == '\n') {
    end_line();
    return;
  }
  const bool is_space = first.code == ' ' || first.code == '\t';
  if (is_space || breaks_before(first)) end_word();
  if (is_as_it_is_) {  // Since the word that ended, perhaps.
    take_of_line_as_it_is(character);
    return;
  }
  if (is_space) {
    is_in_long_word_ = false;
    spaces_ += character;
    return;
  }
  if (is_in_long_word_) {
    out_ += character;
    column_ = (column_ + first.columns) % layout_.width;
    return;
  }
  word_ += character;
  word_columns_ += first.columns;
  if (first.columns > 0 || first.code == kJoiner) last_ = first;
  if (word_columns_ <= layout_.width) return;
  end_word();
  is_in_long_word_ = !is_as_it_is_;
  column_ %= layout_.width;
}

void WordWrap::take_of_line_as_it_is(std::string_view character) {
  out_ += character;
  if (!fence_.empty() && code_begin_.size() < kCodeBeginBytesMax) code_begin_ += character;
}

void WordWrap::end_line() {
  end_word();
  if (!fence_.empty() && without_spaces_before(code_begin_).starts_with(fence_)) fence_.clear();
  code_begin_.clear();
  out_ += '\n';
  spaces_.clear();
  column_ = 0;
  indent_ = layout_.indent;
  has_words_ = false;
  is_line_begin_ = true;
  is_as_it_is_ = !fence_.empty();
  is_in_long_word_ = false;
}

// Finds what kind of line the word begins.
void WordWrap::begin_line() {
  is_line_begin_ = false;
  const std::uint32_t lead = column_count(spaces_);
  if (layout_.form == Form::Lines) {
    is_as_it_is_ = lead > 0;
    return;
  }
  if (word_.starts_with("```") || word_.starts_with("~~~")) {
    fence_ = word_.substr(0, kFenceBytes);
    is_as_it_is_ = true;
    return;
  }
  is_as_it_is_ = word_.starts_with('|');
  indent_ = lead + (is_list_marker(word_) ? word_columns_ + 1 : 0);
  if (indent_ > layout_.width / 2) indent_ = 0;
}

void WordWrap::end_word() {
  if (word_.empty()) return;
  if (is_line_begin_) begin_line();
  std::uint32_t columns = column_count(spaces_) + word_columns_;
  if (!is_as_it_is_ && has_words_ && column_ + columns > layout_.width) {
    // A long word has a line without an indent if it then fits.
    column_ = std::min(indent_, layout_.width - std::min(layout_.width, word_columns_));
    out_ += '\n' + std::string(column_, ' ');
    spaces_.clear();
    columns = word_columns_;
  }
  out_ += spaces_ + word_;
  column_ += columns;
  has_words_ = true;
  spaces_.clear();
  word_.clear();
  word_columns_ = 0;
}

bool WordWrap::breaks_before(const TextCharacter& next) const {
  if (word_.empty() || next.columns == 0) return false;
  if (!is_ideograph(last_) && !is_ideograph(next)) return false;
  return !stays_with_the_next(last_.code) && !stays_with_the_one_before(next.code);
}

std::string wrapped(std::string_view text, const WordWrap::Layout& layout) {
  WordWrap wrap(layout);
  const std::string begin = wrap.add(text);
  return begin + wrap.finish();
}

}  // namespace quire::cli
