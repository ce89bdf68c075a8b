#include "base/columns.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(Columns, EastAsianTextAndEmojiTakeTwoColumnsACharacter) {
  EXPECT_EQ(column_count("plain"), 5u);
  EXPECT_EQ(column_count("naïve"), 5u);
  EXPECT_EQ(column_count("日本語"), 6u);
  EXPECT_EQ(column_count("한국어"), 6u);
  EXPECT_EQ(column_count("ＡＢ"), 4u);
  EXPECT_EQ(column_count("🦊"), 2u);
  EXPECT_EQ(column_count("─│└"), 3u);
}

TEST(Columns, MarksAndJoinersTakeNone) {
  EXPECT_EQ(column_count("e\u0301"), 1u);
  EXPECT_EQ(column_count("\u200b\u200d\ufe0f"), 0u);
  EXPECT_EQ(column_count("\x1b\x07"), 0u);
}

TEST(Columns, WhatIsNotUtf8IsACharacterOfOneColumn) {
  EXPECT_EQ(column_count("a\xff\xe6\x97z"), 5u);
  EXPECT_EQ(first_character("\xe6\x97").bytes, 1u);
}

}  // namespace
}  // namespace quire
