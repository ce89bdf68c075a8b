#include "inference/tokenizer/special_tokens.h"

#include <gtest/gtest.h>

namespace quire::inference {
namespace {

#ifdef QUIRE_ENGINES  // Without it, everything beyond ASCII counts as a letter.
constexpr bool kKnowsLetters = true;
#else
constexpr bool kKnowsLetters = false;
#endif

SpecialTokens made(std::vector<SpecialToken> tokens) {
  Result<SpecialTokens> result = SpecialTokens::create(std::move(tokens));
  EXPECT_TRUE(result.ok()) << result.error().message();
  return std::move(result).take();
}

// "Hi [7] there": plain parts as they are, tokens by number.
std::string shown(std::string_view text, const std::vector<TextPiece>& pieces) {
  std::string line;
  std::size_t at = 0;
  for (const TextPiece& piece : pieces) {
    EXPECT_EQ(piece.begin, at);
    EXPECT_LT(piece.begin, piece.end);
    at = piece.end;
    if (piece.token) {
      line += "[" + std::to_string(static_cast<std::uint32_t>(*piece.token)) + "]";
    } else {
      line += text.substr(piece.begin, piece.end - piece.begin);
    }
  }
  EXPECT_EQ(at, text.size());
  return line;
}

TEST(SpecialTokens, TakeTheLongestAtEachPlace) {
  const SpecialTokens tokens =
      made({{.text = "<a", .id = TokenId{1}}, {.text = "<ab>", .id = TokenId{2}}});
  for (const auto& [text, wanted] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"x", "x"},
                                                        {"<ab>", "[2]"},
                                                        {"<ab", "[1]b"},
                                                        {"<<ab><a", "<[2][1]"},
                                                        {"<", "<"}}) {
    EXPECT_EQ(shown(text, tokens.cut(text, {})), wanted);
  }
}

TEST(SpecialTokens, GuardedOnesNeedLeaveAndNoShieldedByte) {
  const SpecialTokens tokens = made(
      {{.text = "<|e|>", .id = TokenId{1}, .guarded = true}, {.text = "<|", .id = TokenId{2}}});
  const std::string text = "a<|e|>b<|e|>";
  EXPECT_EQ(shown(text, tokens.cut(text, {})), "a[1]b[1]");
  EXPECT_EQ(shown(text, tokens.cut(text, {.parse_guarded = false, .shielded_offsets = {}})),
            "a[2]e|>b[2]e|>");
  const std::vector<std::size_t> shielded{2};
  EXPECT_EQ(shown(text, tokens.cut(text, {.parse_guarded = true, .shielded_offsets = shielded})),
            "a[2]e|>b[1]");
  const std::vector<std::size_t> beside{0, 6, 12};
  EXPECT_EQ(shown(text, tokens.cut(text, {.parse_guarded = true, .shielded_offsets = beside})),
            "a[1]b[1]");
}

TEST(SpecialTokens, StripWhiteSpaceAndStandAlone) {
  const SpecialTokens tokens = made({{.text = "<mask>", .id = TokenId{1}, .strip_left = true},
                                     {.text = "<end>", .id = TokenId{2}, .strip_right = true},
                                     {.text = "cat", .id = TokenId{3}, .single_word = true}});
  for (const auto& [text, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"a \u3000<mask> b", "a[1] b"},
           {"<end> <mask>", "[2][1]"},
           {"a<end>\n\tb", "a[2]b"},
           {"cat", "[3]"},
           {"a cat.", "a [3]."},
           {"cats", "cats"},
           {"_cat", "_cat"},
           {"\u00e9cat", "\u00e9cat"},
           {"cat\u0301", "cat\u0301"},
           {"\u201ccat\u201d", kKnowsLetters ? "\u201c[3]\u201d" : "\u201ccat\u201d"},
           {"\u3001cat\U0001f600",
            kKnowsLetters ? "\u3001[3]\U0001f600" : "\u3001cat\U0001f600"}}) {
    EXPECT_EQ(shown(text, tokens.cut(text, {})), wanted);
  }
}

TEST(SpecialTokens, AWordThatTouchesALetterIsPassedOverWhole) {
  const SpecialTokens tokens = made({{.text = "a b", .id = TokenId{1}, .single_word = true},
                                     {.text = "a", .id = TokenId{2}},
                                     {.text = "b", .id = TokenId{3}}});
  EXPECT_EQ(shown("a bc", tokens.cut("a bc", {})), "a bc");
  EXPECT_EQ(shown("a b.", tokens.cut("a b.", {})), "[1].");
}

TEST(SpecialTokens, ATokenInSpacesThatAnotherTookAlongIsFoundToo) {
  const SpecialTokens tokens = made(
      {{.text = "<r>", .id = TokenId{1}, .strip_right = true}, {.text = "\n", .id = TokenId{2}}});
  EXPECT_EQ(shown("<r> \n x", tokens.cut("<r> \n x", {})), "[1][2] x");
}

TEST(SpecialTokens, AreFoundByTheirWholeText) {
  const SpecialTokens tokens = made({{.text = "<a>", .id = TokenId{5}, .guarded = true}});
  EXPECT_EQ(tokens.find("<a>"), TokenId{5});
  EXPECT_EQ(tokens.find("<a"), std::nullopt);
  EXPECT_EQ(tokens.find(""), std::nullopt);
  EXPECT_EQ(tokens.guarded_texts(), std::vector<std::string>{"<a>"});
}

TEST(SpecialTokens, RefuseEmptyLongAndBrokenTexts) {
  EXPECT_EQ(SpecialTokens::create({{.text = "", .id = TokenId{1}}}).error().code(),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(SpecialTokens::create({{.text = "\xff", .id = TokenId{1}}}).error().code(),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(SpecialTokens::create(
                {{.text = std::string(kSpecialTokenBytesMax + 1, 'a'), .id = TokenId{1}}})
                .error()
                .code(),
            ErrorCode::TooLarge);
}

}  // namespace
}  // namespace quire::inference
