// Grammars over tokenizers as models have them: what a mask holds, what is never in one, threads.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "inference/grammar/encode_inside.h"
#include "inference/grammar/grammar_test_support.h"
#include "inference/grammar/make_grammar_compiler.h"

namespace quire::inference {
namespace {

using test::kFirstByte, test::kStop, test::kWords, test::small_codec;

#ifndef QUIRE_ENGINES

TEST(Grammar, IsRefusedByABuildWithoutEngines) {
  const auto codec = small_codec();
  const auto compiler = make_grammar_compiler(*codec, {kStop});
  const auto made = compiler->compile(GrammarKind::Regex, "a");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::NotSupported);
}

#else

std::unique_ptr<Matcher> matcher_of(GrammarCompiler& compiler, GrammarKind kind,
                                    std::string_view source) {
  const auto grammar = compiler.compile(kind, source);
  EXPECT_TRUE(grammar.ok()) << grammar.error().message();
  if (!grammar.ok()) return nullptr;
  auto matcher = grammar.value()->matcher();
  EXPECT_TRUE(matcher.ok()) << matcher.error().message();
  return matcher.ok() ? std::move(matcher).take() : nullptr;
}

std::vector<std::uint32_t> allowed(Matcher& matcher, const TextCodec& codec) {
  std::vector<std::uint32_t> words(codec.vocabulary_size() / 32 + 3, ~0u);
  const auto filled = matcher.fill_mask(words);
  EXPECT_TRUE(filled.ok()) << filled.error().message();
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < words.size() * 32; ++id) {
    if (words[id / 32] >> (id % 32) & 1) ids.push_back(id);
  }
  return ids;
}

std::vector<TokenId> tokens(std::initializer_list<std::uint32_t> ids) {
  std::vector<TokenId> list;
  for (const std::uint32_t id : ids) list.push_back(TokenId{id});
  return list;
}

TEST(Grammar, MaskHoldsEveryTokenThatSpellsWhatMayFollowAndNoSpecialOne) {
  const auto codec = small_codec();
  const auto compiler = make_grammar_compiler(*codec, {kStop});
  const auto matcher = matcher_of(*compiler, GrammarKind::Regex, "ab|( a|12)+|<call>|never");
  ASSERT_NE(matcher, nullptr);
  // "a" as a word and as a byte, "12", " ", " a", "<call>", "n", "<" and their bytes; not "ab", which
  // is a control token here, nor "never", which no text becomes.
  const std::vector<std::uint32_t> wanted = {3,
                                             kFirstByte + ' ',
                                             kFirstByte + '1',
                                             kFirstByte + '<',
                                             kFirstByte + 'a',
                                             kFirstByte + 'n',
                                             kWords,
                                             kWords + 2,
                                             kWords + 3,
                                             kWords + 4,
                                             kWords + 6,
                                             kWords + 10};
  EXPECT_EQ(allowed(*matcher, *codec), wanted);
  EXPECT_FALSE(matcher->may_end());
  ASSERT_TRUE(matcher->accept(tokens({kWords, kWords + 1})).ok());
  EXPECT_TRUE(matcher->may_end() && matcher->is_complete());
  EXPECT_EQ(allowed(*matcher, *codec), std::vector<std::uint32_t>{1});
  ASSERT_TRUE(matcher->accept(tokens({1})).ok());
  EXPECT_EQ(allowed(*matcher, *codec), std::vector<std::uint32_t>{});
  EXPECT_EQ(matcher->accepted_count(), 3u);
}

