#include "inference/tokenizer/special_tokens.h"

#include <gtest/gtest.h>

namespace quire::inference {
namespace {

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
  for (const auto& [text, wanted] :
       std::vector<std::pair<std::string, std::string>>{{"a \u3000<mask> b", "a[1] b"},
                                                        {"<end> <mask>", "[2][1]"},
                                                        {"a<end>\n\tb", "a[2]b"},
                                                        {"cat", "[3]"},
                                                        {"a cat.", "a [3]."},
                                                        {"cats", "cats"},
                                                        {"_cat", "_cat"}}) {
    EXPECT_EQ(shown(text, tokens.cut(text, {})), wanted);
  }
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
