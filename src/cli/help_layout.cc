#include "cli/help_layout.h"

#include <algorithm>
#include <utility>

#include "base/columns.h"
#include "cli/word_wrap.h"

namespace quire::cli {
namespace {

constexpr std::uint32_t kHeadIndent = 2;
constexpr std::uint32_t kLongHeadIndent = 6;  // Of the further lines of a head.
constexpr std::uint32_t kGap = 2;             // Between a head and its text.
constexpr std::uint32_t kTextColumnMin = 8;
constexpr std::uint32_t kTextColumnMax = 28;
constexpr std::uint32_t kNarrowTextColumnMax = 16;
constexpr std::uint32_t kNarrowColumns =
    76;  // On fewer columns the text needs them more than the heads.
constexpr std::uint32_t kFurtherWordsIndent = 4;  // Of the further lines of a command.

std::string spaces(std::uint32_t count) {
  return std::string(count, ' ');
}

std::uint32_t text_column(const std::vector<HelpRow>& rows, std::uint32_t columns) {
  const std::uint32_t most = columns < kNarrowColumns ? kNarrowTextColumnMax : kTextColumnMax;
  std::uint32_t column = kTextColumnMin;
  for (const HelpRow& each : rows) {
    const std::uint32_t wanted = kHeadIndent + column_count(each.head) + kGap;
    if (wanted <= most) column = std::max(column, wanted);
  }
  return column;
}

// The words of a command, with quoted ones whole.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words(1);
  char quote = '\0';
  for (const char each : line) {
    if (each == ' ' && quote == '\0') {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    words.back() += each;
    if (quote == '\0' && (each == '"' || each == '\'')) {
      quote = each;
    } else if (each == quote) {
      quote = '\0';
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// A flag stays with its value, and what joins two parts of a line with the second.
std::vector<std::string> shell_phrases(std::string_view line, std::uint32_t columns) {
  std::vector<std::string> phrases;
  for (const std::string& each : shell_words(line)) {
    const std::string before = phrases.empty() ? "" : phrases.back();
    const bool is_one_word = before.find(' ') == std::string::npos;
    const bool joins = before == "--" || before == "&&" || before == "|";
    const bool is_value = is_one_word && before.starts_with('-') && !each.starts_with('-');
    const bool fits = column_count(before) + column_count(each) + 10 <= columns;
    if ((joins || is_value) && fits) {
      phrases.back() += " " + each;
    } else {
      phrases.push_back(each);
    }
  }
  return phrases;
}

std::string command_text(std::string_view line, std::uint32_t columns) {
  constexpr std::uint32_t kContinued = 2;  // " \".
  std::string out = spaces(kHeadIndent);
  std::uint32_t column = kHeadIndent;
  bool is_first = true;
  for (const std::string& each : shell_phrases(line, columns)) {
    const std::uint32_t wanted = column_count(each) + (is_first ? 0 : 1);
    if (!is_first && column + wanted + kContinued > columns) {
      out += " \\\n" + spaces(kHeadIndent + kFurtherWordsIndent) + each;
      column = kHeadIndent + kFurtherWordsIndent + column_count(each);
    } else {
      out += (is_first ? "" : " ") + each;
      column += wanted;
    }
    is_first = false;
  }
  return out + "\n";
}

// "  4    the program ended": the row of an indented line.
HelpRow row_of(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t end = std::min(line.find("  ", begin), line.size());
  const std::size_t text = std::min(line.find_first_not_of(' ', end), line.size());
  return {std::string(line.substr(begin, end - begin)), std::string(line.substr(text))};
}

class Notes {
 public:
  explicit Notes(std::uint32_t columns) : columns_(columns) {}

  std::string text(std::string_view notes) {
    while (!notes.empty()) {
      const std::size_t end = std::min(notes.find('\n'), notes.size());
      take(notes.substr(0, end));
      notes.remove_prefix(std::min(end + 1, notes.size()));
    }
    end_block();
    return std::move(out_);
  }

 private:
  void take(std::string_view line) {
    if (line.empty()) {
      end_block();
      out_ += "\n";
      is_of_examples_ = false;
    } else if (is_of_examples_) {
      take_command(line);
    } else if (line.front() == ' ') {
      take_row(line);
    } else if (line == "Examples:" || line == "Example:") {
      end_block();
      out_ += std::string(line) + "\n";
      is_of_examples_ = true;
    } else {
      if (!rows_.empty()) end_block();
      paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(line);
    }
  }

  void take_command(std::string_view line) {
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    command_ += std::string(line) + " ";
    if (!goes_on) out_ += command_text(std::exchange(command_, {}), columns_);
  }

  // A line whose indent is that of the text above goes on with it.
  void take_row(std::string_view line) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (rows_.empty() || indent <= kHeadIndent) {
      if (rows_.empty()) end_block();
      rows_.push_back(row_of(line));
    } else {
      rows_.back().text += " " + std::string(line.substr(indent));
    }
  }

  void end_block() {
    if (!paragraph_.empty()) {
      out_ += wrapped(std::exchange(paragraph_, {}), {.width = columns_}) + "\n";
    }
    out_ += help_rows(std::exchange(rows_, {}), columns_);
  }

  const std::uint32_t columns_;
  bool is_of_examples_ = false;
  std::string out_;
  std::string paragraph_;
  std::string command_;  // Whose further lines follow.
  std::vector<HelpRow> rows_;
};

}  // namespace

std::string help_rows(const std::vector<HelpRow>& rows, std::uint32_t columns) {
  const std::uint32_t column = text_column(rows, columns);
  std::string out;
  for (const HelpRow& each : rows) {
    const std::uint32_t head = kHeadIndent + column_count(each.head);
    out += spaces(kHeadIndent) +
           wrapped(each.head, {.width = columns, .indent = kLongHeadIndent, .column = kHeadIndent});
    if (!each.text.empty()) {
      out += head + kGap <= column ? spaces(column - head) : "\n" + spaces(column);
      out += wrapped(each.text, {.width = columns, .indent = column, .column = column});
    }
    out += "\n";
  }
  return out;
}

std::string help_notes(std::string_view notes, std::uint32_t columns) {
  return Notes(columns).text(notes);
}

}  // namespace quire::cli
