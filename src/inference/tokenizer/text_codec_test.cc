// Byte-level BPE and tokenizer.json: what is refused, what is bounded, and what comes back.
#include <gtest/gtest.h>
#include <quire_paths.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/file.h"
#include "base/sanitizer.h"
#include "inference/tokenizer/engine_encoder.h"
#include "inference/tokenizer/pre_tokenizers.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "inference/tokenizer/utf8.h"
#include "inference/tokenizer/vocabulary.h"

#ifndef QUIRE_ENGINES
TEST(TextCodec, NeedsEngines) {
  GTEST_SKIP() << "this build has no engines/ (QUIRE_WASM is OFF)";
}
#else

namespace quire::inference {
namespace {

// The text of the token for one byte.
std::string byte_text(int byte) {
  for (char32_t code = 0; code < 0x200; ++code) {
    if (byte_of_character(code) != byte) continue;
    std::string text;
    append_utf8(text, code);
    return text;
  }
  return {};
}

// All 256 bytes, a few merges and two control tokens.
TokenizerParts byte_parts() {
  TokenizerParts parts;
  parts.model = "gpt2";
  parts.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) parts.tokens.push_back(byte_text(byte));
  for (const char* text : {"he", "ll", "hell", "hello", "\u0120w"}) parts.tokens.emplace_back(text);
  parts.token_types.assign(parts.tokens.size(), static_cast<std::int32_t>(TokenType::Normal));
  for (const char* text : {"<|start|>", "<|end|>"}) {
    parts.tokens.emplace_back(text);
    parts.token_types.push_back(static_cast<std::int32_t>(TokenType::Control));
  }
  parts.merges = {"h e", "l l", "he ll", "hell o", "\u0120 w"};
  parts.bos_id = static_cast<std::int32_t>(parts.tokens.size()) - 2;
  parts.eos_id = parts.bos_id + 1;
  return parts;
}

std::string json_of(const TokenizerParts& parts) {
  nlohmann::json vocabulary = nlohmann::json::object();
  nlohmann::json added = nlohmann::json::array();
  for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
    if (parts.token_types[id] == static_cast<std::int32_t>(TokenType::Control)) {
      added.push_back({{"id", id},
                       {"content", parts.tokens[id]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
    } else {
      vocabulary[parts.tokens[id]] = id;
    }
  }
  const nlohmann::json byte_level = {{"type", "ByteLevel"},
                                     {"add_prefix_space", false},
                                     {"trim_offsets", true},
                                     {"use_regex", true}};
  return nlohmann::json{{"version", "1.0"},
                        {"truncation", nullptr},
                        {"padding", nullptr},
                        {"added_tokens", added},
                        {"normalizer", nullptr},
                        {"pre_tokenizer", byte_level},
                        {"post_processor", nullptr},
                        {"decoder", byte_level},
                        {"model",
                         {{"type", "BPE"},
                          {"dropout", nullptr},
                          {"unk_token", nullptr},
                          {"continuing_subword_prefix", nullptr},
                          {"end_of_word_suffix", nullptr},
                          {"fuse_unk", false},
                          {"byte_fallback", false},
                          {"vocab", vocabulary},
                          {"merges", parts.merges}}}}
      .dump();
}

std::unique_ptr<TextCodec> codec_of(Result<std::unique_ptr<TextCodec> > made) {
  EXPECT_TRUE(made.ok()) << made.error().message();
  return made.ok() ? std::move(made).take() : nullptr;
}

std::string message_of(TokenizerParts parts) {
  const auto made = make_text_codec(std::move(parts));
  return made.ok() ? "made" : std::string(made.error().message());
}

std::string random_text(std::mt19937& random, std::size_t characters) {
  static constexpr char32_t kSample[] = {
      ' ', ' ', '\n', '\t', 'a',   'h',    'e',    'l',     'o',    'w',  '1', '2',  '.', '<',
      '|', '>', 0xa0, 0xe9, 0x301, 0x4e2d, 0x3000, 0x1f600, 0x2019, '\'', 's', '\r', 0,   0x7f};
  std::string text;
  for (std::size_t index = 0; index < characters; ++index)
    append_utf8(text, kSample[random() % std::size(kSample)]);
  return text;
}

TEST(TextCodec, MergesByRankAndPutsTheBeginTokenFirstOnlyWhenAsked) {
  const auto codec = codec_of(make_text_codec(byte_parts()));
  EXPECT_EQ(codec->encode("hello w", {}).value(),
            (std::vector<TokenId>{TokenId{259}, TokenId{260}}));
  EXPECT_EQ(codec->encode("hello", {.parse_special = true, .add_bos = true}).value(),
            (std::vector<TokenId>{TokenId{261}, TokenId{259}}));
  EXPECT_EQ(codec->encode("", {}).value(), std::vector<TokenId>{});
  EXPECT_EQ(codec->special("<|end|>").value(), TokenId{262});
  EXPECT_EQ(codec->special("<|nope|>").error().message(), "no special token \"<|nope|>\"");
}

TEST(TextCodec, RandomTextsComeBackByteForByteFromPartsAndFromJson) {
  const TokenizerParts parts = byte_parts();
  const auto from_parts = codec_of(make_text_codec(parts));
  const auto from_json = codec_of(make_text_codec_from_json(json_of(parts), ""));
  ASSERT_NE(from_json, nullptr);
  EXPECT_EQ(from_json->vocabulary_size(), from_parts->vocabulary_size());
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::string text =
        random_text(random, random() % 80) + (seed % 3 == 0 ? "<|end|> x" : "");
    const auto ids = from_parts->encode(text, {});
    ASSERT_TRUE(ids.ok()) << ids.error().message();
    EXPECT_EQ(from_parts->decode(ids.value(), true).value(), text);
    EXPECT_EQ(from_json->encode(text, {}).value(), ids.value());
    EXPECT_EQ(from_json->decode(ids.value(), true).value(), text);
  }
}

TEST(TextCodec, DecodesTokensOfHalfACharacter) {
  const auto codec = codec_of(make_text_codec(byte_parts()));
  EXPECT_EQ(codec->decode({TokenId{0xe4}, TokenId{0xb8}}, true).value(), "\xe4\xb8");
  EXPECT_EQ(codec->decode({TokenId{261}, TokenId{'a'}, TokenId{262}}, false).value(), "a");
  EXPECT_EQ(codec->decode({TokenId{263}}, true).error().message(),
            "token 263 of a vocabulary of 263");
}

TEST(TextCodec, TakesAMegabyteOfAnything) {
  const TokenizerParts parts = byte_parts();
  const std::string json = json_of(parts);
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  std::mt19937 random(7);
  std::string mixed;
  while (mixed.size() < kBytes) mixed += random_text(random, 100);
  for (const auto& codec :
       {codec_of(make_text_codec(parts)), codec_of(make_text_codec_from_json(json, ""))}) {
    for (const std::string& text : {std::string(kBytes, 'a'), std::string(kBytes, ' '),
                                    std::string(kBytes, '\n') + "x", mixed}) {
      const auto ids = codec->encode(text, {});
      ASSERT_TRUE(ids.ok()) << ids.error().message();
      EXPECT_TRUE(codec->decode(ids.value(), true).value() == text);
    }
  }
}

TEST(TextCodec, RefusesTextThatIsNotUtf8AndNamesTheByte) {
  const auto codec = codec_of(make_text_codec(byte_parts()));
  for (const auto& [text, byte] : std::vector<std::pair<std::string, int> >{{"ab\xff", 2},
                                                                            {"\xc0\x80", 0},
                                                                            {"x\xed\xa0\x80", 1},
                                                                            {"\xf4\x90\x80\x80", 0},
                                                                            {"\xe4\xb8", 0}}) {
    const auto ids = codec->encode(text, {});
    ASSERT_FALSE(ids.ok());
    EXPECT_EQ(ids.error().message(), "the text is not UTF-8 at byte " + std::to_string(byte) +
                                         " of " + std::to_string(text.size()));
  }
  EXPECT_EQ(codec->encode(std::string(kTextBytesMax + 1, 'a'), {}).error().code(),
            ErrorCode::TooLarge);
}

TEST(TextCodec, NamesWhatIsWrongWithParts) {
  const auto changed = [](auto change) {
    TokenizerParts parts = byte_parts();
    change(parts);
    return message_of(std::move(parts));
  };
  EXPECT_EQ(changed([](auto& parts) { parts.model = "bert"; }),
            "tokenizer: unknown model \"bert\" (supported: gpt2, llama, gemma4)");
  EXPECT_NE(
      changed([](auto& parts) { parts.pre = "teken"; }).find("unknown pre-tokenizer \"teken\""),
      std::string::npos);
  EXPECT_EQ(changed([](auto& parts) { parts.pre = ""; }),
            "tokenizer: the file names no pre-tokenizer");
  EXPECT_EQ(changed([](auto& parts) { parts.merges.push_back("q q"); }),
            "merge 5 (\"q q\") names \"qq\", which is no token");
  EXPECT_EQ(changed([](auto& parts) { parts.merges.push_back("qq"); }),
            "merge 5 (\"qq\") has no space between its two sides");
  EXPECT_EQ(changed([](auto& parts) { parts.tokens[9] = "hello"; }),
            "tokenizer: tokens 9 and 259 are both \"hello\"");
  EXPECT_EQ(changed([](auto& parts) { parts.tokens[9] = "\xff"; }),
            "tokenizer: token 9 is not UTF-8 at byte 0 of 1");
  EXPECT_EQ(changed([](auto& parts) { parts.bos_id = 263; }),
            "tokenizer: bos_token_id 263 of a vocabulary of 263");
  EXPECT_EQ(changed([](auto& parts) { parts.token_types.pop_back(); }),
            "tokenizer: 262 token types for 263 tokens");
  EXPECT_EQ(changed([](auto& parts) {
              parts.tokens.clear();
              parts.token_types.clear();
            }),
            "tokenizer: the vocabulary is empty");
  EXPECT_EQ(changed([](auto& parts) { parts.tokens.back() = std::string(2000, 'x'); }),
            "special token 262 has a text of 2000 bytes (1024 at most)");
}

TEST(TextCodec, EveryPreTokenizerKeepsEveryByte) {
  for (const std::string_view name : pre_tokenizer_names()) {
    if (find_pre_tokenizer(name).value().is_raw) continue;  // Another vocabulary.
    TokenizerParts parts = byte_parts();
    parts.pre = name;
    const auto codec = codec_of(make_text_codec(std::move(parts)));
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
      std::mt19937 random(seed);
      const std::string text = random_text(random, random() % 60);
      EXPECT_EQ(codec->decode(codec->encode(text, {}).value(), true).value(), text)
          << name << " seed " << seed;
    }
  }
}

TEST(TextCodec, RefusesBrokenTokenizerJson) {
  const std::string good = json_of(byte_parts());
  const auto message = [](const std::string& json) {
    const auto made = make_text_codec_from_json(json, "");
    return made.ok() ? std::string("made") : std::string(made.error().message());
  };
  EXPECT_EQ(message(good), "made");
  EXPECT_NE(message("").find("tokenizer.json"), std::string::npos);
  EXPECT_NE(message("[]").find("tokenizer.json"), std::string::npos);
  EXPECT_NE(message(std::string(100000, '[')).find("recursion"), std::string::npos);
  const auto changed = [&](auto change) {
    nlohmann::json json = nlohmann::json::parse(good);
    change(json);
    return message(json.dump());
  };
  EXPECT_NE(changed([](auto& json) { json["model"]["merges"].push_back("q q"); }).find("qq"),
            std::string::npos);
  EXPECT_NE(
      changed([](auto& json) { json["model"]["vocab"]["x9"] = 4000000000u; }).find("4000000000"),
      std::string::npos);
  EXPECT_NE(changed([](auto& json) {
              json["model"]["end_of_word_suffix"] = "</w>";
            }).find("end_of_word_suffix"),
            std::string::npos);
  EXPECT_NE(changed([](auto& json) {
              json["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
            }).find("decoder \"WordPiece\" is not supported"),
            std::string::npos);
  for (std::size_t length = 0; length < good.size(); length += 97) {
    EXPECT_FALSE(make_text_codec_from_json(good.substr(0, length), "").ok()) << length;
  }
  EXPECT_FALSE(make_text_codec_from_json(good, "{").ok());
  EXPECT_FALSE(make_text_codec_from_json(good, "[]").ok());
}

// The tokenizer.json that begins a seed of the fuzzer, up to its first zero byte.
std::string seed_json(const std::string& name) {
  const auto text =
      read_file(QUIRE_SOURCE_DIR "/tests/fuzz/tokenizer_json_fuzz/" + name, std::uint64_t{1} << 20);
  EXPECT_TRUE(text.ok()) << text.error().message();
  return text.ok() ? text.value().substr(0, text.value().find('\0')) : std::string();
}

TEST(TextCodec, SentencePieceStyleJsonEncodesPiecesInTheirPlaces) {
  struct Case {
    const char* file;
    const char* text;
    std::vector<std::uint32_t> ids;
    const char* decoded;
  };
  // 3 + byte is that byte's token; 259 is a space, 263 a space and "he".
  for (const Case& each : std::vector<Case>{
           {"sentence_piece",
            "<s>he \u00e9 l",
            {1, 262, 259, 3 + 0xc3, 3 + 0xa9, 259, 264},
            "<s>he \u00e9 l"},  // Its "<s>" is normalized: the space before the text is part of it.
           {"metaspace", "he <s> he", {263, 259, 1, 263}, " he <s> he"},
           {"metaspace", "<s>he", {1, 262}, "<s>he"},  // Only a text's own start gets a space.
           {"unigram", "he hex", {1, 4, 1, 4, 0}, " he he<unk>"},
           {"sequence", "he 1", {5, 4, 9}, "he 1"}}) {
    const auto codec = codec_of(make_text_codec_from_json(seed_json(each.file), ""));
    ASSERT_NE(codec, nullptr);
    std::vector<TokenId> wanted;
    for (const std::uint32_t id : each.ids) wanted.push_back(TokenId(id));
    const auto ids = codec->encode(each.text, {});
    ASSERT_TRUE(ids.ok()) << ids.error().message();
    EXPECT_EQ(ids.value(), wanted) << each.file;
    EXPECT_EQ(codec->decode(wanted, true).value(), each.decoded) << each.file;
  }
}

TEST(TextCodec, TellsTheKindAndTheBytesOfEachTokenOfBothForms) {
  const TokenizerParts parts = byte_parts();
  nlohmann::json json = nlohmann::json::parse(json_of(parts));
  json["added_tokens"].push_back({{"id", 263},
                                  {"content", "<tool>"},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", false}});
  TokenizerParts with_tool = parts;
  with_tool.tokens.emplace_back("<tool>");
  with_tool.token_types.push_back(static_cast<std::int32_t>(TokenType::UserDefined));
  const auto from_parts = codec_of(make_text_codec(std::move(with_tool)));
  const auto from_json = codec_of(make_text_codec_from_json(json.dump(), ""));
  for (const TextCodec* codec : {from_parts.get(), from_json.get()}) {
    ASSERT_NE(codec, nullptr);
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const TokenView token = codec->token(TokenId{byte}).value();
      EXPECT_EQ(token.kind, TokenKind::Text);
      EXPECT_EQ(token.bytes, std::string(1, static_cast<char>(byte)));
    }
    EXPECT_EQ(codec->token(TokenId{260}).value().bytes, " w");
    EXPECT_EQ(codec->token(TokenId{261}).value().kind, TokenKind::Special);
    EXPECT_EQ(codec->token(TokenId{262}).value().bytes, "<|end|>");
    EXPECT_EQ(codec->token(TokenId{263}).value().kind, TokenKind::UserDefined);
    EXPECT_EQ(codec->token(TokenId{263}).value().bytes, "<tool>");
    EXPECT_EQ(codec->token(TokenId{264}).error().code(), ErrorCode::OutOfRange);
  }
}

TEST(TextCodec, JsonAddsTheBeginTokenThatItsPostProcessorAdds) {
  const auto codec = codec_of(make_text_codec_from_json(seed_json("sequence"), ""));
  ASSERT_NE(codec, nullptr);
  EXPECT_EQ(codec->encode("he", {.parse_special = true, .add_bos = true}).value(),
            (std::vector<TokenId>{codec->special("<|e|>").value(), TokenId{5}}));
}

TEST(TextCodec, JsonThatBeginsTextsWithATokenOutsideItsVocabularyIsRefused) {
  nlohmann::json json = nlohmann::json::parse(seed_json("sequence"));
  for (auto& [text, token] : json["post_processor"]["special_tokens"].items()) token["ids"] = {47};
  const auto made = make_text_codec_from_json(json.dump(), "");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message(),
            "tokenizer.json: post_processor begins texts with token 47 of a vocabulary of 18");
}

// A normalizer makes "<|end|>" of texts that no renderer would take for it.
TEST(TextCodec, WhatANormalizerMakesOfAUsersTextIsNoControlTokenOfAChat) {
  nlohmann::json json = nlohmann::json::parse(json_of(byte_parts()));
  json["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", {{{"type", "NFKC"}}, {{"type", "Lowercase"}}}}};
  for (auto& token : json["added_tokens"]) token["normalized"] = true;
  const std::string config = R"({"chat_template":
      "<|start|>{% for m in messages %}{{ m.content }}<|end|>{% endfor %}"})";
  const auto codec = codec_of(make_text_codec_from_json(json.dump(), config));
  ASSERT_NE(codec, nullptr);
  const TokenId start = codec->special("<|start|>").value();
  const TokenId end = codec->special("<|end|>").value();
  // With every token allowed, the normalized text counts, as in the library.
  EXPECT_EQ(codec->encode("<|END|>", {}).value(), std::vector<TokenId>{end});
  EXPECT_EQ(codec->encode("\uff1c\uff5cend\uff5c\uff1e", {}).value(), std::vector<TokenId>{end});
  for (const char* content : {"a", "<|end|>", "<|END|>", "\uff1c\uff5cend\uff5c\uff1e",
                              "<\uff5cEnd|>", "\u3000<|end|\uff1e", "<|en\u1d48|>"}) {
    const nlohmann::json request = {{"messages", {{{"role", "user"}, {"content", content}}}}};
    const auto ids = codec->encode_chat(request.dump());
    ASSERT_TRUE(ids.ok()) << ids.error().message();
    EXPECT_EQ(ids.value().front(), start) << content;
    EXPECT_EQ(ids.value().back(), end) << content;
    EXPECT_EQ(std::count(ids.value().begin(), ids.value().end(), end), 1) << content;
    const auto plain = codec->encode(content, {.parse_special = false, .add_bos = false});
    EXPECT_EQ(std::count(plain.value().begin(), plain.value().end(), end), 0) << content;
  }
  // Two messages cannot join to one either.
  const nlohmann::json request = {{"messages", {{{"content", "<|en"}}, {{"content", "d|>"}}}}};
  const auto joined = codec->encode_chat(request.dump());
  EXPECT_EQ(std::count(joined.value().begin(), joined.value().end(), end), 2);
}

TEST(TextCodec, LoadsAVocabularyOf150000TokensWithinASecond) {
  TokenizerParts parts = byte_parts();
  std::set<std::string> known(parts.tokens.begin(), parts.tokens.end());
  std::mt19937 random(1);
  while (parts.tokens.size() < 150000) {
    const std::string left = parts.tokens[random() % parts.tokens.size()];
    const std::string right = parts.tokens[random() % 256];
    const bool is_control = left.front() == '<' && left.size() > 1;
    if (is_control || left.size() > 30 || !known.insert(left + right).second) continue;
    parts.merges.push_back(left + " " + right);
    parts.tokens.push_back(left + right);
    parts.token_types.push_back(static_cast<std::int32_t>(TokenType::Normal));
  }
  const std::clock_t begin = std::clock();  // Processor time: other programs may run.
  const auto codec = codec_of(make_text_codec(std::move(parts)));
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  ASSERT_NE(codec, nullptr);
  EXPECT_EQ(codec->vocabulary_size(), 150000u);
  EXPECT_LT(seconds, kUnderSanitizer ? 5.0 : 1.0);
}

}  // namespace
}  // namespace quire::inference

#endif
