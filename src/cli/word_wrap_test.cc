#include "cli/word_wrap.h"

#include <gtest/gtest.h>

#include <vector>

namespace quire::cli {
namespace {

std::string broken(std::string_view text, std::uint32_t width, std::uint32_t indent = 0) {
  return wrapped(text, {.width = width, .indent = indent});
}

std::string markdown(std::string_view text, std::uint32_t width) {
  return wrapped(text, {.width = width, .form = WordWrap::Form::Markdown});
}

TEST(WordWrap, BreaksBetweenWordsAndHangsWhatFollows) {
  EXPECT_EQ(broken("one two three four", 10), "one two\nthree four");
  EXPECT_EQ(broken("one two three four", 10, 2), "one two\n  three\n  four");
  EXPECT_EQ(broken("exactly10c  next", 10), "exactly10c\nnext");
  EXPECT_EQ(broken("a  b\n\nc", 10), "a  b\n\nc");
  EXPECT_EQ(broken("no terminal, no breaks, however long", 0),
            "no terminal, no breaks, however long");
  EXPECT_EQ(wrapped("first words here", {.width = 16, .indent = 7, .column = 7}),
            "first\n       words\n       here");
}

TEST(WordWrap, AWordThatIsLongerThanALineStandsAloneAndWhole) {
  EXPECT_EQ(broken("see https://example.com/a/b/c now", 12), "see\nhttps://example.com/a/b/c now");
  EXPECT_EQ(broken("see 12345678901 x", 12, 4), "see\n 12345678901\n    x");
}

TEST(WordWrap, ALineWithColumnsOfItsOwnIsLeftAsItIs) {
  EXPECT_EQ(broken("a word\n    int main() { return 0; }\nand more words", 10),
            "a word\n    int main() { return 0; }\nand more\nwords");
}

TEST(WordWrap, WideCharactersCountTwiceAndLinesMayBreakBesideThem) {
  EXPECT_EQ(broken("日本語の文章です。はい", 10), "日本語の文\n章です。は\nい");
  // No line begins with the full stop.
  EXPECT_EQ(broken("日本語の文。章", 10), "日本語の\n文。章");
  EXPECT_EQ(broken("한국어 단어는 온전하다", 12), "한국어\n단어는\n온전하다");
  EXPECT_EQ(broken("abcd 🦊🦊🦊", 9), "abcd 🦊🦊\n🦊");
  EXPECT_EQ(broken("abcdefg 👩‍💻 x", 10), "abcdefg\n👩‍💻 x");
}

TEST(WordWrap, CodeAndTablesAreLeftAsTheyAreAndItemsHang) {
  const std::string code = "```cpp\nint main() { return 0; }  // long\n\n  x\n```\n";
  EXPECT_EQ(markdown("Words before it:\n" + code + "and words after it", 12),
            "Words before\nit:\n" + code + "and words\nafter it");
  EXPECT_EQ(markdown("| a | b | c | d |\n|---|---|---|---|", 8),
            "| a | b | c | d |\n|---|---|---|---|");
  EXPECT_EQ(markdown("- one two three\n10. one two three\n", 12),
            "- one two\n  three\n10. one two\n    three\n");
}

TEST(WordWrap, GivesTheSameLinesInWhateverPartsTheTextComes) {
  const std::string text =
      "Some words, 日本語の文章です。\n\n- an item that is long enough to be broken 🦊🦊🦊\n"
      "```\ncode that is longer than the line\n```\nhttps://example.com/longer/than/a/line end";
  const std::string whole = markdown(text, 20);
  for (std::size_t bytes = 1; bytes < 7; ++bytes) {
    WordWrap wrap({.width = 20, .form = WordWrap::Form::Markdown});
    std::string shown;
    for (std::size_t at = 0; at < text.size(); at += bytes)
      shown += wrap.add(text.substr(at, bytes));
    EXPECT_EQ(shown + wrap.finish(), whole) << bytes;
  }
}

TEST(WordWrap, HoldsBackOneWordAtMost) {
  WordWrap wrap({.width = 20, .form = WordWrap::Form::Markdown});
  EXPECT_EQ(wrap.add("Once up"), "Once");
  EXPECT_EQ(wrap.add("on"), "");
  EXPECT_EQ(wrap.add(" a"), " upon");
  EXPECT_EQ(wrap.finish(), " a");
}

}  // namespace
}  // namespace quire::cli
