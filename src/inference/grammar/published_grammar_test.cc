// Grammars over the vocabularies of published models, of 32,000 to 262,000 tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/sanitizer.h"
#include "inference/grammar/encode_inside.h"
#include "inference/grammar/make_grammar_compiler.h"
#include "inference/tokenizer/tokenizer_parts.h"
#include "inference/weights/byte_source.h"
#include "inference/weights/gguf_file.h"
#include "support/golden_files.h"

#ifndef QUIRE_ENGINES
TEST(PublishedGrammar, NeedsEngines) {
  GTEST_SKIP() << "this build has no engines/ (QUIRE_WASM is OFF)";
}
#else

namespace quire::inference {
namespace {

struct Model {
  std::unique_ptr<TextCodec> codec;
  std::vector<TokenId> stop_ids;
};

Model open_model(const std::filesystem::path& path) {
  Result<File> opened = File::open(path.string());
  EXPECT_TRUE(opened.ok()) << opened.error().message();
  if (!opened.ok()) return {};
  Result<GgufFile> file = GgufFile::parse(std::make_shared<FileSource>(std::move(opened).take()));
  EXPECT_TRUE(file.ok()) << file.error().message();
  if (!file.ok()) return {};
  Result<TokenizerParts> parts = tokenizer_parts_from_gguf(*file.value().metadata);
  EXPECT_TRUE(parts.ok()) << parts.error().message();
  if (!parts.ok()) return {};
  const auto stop = TokenId{static_cast<std::uint32_t>(parts.value().eos_id)};
  auto codec = make_text_codec(std::move(parts).take());
  EXPECT_TRUE(codec.ok()) << codec.error().message();
  if (!codec.ok()) return {};
  return {.codec = std::move(codec).take(), .stop_ids = {stop}};
}

std::int64_t microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                               begin)
      .count();
}

class MaskWalk {
 public:
  MaskWalk(const Model& model, std::unique_ptr<Matcher> matcher, std::uint32_t seed)
      : model_(model),
        matcher_(std::move(matcher)),
        random_(seed),
        words_(model.codec->vocabulary_size() / 32 + 1) {}

  // Random tokens, each checked before it is taken; the ids without the stop token.
  std::vector<TokenId> run(std::size_t step_count) {
    std::vector<TokenId> taken;
    while (taken.size() < step_count && !matcher_->is_complete()) {
      const auto begin = std::chrono::steady_clock::now();
      const auto filled = matcher_->fill_mask(words_);
      mask_us.push_back(microseconds_since(begin));
      EXPECT_TRUE(filled.ok()) << filled.error().message();
      if (!filled.ok()) break;
      const std::vector<TokenId> allowed = check_mask();
      if (allowed.empty()) break;
      const TokenId token = allowed[random_() % allowed.size()];
      EXPECT_TRUE(matcher_->accept({&token, 1}).ok());
      taken.push_back(token);
      if (token == model_.stop_ids[0]) break;
    }
    return taken;
  }

  std::vector<std::int64_t> mask_us;

 private:
  bool is_set(std::uint32_t id) const { return (words_[id / 32] >> (id % 32) & 1) != 0; }

  bool has_digit(TokenId id) const {
    const std::string_view bytes = model_.codec->token(id).value().bytes;
    return bytes.find_first_of("0123456789") != std::string_view::npos;
  }

