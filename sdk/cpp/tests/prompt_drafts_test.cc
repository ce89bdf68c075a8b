#include "quire/prompt_drafts.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "held_tokens.h"
#include "quire/generate.h"
#include "quire/main.h"

namespace quire {
namespace prompt_drafts_test {

using test::held;
using test::host;
using test::known;

using Tokens = std::vector<std::uint32_t>;

// The longest run of last tokens of `text` that ends in `in` before `end`; of several the last one.
// Only the last places of the last three tokens count.
TokenIndex::Match longest_match(const Tokens& text, const Tokens& in, std::size_t end) {
  TokenIndex::Match best;
  std::uint32_t place_count = 0;
  for (std::size_t at = end; at > 0; --at) {
    std::uint32_t length = 0;
    while (length < TokenIndex::kMatchCountMax && length < at && length < text.size() &&
           in[at - 1 - length] == text[text.size() - 1 - length]) {
      ++length;
    }
    if (length < TokenIndex::kKeyCount) continue;
    if (length > best.length) best = {at, length};
    if (++place_count == TokenIndex::kPlaceCountMax) break;
  }
  return best;
}

// A text that repeats parts of itself.
Tokens repeating_text(sampling::Random& random, std::size_t count) {
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random.uniform() * static_cast<double>(limit));
  };
  Tokens text;
  while (text.size() < count) {
    if (text.size() < 8 || below(3) > 0) {
      text.push_back(static_cast<std::uint32_t>(below(100'000)));
      continue;
    }
    const std::size_t from = below(text.size());
    const std::size_t length = std::min(below(12), text.size() - from);
    for (std::size_t i = 0; i < length; ++i) text.push_back(text[from + i]);
  }
  return text;
}

TEST(TokenIndexTest, FindsTheLongestMatchAsASearchOfTheWholeTextDoes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    sampling::Random random(seed);
    const Tokens text = repeating_text(random, 300);
    const Tokens other = repeating_text(random, 100);
    TokenIndex index;
    TokenIndex of_other;
    for (const std::uint32_t each : other) of_other.append(each);
    Tokens seen;
    for (const std::uint32_t each : text) {
      index.append(each);
      seen.push_back(each);
      const TokenIndex::Match match = index.repeated();
      const TokenIndex::Match wanted = longest_match(seen, seen, seen.size() - 1);
      ASSERT_EQ(match.length, wanted.length) << seen.size();
      ASSERT_EQ(match.end, wanted.end) << seen.size();
      Tokens mixed(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(seen.size() % 100));
      mixed.push_back(each);
      ASSERT_EQ(of_other.find(mixed).length, longest_match(mixed, other, other.size()).length);
    }
  }
}

TEST(TokenIndexTest, ForgetsTheTextBeforeItsLastTokens) {
  TokenIndex index;
  const auto append = [&index](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) index.append(first + i);
  };
  append(0, 10);
  append(100, TokenIndex::kTokenCountMax - 20);
  append(0, 10);
  EXPECT_EQ(index.repeated().length, 10u);
  append(1'000'000, 10);  // The first ten are gone now, and the second ten are not.
  append(0, 5);
  const TokenIndex::Match match = index.repeated();
  EXPECT_EQ(match.length, 5u);
  EXPECT_EQ(match.end, TokenIndex::kTokenCountMax - 5u);
  append(2'000'000, 2 * TokenIndex::kTokenCountMax);
  append(0, 5);
  EXPECT_EQ(index.repeated().length, 0u);
}

TEST(TokenIndexTest, GoesOnPastTheEndOfATextThatRepeats) {
  TokenIndex index;
  for (const std::uint32_t each : {9, 1, 2, 3, 1, 2, 3}) index.append(each);
  const TokenIndex::Match match = index.repeated();
  EXPECT_EQ(match.length, 3u);
  EXPECT_EQ(index.after(match, 7, true), (Tokens{1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(index.after(match, 7), (Tokens{1, 2, 3}));
  EXPECT_EQ(index.after({}, 7, true), Tokens());
  EXPECT_EQ(TokenIndex().after({.end = 0, .length = 1}, 7), Tokens());
}

TEST(DraftGateTest, ProposesFewThenTwiceAsManyAfterEachHit) {
  DraftGate gate;
  EXPECT_EQ(gate.count_for(3), 0u);
  std::uint32_t wanted = DraftGate::kCountMin;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(gate.count_for(4), wanted);
    gate.note({.computed = wanted, .accepted = wanted});
    wanted = std::min(2 * wanted, DraftGate::kCountMax);
  }
  EXPECT_EQ(gate.count_for(3), DraftGate::kCountMax);
  gate.note({.computed = 32, .accepted = 20});
  EXPECT_EQ(gate.count_for(3), 20u);
}

TEST(DraftGateTest, PausesAfterTwoMissesLongerEachTimeUnlessTheMatchIsLong) {
  DraftGate gate;
  for (std::uint32_t pause = DraftGate::kPauseMin; pause < 2000; pause *= 2) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(gate.count_for(7), DraftGate::kCountMin);
      gate.note({.computed = 4, .accepted = 0});
    }
    const std::uint32_t limited = std::min(pause, DraftGate::kPauseMax);
    for (std::uint32_t i = 0; i < limited; ++i) ASSERT_EQ(gate.count_for(7), 0u) << i;
  }
  gate.note({.computed = 4, .accepted = 0});
  gate.note({.computed = 4, .accepted = 0});
  EXPECT_EQ(gate.count_for(7), 0u);
  EXPECT_EQ(gate.count_for(DraftGate::kMatchMinInPause), DraftGate::kCountMin);
  gate.note({.computed = 4, .accepted = 4});
  EXPECT_EQ(gate.count_for(3), 2 * DraftGate::kCountMin);
}

TEST(DraftGateTest, LearnsNothingFromDraftsThatTheHostIgnored) {
  DraftGate gate;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(gate.count_for(4), DraftGate::kCountMin);
    gate.note({});
  }
}

