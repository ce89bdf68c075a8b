#include "cli/terminal_text.h"

#include <gtest/gtest.h>

namespace quire::cli {
namespace {

// The text that a terminal gets for these parts.
std::string shown(std::initializer_list<std::string_view> parts, bool is_terminal = true) {
  TerminalText text(is_terminal);
  std::string all;
  for (const std::string_view part : parts) all += text.add(part);
  return all + text.finish();
}

TEST(TerminalText, SpellsControlCharactersForATerminalAlone) {
  const std::string title = "a\x1b]0;mine\x07 b\rc\td\n";
  EXPECT_EQ(shown({title}), "a\\x1b]0;mine\\x07 b\\x0dc\td\n");
  EXPECT_EQ(shown({title}, false), title);
}

TEST(TerminalText, SpellsControlsOfTwoBytesHoweverTheyAreCut) {
  EXPECT_EQ(shown({"x\xc2\x9b"
                   "2J"}),
            "x\\xc2\\x9b2J");
  EXPECT_EQ(shown({"x\xc2", "\x9b", "2J"}), "x\\xc2\\x9b2J");
  EXPECT_EQ(shown({"x\x9b"
                   "2J"}),
            "x\\x9b2J");
}

TEST(TerminalText, KeepsCharactersThatComeInPieces) {
  EXPECT_EQ(shown({"\xe2", "\x82", "\xac", " \xc3", "\xa9 \xf0\x9f", "\x99\x82"}), "€ é 🙂");
  EXPECT_EQ(shown({"cut \xe2\x82"}), "cut \\xe2\\x82");
}

}  // namespace
}  // namespace quire::cli
