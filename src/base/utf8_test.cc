#include "base/utf8.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(Utf8, AcceptsEveryScalarValueAndNothingElse) {
  for (std::uint32_t code = 0; code < 0x120000; ++code) {
    std::string text;
    if (code < 0x80) {
      text = {static_cast<char>(code)};
    } else if (code < 0x800) {
      text = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    } else if (code < 0x10000) {
      text = {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
              static_cast<char>(0x80 | (code & 0x3f))};
    } else {
      text = {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3f)),
              static_cast<char>(0x80 | (code >> 6 & 0x3f)),
              static_cast<char>(0x80 | (code & 0x3f))};
    }
    const bool scalar = code < 0xd800 || (code > 0xdfff && code < 0x110000);
    ASSERT_EQ(utf8_character_bytes(text), scalar ? text.size() : 0u) << code;
    ASSERT_EQ(utf8_valid_bytes("12345678" + text), scalar ? 8 + text.size() : 8u) << code;
  }
}

TEST(Utf8, RefusesOverlongFormsAndCutCharacters) {
  EXPECT_EQ(utf8_valid_bytes("ab\xc0\x80"), 2u);
  EXPECT_EQ(utf8_valid_bytes("\xe0\x80\x80"), 0u);
  EXPECT_EQ(utf8_valid_bytes("\xf0\x80\x80\x80"), 0u);
  EXPECT_EQ(utf8_valid_bytes("x\xe2\x82"), 1u);
  EXPECT_EQ(utf8_valid_bytes("x\x80"), 1u);
}

TEST(Utf8, PrintableSpellsWhatCouldDriveATerminal) {
  EXPECT_EQ(printable("a\tb\x1b[2J\r\n"), "a\tb\\x1b[2J\\x0d\\x0a");
  EXPECT_EQ(printable("\xc3\xa9\xc2\x9b\xff"), "\xc3\xa9\\xc2\\x9b\\xff");
  EXPECT_EQ(printable_lines("a\nb\x7f"), "a\nb\\x7f");
}

}  // namespace
}  // namespace quire
