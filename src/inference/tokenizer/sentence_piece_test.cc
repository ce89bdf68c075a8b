#include "inference/tokenizer/sentence_piece.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

namespace quire::inference {
namespace {

struct Piece {
  std::string text;
  float score = 0.0f;
  TokenType type = TokenType::Normal;
};

TokenizerParts parts_of(const std::vector<Piece>& pieces) {
  TokenizerParts parts;
  parts.model = "llama";
  for (const Piece& piece : pieces) {
    parts.tokens.push_back(piece.text);
    parts.scores.push_back(piece.score);
    parts.token_types.push_back(static_cast<std::int32_t>(piece.type));
  }
  return parts;
}

std::vector<Piece> small_vocabulary() {
  return {{"<unk>", 0, TokenType::Unknown},
          {"<s>", 0, TokenType::Control},
          {"\u2581", -1},
          {"a", -2},
          {"b", -3},
          {"ab", -4},
          {"\u2581a", -5},
          {"ba", -3.5f},
          {"<", -9},
          {"s", -9},
          {">", -9},
          {"<s", -9},
          {"s>", -9},
          {"<0xC3>", 0, TokenType::Byte},
          {"<0xA4>", 0, TokenType::Byte}};
}

std::vector<std::uint32_t> ids_of(const TextCodec& codec, std::string_view text) {
  const auto ids = codec.encode(text, {.parse_special = false, .add_bos = false});
  EXPECT_TRUE(ids.ok()) << ids.error().message();
  std::vector<std::uint32_t> numbers;
  if (ids.ok()) {
    for (const TokenId id : ids.value()) numbers.push_back(static_cast<std::uint32_t>(id));
  }
  return numbers;
}

std::unique_ptr<TextCodec> codec_of(TokenizerParts parts) {
  auto made = make_text_codec(std::move(parts));
  EXPECT_TRUE(made.ok()) << made.error().message();
  return std::move(made).take();
}

using Ids = std::vector<std::uint32_t>;

TEST(SentencePiece, JoinsTheHighestScoreFirstAndTheLeftmostOfEquals) {
  const auto codec = codec_of(parts_of(small_vocabulary()));
  EXPECT_EQ(ids_of(*codec, ""), Ids{});
  EXPECT_EQ(ids_of(*codec, "a"), (Ids{6}));       // The prefix space joins it.
  EXPECT_EQ(ids_of(*codec, "aba"), (Ids{6, 7}));  // "ba" (-3.5) before "ab" (-4).
  EXPECT_EQ(ids_of(*codec, "babab"), (Ids{2, 7, 7, 4}));
}

TEST(SentencePiece, SpellsAnUnknownCharacterByItsBytesElseAsUnknown) {
  TokenizerParts parts = parts_of(small_vocabulary());
  parts.add_space_prefix = false;
  EXPECT_EQ(make_text_codec(parts).value()->encode("z", {}).error().code(),
            ErrorCode::InvalidArgument);
  parts.unknown_id = 0;
  const auto codec = codec_of(std::move(parts));
  EXPECT_EQ(ids_of(*codec, "\u00e4"), (Ids{13, 14}));
  EXPECT_EQ(codec->decode({TokenId{13}, TokenId{14}}, true).value(), "\u00e4");
  EXPECT_EQ(ids_of(*codec, "az"), (Ids{3, 0}));
  EXPECT_EQ(ids_of(*codec, "\u00e5"), (Ids{0}));  // Only one of its two bytes has a token.
}

TEST(SentencePiece, TellsTheKindAndTheBytesOfEachToken) {
  std::vector<Piece> pieces = small_vocabulary();
  pieces.push_back({"<tool>", 0, TokenType::UserDefined});
  pieces.push_back({"<|turn|>", 0, TokenType::UserDefined});  // As some converters write it.
  pieces.push_back({"<unused>", 0, TokenType::Unused});
  pieces.push_back({"", 0, TokenType::Normal});
  const auto codec = codec_of(parts_of(pieces));
  const std::vector<std::tuple<std::uint32_t, TokenKind, std::string_view>> wanted = {
      {0, TokenKind::Special, "<unk>"},
      {1, TokenKind::Special, "<s>"},
      {2, TokenKind::Text, " "},
      {6, TokenKind::Text, " a"},
      {13, TokenKind::Byte, "\xc3"},
      {15, TokenKind::UserDefined, "<tool>"},
      {16, TokenKind::Special, "<|turn|>"},
      {17, TokenKind::Unused, "<unused>"},
      {18, TokenKind::Unused, ""}};
  for (const auto& [id, kind, bytes] : wanted) {
    const auto token = codec->token(TokenId{id});
    ASSERT_TRUE(token.ok()) << token.error().message();
    EXPECT_EQ(token.value().kind, kind) << id;
    EXPECT_EQ(token.value().bytes, bytes) << id;
  }
  EXPECT_EQ(codec->token(TokenId{19}).error().code(), ErrorCode::OutOfRange);
}

TEST(SentencePiece, NeverJoinsTextToAControlToken) {
  const auto codec = codec_of(parts_of(small_vocabulary()));
  EXPECT_EQ(ids_of(*codec, "<s>"), (Ids{2, 11, 10}));
  EXPECT_EQ(codec->encode("<s>a", {}).value(), (std::vector<TokenId>{TokenId{1}, TokenId{6}}));
}

TEST(SentencePiece, RefusesScoresThatCannotBeOrdered) {
  TokenizerParts parts = parts_of(small_vocabulary());
  parts.scores[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(make_text_codec(parts).error().message(),
            "tokenizer: the score of token 5 is not a number");
  parts.scores.pop_back();
  EXPECT_EQ(make_text_codec(parts).error().code(), ErrorCode::InvalidArgument);
}

// The definition, slowly: the best pair of all, again and again.
Ids by_definition(const std::vector<Piece>& pieces, const std::string& text) {
  std::map<std::string, std::uint32_t> tokens;
  for (std::uint32_t id = 0; id < pieces.size(); ++id) tokens[pieces[id].text] = id;
  std::vector<std::string> symbols;
  for (const char letter : text) symbols.emplace_back(1, letter);
  for (;;) {
    std::size_t best = symbols.size();
    for (std::size_t index = 0; index + 1 < symbols.size(); ++index) {
      const auto pair = tokens.find(symbols[index] + symbols[index + 1]);
      if (pair == tokens.end()) continue;
      if (best == symbols.size() ||
          pieces[pair->second].score > pieces[tokens[symbols[best] + symbols[best + 1]]].score) {
        best = index;
      }
    }
    if (best == symbols.size()) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  Ids ids;
  for (const std::string& symbol : symbols) ids.push_back(tokens.at(symbol));
  return ids;
}

TEST(SentencePiece, EqualsTheDefinitionOnRandomVocabulariesAndTexts) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<Piece> pieces{{"a", 0}, {"b", 0}, {"c", 0}};
    std::map<std::string, bool> known{{"a", true}, {"b", true}, {"c", true}};
    while (pieces.size() < 30) {
      const std::string joined =
          pieces[random() % pieces.size()].text + pieces[random() % pieces.size()].text;
      if (joined.size() > 9 || !known.emplace(joined, true).second) continue;
      pieces.push_back({joined, -static_cast<float>(random() % 12)});
    }
    TokenizerParts parts = parts_of(pieces);
    parts.add_space_prefix = false;
    const auto codec = codec_of(std::move(parts));
    for (int round = 0; round < 20; ++round) {
      std::string text;
      for (std::uint32_t count = random() % 60; count > 0; --count)
        text.push_back("abc"[random() % 3]);
      EXPECT_EQ(ids_of(*codec, text), by_definition(pieces, text)) << text;
    }
  }
}

TEST(SentencePiece, TakesAMegabyteInOnePiece) {
  const auto codec = codec_of(parts_of(small_vocabulary()));
  std::string text;
  while (text.size() < (std::size_t{1} << 20)) text += "ab a";
  EXPECT_GT(ids_of(*codec, text).size(), text.size() / 4);
}

}  // namespace
}  // namespace quire::inference