  std::vector<TokenId> check_mask() {
    const std::uint32_t count = model_.codec->vocabulary_size();
    std::vector<TokenId> allowed;
    for (std::uint32_t id = 0; id < words_.size() * 32; ++id) {
      if (!is_set(id)) continue;
      EXPECT_LT(id, count);
      const TokenKind kind = model_.codec->token(TokenId{id}).value().kind;
      const bool is_stop = TokenId{id} == model_.stop_ids[0];
      EXPECT_TRUE(is_stop || (kind != TokenKind::Special && kind != TokenKind::Unused)) << id;
      allowed.push_back(TokenId{id});
    }
    for (int sample = 0; sample < 50; ++sample) {
      const bool from_mask = sample % 2 == 0 && !allowed.empty();
      const TokenId token = from_mask ? allowed[random_() % allowed.size()]
                                      : TokenId{static_cast<std::uint32_t>(random_() % count)};
      const bool is_accepted = matcher_->accept({&token, 1}).ok();
      const bool is_drawn = is_set(static_cast<std::uint32_t>(token));
      EXPECT_TRUE(is_accepted || !is_drawn) << static_cast<std::uint32_t>(token);
      EXPECT_TRUE(is_drawn || !is_accepted || has_digit(token))
          << "a number that is drawn ends; nothing else that fits is left out: "
          << static_cast<std::uint32_t>(token);
      if (is_accepted) {
        EXPECT_TRUE(matcher_->roll_back(1).ok());
      }
    }
    const std::vector<TokenId> forced = matcher_->forced(8);
    if (!forced.empty()) {
      EXPECT_TRUE(is_set(static_cast<std::uint32_t>(forced[0])));
      EXPECT_TRUE(matcher_->accept(forced).ok());
      EXPECT_TRUE(matcher_->roll_back(static_cast<std::uint32_t>(forced.size())).ok());
    }
    return allowed;
  }

  const Model& model_;
  std::unique_ptr<Matcher> matcher_;
  std::mt19937 random_;
  std::vector<std::uint32_t> words_;
};

constexpr std::string_view kSchema = R"({
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 12},
    "born": {"type": "string", "format": "date"},
    "size": {"type": "number", "minimum": -5, "maximum": 99.5},
    "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 3},
    "next": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}
  },
  "required": ["name", "born", "size", "tags", "next"],
  "additionalProperties": false
})";

class PublishedGrammar : public testing::TestWithParam<const char*> {};

TEST_P(PublishedGrammar, MasksAgreeWithWhatIsAcceptedAndTextsEndAsInstances) {
  const std::filesystem::path path = test::fetched_golden(std::string(GetParam()) + ".gguf");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is missing: tools/fetch_tokenizer_goldens.sh fetches it";
  }
  const Model model = open_model(path);
  ASSERT_NE(model.codec, nullptr);
  const auto compiler = make_grammar_compiler(*model.codec, model.stop_ids);
  const auto begin = std::chrono::steady_clock::now();
  const auto grammar = compiler->compile(GrammarKind::JsonSchema, kSchema);
  const std::int64_t first_us = microseconds_since(begin);
  ASSERT_TRUE(grammar.ok()) << grammar.error().message();
  std::vector<std::int64_t> mask_us;
  for (std::uint32_t seed = 0; seed < (kUnderSanitizer ? 1u : 4u); ++seed) {
    MaskWalk walk(model, grammar.value()->matcher().take(), seed);
    const std::vector<TokenId> tokens = walk.run(400);
    const std::string text = model.codec->decode(tokens, false).value();
    const auto value = nlohmann::json::parse(text, nullptr, false);
    ASSERT_TRUE(value.is_object()) << "seed " << seed << ": " << text;
    EXPECT_EQ(value.size(), 5u) << text;
    EXPECT_LE(value["size"].get<double>(), 99.5) << text;
    mask_us.insert(mask_us.end(), walk.mask_us.begin(), walk.mask_us.end());
  }
  std::sort(mask_us.begin(), mask_us.end());
  std::cout << GetParam() << ": " << model.codec->vocabulary_size() << " tokens; first compilation "
            << first_us / 1000 << " ms; " << mask_us.size() << " masks: median "
            << mask_us[mask_us.size() / 2] << " us, slowest " << mask_us.back() << " us; grammar "
            << grammar.value()->memory_bytes() << " bytes\n";
}

// Forced tokens go on as far as the tokenizer could not join them with what comes after.
TEST_P(PublishedGrammar, ForcedTokensAreThoseThatTheTokenizerMakesOfTheText) {
  const std::filesystem::path path = test::fetched_golden(std::string(GetParam()) + ".gguf");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is missing: tools/fetch_tokenizer_goldens.sh fetches it";
  }
  const Model model = open_model(path);
  ASSERT_NE(model.codec, nullptr);
  const auto compiler = make_grammar_compiler(*model.codec, model.stop_ids);
  const std::string text =
      R"({"first_name":"Ada","last name":"Lovelace, née Byron","born":1815,"x":)";
  const auto grammar =
      compiler->compile(GrammarKind::Lark, "start: " + nlohmann::json(text).dump() + " /[0-9]+/");
  ASSERT_TRUE(grammar.ok()) << grammar.error().message();
  const auto matcher = grammar.value()->matcher().take();
  const std::vector<TokenId> forced = matcher->forced(1'000);
  const std::vector<TokenId> wanted = encode_inside(*model.codec, text);
  ASSERT_GT(forced.size() + 4, wanted.size());
  ASSERT_LE(forced.size(), wanted.size());
  EXPECT_TRUE(std::equal(forced.begin(), forced.end(), wanted.begin()));
  EXPECT_TRUE(matcher->accept(forced).ok());
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t at = 0; at < count; ++at) all += text;
  return all;
}