// The model of these tests repeats one of three sentences, by what came last.
class PromptDraftsTest : public testing::Test {
 protected:
  static constexpr std::string_view kText = "one step at a time. two are better than one. ";
  void SetUp() override {
    host.reset();
    host.next = [](const Tokens& seen) {
      std::uint32_t next = static_cast<std::uint32_t>(kText[seen.size() % kText.size()]);
      if (seen.size() % 31 == 30) next = 'A' + static_cast<std::uint32_t>(seen.size() % 20);
      return std::vector<std::pair<std::uint32_t, float>>{{next, 0.9f}, {'x', 0.06f}, {2, 0.04f}};
    };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  static Task<Context> begun() {
    Context context = co_await Context::create();
    co_await context.append_text(std::string(kText) + std::string(kText));
    co_return context;
  }
};

// Counts the passes of a generation.
struct Counted {
  PromptDrafts drafts;
  std::uint32_t* pass_count;

  Task<Tokens> operator()(const Context& context) {
    ++*pass_count;
    return drafts(context);
  }
  void note_drafts(DraftCounts counts) { drafts.note_drafts(counts); }
};

void expect_same(const Generation& a, const Generation& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.finish_reason, b.finish_reason);
  EXPECT_DOUBLE_EQ(a.log_probability, b.log_probability);
}

TEST_F(PromptDraftsTest, ARepeatedTextTakesFewerPassesAndStaysTheSame) {
  std::uint32_t pass_count = 0;
  std::uint32_t drawn_count = 0;
  const auto program = [&](GenerateOptions options, std::uint64_t seed) -> Task<> {
    Context first = co_await begun();
    Context second = co_await begun();
    if (seed % 4 == 1) options.grammar = co_await Grammar::lark(first.model(), "start: any");
    const Generation plain = co_await first.generate(options).collect();
    std::uint32_t count = 0;
    options.draft = Counted{drafts_from(second), &count};
    Generator generator = second.generate(options);
    if (seed % 3 == 0) {  // A fork takes the tokens back that are not given yet.
      while (co_await generator.next()) co_await second.fork();
      expect_same(plain, generator.answer());
    } else {
      expect_same(plain, co_await std::move(generator).collect());
      pass_count += count;
      drawn_count += plain.drawn_count;
    }
    co_await first.flush();
    co_await second.flush();
    EXPECT_EQ(held(first), held(second));
    EXPECT_EQ(held(second), known(second));
  };
  host.allowed = [](const std::string&, const Tokens&) {
    Tokens all(200);
    std::iota(all.begin(), all.end(), 2);
    return all;
  };
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    GenerateOptions options{.temperature = seed % 2 * 0.5,
                            .seed = seed,
                            .max_tokens = static_cast<std::uint32_t>(100 + seed)};
    if (seed % 5 == 0) options.stop = {"better", "AB"};
    if (seed % 7 == 0) options.repetition_penalty = 1.1;
    options.top_logprobs = seed % 2 * 2;
    const Result<void> done = run(program(options, seed));
    EXPECT_TRUE(done.ok()) << done.error().text();
  }
  EXPECT_LT(pass_count, drawn_count / 2);
}

TEST_F(PromptDraftsTest, APredictionIsProposedFromItsBegin) {
  const auto program = []() -> Task<> {
    const std::string text(kText);
    Context first = co_await Context::create();
    co_await first.append_text(std::string(text.size(), '?'));
    Context second = co_await first.fork();
    const Generation plain = co_await first.generate({.max_tokens = 29}).collect();
    GenerateOptions options{.max_tokens = 29};
    std::uint32_t count = 0;
    PromptDrafts drafts = drafts_from(second).predict(Tokens(text.begin(), text.end()));
    options.draft = Counted{std::move(drafts), &count};
    expect_same(plain, co_await second.generate(std::move(options)).collect());
    EXPECT_LE(count, 10u);
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST_F(PromptDraftsTest, AContextThatWasChangedIsIndexedAnew) {
  const auto program = []() -> Task<> {
    Context context = co_await begun();
    PromptDrafts drafts = drafts_from(context);
    EXPECT_TRUE((co_await drafts(context)).empty());  // The pass that computes the prompt.
    EXPECT_FALSE((co_await drafts(context)).empty());
    co_await context.rewind(10);
    EXPECT_TRUE((co_await drafts(context)).empty());
    co_await context.append_text("one step");
    co_await context.append_text(" at a time. one step ");
    EXPECT_EQ((co_await drafts(context)).front(), std::uint32_t{'a'});
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST_F(PromptDraftsTest, CopiesGoOnByThemselves) {
  const auto program = []() -> Task<> {
    Context context = co_await begun();
    DraftSource first = drafts_from(context);
    co_await first(context);
    const DraftSource second = first;
    for (int i = 0; i < 2; ++i) first.note({.computed = 4, .accepted = 0});
    EXPECT_EQ((co_await first(context)).size(), std::size_t{DraftGate::kCountMin});  // It is long.
    first.note({.computed = 4, .accepted = 4});
    EXPECT_EQ((co_await first(context)).size(), std::size_t{2 * DraftGate::kCountMin});
    EXPECT_EQ((co_await second(context)).size(), std::size_t{DraftGate::kCountMin});
  };
  const Result<void> done = run(program());
  EXPECT_TRUE(done.ok()) << done.error().text();
}

}  // namespace prompt_drafts_test
}  // namespace quire
