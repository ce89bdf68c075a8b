#include "quire/stop.h"

#include <gtest/gtest.h>

#include "quire/sampling.h"

namespace quire {
namespace {

// Feeds one token for each piece; returns all that was shown.
std::string shown_of(StopRules& rules, const std::vector<std::string>& pieces) {
  std::string shown;
  for (std::size_t i = 0; i < pieces.size() && !rules.ended(); ++i) {
    if (rules.accept_token(static_cast<std::uint32_t>(i + 100)))
      shown += rules.accept_bytes(pieces[i]);
  }
  return shown + rules.finish();
}

TEST(Stop, EndsAtTheTokenCountAndCountsEveryAcceptedToken) {
  StopRules rules({.token_count_max = 3});
  EXPECT_EQ(shown_of(rules, {"a", "b", "c", "d"}), "abc");
  EXPECT_EQ(rules.reason(), FinishReason::Length);
  EXPECT_EQ(rules.token_count(), 3u);
  EXPECT_STREQ(finish_reason_name(rules.reason()), "length");
}

TEST(Stop, ZeroTokensEndBeforeTheFirst) {
  StopRules rules({.token_count_max = 0});
  EXPECT_TRUE(rules.ended());
  EXPECT_FALSE(rules.accept_token(1));
}

TEST(Stop, AStopTokenEndsWithoutTextAndIsNotCounted) {
  StopRules rules({.token_count_max = 9, .stop_tokens = {2, 101}});
  EXPECT_EQ(shown_of(rules, {"a", "b", "c"}), "a");
  EXPECT_EQ(rules.reason(), FinishReason::StopToken);
  EXPECT_EQ(rules.token_count(), 1u);
}

TEST(Stop, AStopTextIsFoundAcrossTokensAndNeverShown) {
  StopRules rules({.token_count_max = 9, .stop_texts = {"\n\nUser:"}});
  EXPECT_EQ(shown_of(rules, {"Hello", "\n", "\nUs", "er: and", " more"}), "Hello");
  EXPECT_EQ(rules.reason(), FinishReason::StopText);
}

TEST(Stop, TextThatOnlyLooksLikeAStopTextIsShownAsSoonAsItDiffers) {
  StopRules rules({.token_count_max = 9, .stop_texts = {"STOP"}});
  ASSERT_TRUE(rules.accept_token(1));
  EXPECT_EQ(rules.accept_bytes("go ST"), "go ");
  ASSERT_TRUE(rules.accept_token(2));
  EXPECT_EQ(rules.accept_bytes("AY"), "STAY");
  ASSERT_TRUE(rules.accept_token(3));
  EXPECT_EQ(rules.accept_bytes("STO"), "");
  EXPECT_EQ(rules.finish(), "STO");
}

TEST(Stop, TheEarliestOfSeveralStopTextsCuts) {
  StopRules rules({.token_count_max = 9, .stop_texts = {"cd", "bc", ""}});
  EXPECT_EQ(shown_of(rules, {"abcd"}), "a");
}

TEST(Stop, HalfACharacterIsNeverShown) {
  StopRules rules({.token_count_max = 9});
  ASSERT_TRUE(rules.accept_token(1));
  EXPECT_EQ(rules.accept_bytes("x\xF0\x9F"), "x");
  ASSERT_TRUE(rules.accept_token(2));
  EXPECT_EQ(rules.accept_bytes("\x98"), "");
  ASSERT_TRUE(rules.accept_token(3));
  EXPECT_EQ(rules.accept_bytes("\x80!"), "\xF0\x9F\x98\x80!");
}

TEST(Stop, AnUnfinishedCharacterAtTheEndBecomesOneReplacement) {
  StopRules rules({.token_count_max = 1});
  EXPECT_EQ(shown_of(rules, {"a\xE2\x82"}), "a\xEF\xBF\xBD");
}

TEST(Utf8, ReplacesEachMaximalPartThatIsNoCharacter) {
  const std::string r(Utf8Stream::kReplacement);
  EXPECT_EQ(valid_utf8("\xC0\xAF"), r + r);                  // Overlong.
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), r + r + r);          // A surrogate.
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), r + r + r + r);  // Above U+10FFFF.
  EXPECT_EQ(valid_utf8("\xE2\x82z"), r + "z");               // Cut short.
  EXPECT_EQ(valid_utf8("\xF0\x9F\x98\x80\x80"), "\xF0\x9F\x98\x80" + r);
  EXPECT_EQ(valid_utf8("\xE2\x82\xAC\xC3\xA9"), "\xE2\x82\xAC\xC3\xA9");
}

// ST1 with random cuts, bytes and stop texts: what is shown in pieces is what a look at the whole
// text would show.
TEST(Stop, ShowsTheSameHoweverTheBytesAreCut) {
  const std::string letters = "ab\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFF";
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    sampling::Random random(seed);
    std::string bytes;
    for (int i = 0; i < 24; ++i) bytes.push_back(letters[random.next() % letters.size()]);
    const std::vector<std::string> stops = {"aba", "b\xC3\xA9",
                                            "\xF0\x9F\x98\x80"
                                            "a"};
    std::string whole = valid_utf8(bytes);
    std::size_t cut = std::string::npos;
    for (const auto& stop : stops) cut = std::min(cut, whole.find(stop));
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t count = 1 + random.next() % 4;
      pieces.push_back(bytes.substr(at, count));
      at += count;
    }
    StopRules rules({.token_count_max = 1000, .stop_texts = stops});
    EXPECT_EQ(shown_of(rules, pieces), whole.substr(0, cut)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace quire