TEST(Grammar, RefusalsOfAMatcherNameTheTokenAndLeaveItAsItWas) {
  const auto codec = small_codec();
  const auto compiler = make_grammar_compiler(*codec, {kStop});
  const auto matcher = matcher_of(*compiler, GrammarKind::Regex, "a+");
  ASSERT_NE(matcher, nullptr);
  const auto before = allowed(*matcher, *codec);
  for (const auto& [list, index] : std::map<std::vector<std::uint32_t>, std::string>{
           {{kWords, kWords + 1}, "1"}, {{kWords, 2}, "1"}, {{1}, "0"}, {{100'000}, "0"}}) {
    std::vector<TokenId> ids;
    for (const std::uint32_t id : list) ids.push_back(TokenId{id});
    const auto refused = matcher->accept(ids);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(refused.error().message(), "the grammar does not allow token " +
                                             std::to_string(list.back()) + " at index " + index);
    EXPECT_EQ(allowed(*matcher, *codec), before);
  }
  ASSERT_TRUE(matcher->accept(tokens({kWords, 1})).ok());
  EXPECT_EQ(matcher->roll_back(3).error().code(), ErrorCode::OutOfRange);
  ASSERT_TRUE(matcher->roll_back(2).ok());
  EXPECT_EQ(allowed(*matcher, *codec), before);
  std::vector<std::uint32_t> few(2);
  EXPECT_EQ(matcher->fill_mask(few).error().code(), ErrorCode::InvalidArgument);
}

TEST(Grammar, ForcedTokensAreSpelledAsInTheMiddleOfAText) {
  const auto codec = small_codec();
  EXPECT_EQ(encode_inside(*codec, "a12"), tokens({kWords, kWords + 4}));
  EXPECT_EQ(encode_inside(*codec, " a"), tokens({kWords + 3}));
  const auto compiler = make_grammar_compiler(*codec, {kStop});
  const auto matcher = matcher_of(*compiler, GrammarKind::Regex, "12 a12(b|\u00e9)");
  ASSERT_NE(matcher, nullptr);
  const std::vector<TokenId> forced = tokens({kWords + 4, kWords + 3, kWords + 4});
  EXPECT_EQ(matcher->forced(10), forced);
  EXPECT_EQ(matcher->forced(1), tokens({kWords + 4}));
  ASSERT_TRUE(matcher->accept(forced).ok());
  EXPECT_EQ(matcher->forced(10), tokens({}));
}

TEST(Grammar, ForkAndRollBackGiveTheMasksOfTheSameTokensOnRandomWalks) {
  const auto codec = small_codec();
  const auto compiler = make_grammar_compiler(*codec, {kStop});
  const auto grammar = compiler->compile(
      GrammarKind::JsonSchema,
      R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}})");
  ASSERT_TRUE(grammar.ok()) << grammar.error().message();
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    std::unique_ptr<Matcher> matcher = grammar.value()->matcher().take();
    std::vector<std::vector<std::uint32_t> > masks = {allowed(*matcher, *codec)};
    for (int step = 0; step < 60; ++step) {
      const std::uint32_t action = random() % 5;
      if (action == 0) {
        const auto count = static_cast<std::uint32_t>(random() % masks.size());
        ASSERT_TRUE(matcher->roll_back(count).ok());
        masks.resize(masks.size() - count);
      } else if (action == 1) {
        matcher = matcher->fork();
      } else if (!masks.back().empty()) {
        const std::uint32_t id = masks.back()[random() % masks.back().size()];
        ASSERT_TRUE(matcher->accept(tokens({id})).ok()) << "seed " << seed;
        masks.push_back(allowed(*matcher, *codec));
      }
      ASSERT_EQ(allowed(*matcher, *codec), masks.back()) << "seed " << seed;
      ASSERT_EQ(matcher->accepted_count() + 1, masks.size());
    }
  }
}

TEST(Grammar, ErrorsSayWhatIsWrongAndWhere) {
  const auto codec = small_codec();
  const auto compiler = make_grammar_compiler(*codec, {kStop});
  const auto refusal = [&](GrammarKind kind, std::string_view source) {
    const auto made = compiler->compile(kind, source);
    EXPECT_FALSE(made.ok());
    return made.ok() ? std::string() : std::string(made.error().message());
  };
  EXPECT_NE(refusal(GrammarKind::Lark, "start: a\na: b").find("line 2, column"), std::string::npos);
  EXPECT_NE(refusal(GrammarKind::Lark, "root ::= \"a\"").find("Lark"), std::string::npos);
  const auto long_source = compiler->compile(GrammarKind::Regex, std::string(300'000, 'a'));
  EXPECT_EQ(long_source.error().code(), ErrorCode::TooLarge);
  EXPECT_EQ(long_source.error().message(),
            "the regular expression has 300000 bytes (262144 at most)");
  EXPECT_EQ(compiler->compile(GrammarKind::Regex, "a\xff").error().code(),
            ErrorCode::InvalidArgument);
}

// A mask is computed by one thread while another compiles, and matchers of one grammar run at once.
TEST(Grammar, MasksOfManyThreadsAreTheSameWhileOthersCompile) {
  const auto codec = small_codec();
  const auto compiler = make_grammar_compiler(*codec, {kStop});
  const auto grammar = compiler->compile(GrammarKind::Regex, "((a|b|12| a)*<call>)+");
  ASSERT_TRUE(grammar.ok()) << grammar.error().message();
  const auto walk = [&](std::uint32_t seed) {
    std::mt19937 random(seed);
    const std::unique_ptr<Matcher> matcher = grammar.value()->matcher().take();
    std::vector<std::vector<std::uint32_t> > masks;
    for (int step = 0; step < 200; ++step) {
      masks.push_back(allowed(*matcher, *codec));
      const std::uint32_t id = masks.back()[random() % masks.back().size()];
      if (id == static_cast<std::uint32_t>(kStop)) break;
      EXPECT_TRUE(matcher->accept(tokens({id})).ok());
    }
    return masks;
  };
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number) {
    threads.emplace_back([&] {
      for (std::uint32_t round = 0; !stop; ++round) {
        EXPECT_TRUE(
            compiler->compile(GrammarKind::Regex, "a{" + std::to_string(round % 50) + "}b").ok());
      }
    });
  }
  std::atomic<int> different{0};
  for (std::uint32_t number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      if (walk(number / 2) != walk(number / 2)) ++different;
    });
  }
  for (std::size_t at = 2; at < threads.size(); ++at) threads[at].join();
  stop = true;
  threads[0].join();
  threads[1].join();
  EXPECT_EQ(different, 0);
}

TEST(Grammar, OutlivesItsCompilerAndSoDoMatchersTheirGrammar) {
  const auto codec = small_codec();
  auto compiler = make_grammar_compiler(*codec, {kStop});
  std::unique_ptr<Matcher> matcher = matcher_of(*compiler, GrammarKind::Regex, "a+");
  ASSERT_NE(matcher, nullptr);
  compiler = nullptr;
  EXPECT_EQ(allowed(*matcher, *codec).size(), 2u);
  EXPECT_LT(matcher->memory_bytes(), std::size_t{1} << 20);
}

#endif

}  // namespace
}  // namespace quire::inference