std::int64_t thread_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * std::int64_t{1'000'000} + now.tv_nsec / 1000;
}

// 20 ms, and what passes until the library looks whether it is to stop.
TEST_P(PublishedGrammar, EachMaskOfAHostileGrammarEndsInTime) {
  const std::filesystem::path path = test::fetched_golden(std::string(GetParam()) + ".gguf");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is missing: tools/fetch_tokenizer_goldens.sh fetches it";
  }
  if (kUnderSanitizer) GTEST_SKIP() << "a sanitizer takes longer";
  const Model model = open_model(path);
  ASSERT_NE(model.codec, nullptr);
  const auto compiler = make_grammar_compiler(*model.codec, model.stop_ids);
  const std::vector<std::pair<GrammarKind, std::string> > sources = {
      {GrammarKind::Regex, "(.*a.{200})|(.*b.{200})|(.*c.{200})"},
      {GrammarKind::Regex, "(a|b|ab|ba|[a-z]{3}|[^a]{5}){0,800}(x|y.*)"},
      {GrammarKind::Regex, "(\\p{L}{1,50} ?){0,50}(.*[aeiou]){20}"},
      {GrammarKind::Lark, "start: start start | start start start | /[a-z]/ | \" \""},
      {GrammarKind::Lark, "start: " + repeated("(\"a\"|\"b\"|\" \"|/[a-z]/)? ", 300)},
      {GrammarKind::Lark, "start: x x x x x x x\nx: /./? x? /./? x? | /[a-c]/"},
      {GrammarKind::JsonSchema, "{}"},
      {GrammarKind::JsonSchema, R"({"type": "string", "minLength": 5000, "maxLength": 90000})"},
      {GrammarKind::JsonSchema, R"({"type": "string", "pattern": "(a{1,300}b?){1,300}.*c"})"}};
  std::int64_t slowest_us = 0;
  for (const auto& [kind, source] : sources) {
    const auto grammar = compiler->compile(kind, source);
    if (!grammar.ok()) {
      EXPECT_NE(grammar.error().code(), ErrorCode::Internal) << grammar.error().message();
      continue;
    }
    const auto matcher = grammar.value()->matcher().take();
    std::vector<std::uint32_t> words(model.codec->vocabulary_size() / 32 + 1);
    std::mt19937 random(1);
    for (int step = 0; step < 100 && !matcher->is_complete(); ++step) {
      const std::int64_t begin_us = thread_microseconds();
      const auto filled = matcher->fill_mask(words);
      const std::int64_t took_us = thread_microseconds() - begin_us;
      slowest_us = std::max(slowest_us, took_us);
      EXPECT_LT(took_us, 40'000) << source.substr(0, 60) << ", step " << step;
      if (!filled.ok()) {
        EXPECT_EQ(filled.error().code(), ErrorCode::Timeout) << filled.error().message();
        break;
      }
      std::vector<TokenId> allowed;
      for (std::uint32_t id = 0; id < model.codec->vocabulary_size(); ++id) {
        if (words[id / 32] >> (id % 32) & 1) allowed.push_back(TokenId{id});
      }
      if (allowed.empty()) break;
      const TokenId token = allowed[random() % allowed.size()];
      if (!matcher->accept({&token, 1}).ok()) break;
    }
  }
  std::cout << GetParam() << ": slowest mask of a hostile grammar " << slowest_us << " us\n";
}

INSTANTIATE_TEST_SUITE_P(Names, PublishedGrammar,
                         testing::Values("gpt-2", "llama-spm", "qwen2", "gemma-4"),
                         [](const auto& each) {
                           std::string name = each.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace quire::inference

#endif
