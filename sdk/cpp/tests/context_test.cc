#include "quire/context.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/generate.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::host;

// The model of these tests writes down a script, whatever it was asked: token i of the answer is
// the i-th byte after the last byte 'a' of the context; then it ends the turn.
class ContextTest : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    host.run_ahead = 0;  // The script is written as it is asked for.
    host.next = [this](const std::vector<std::uint32_t>& seen) { return scripted(seen); };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  std::vector<std::pair<std::uint32_t, float>> scripted(const std::vector<std::uint32_t>& seen) {
    asked_.push_back(seen);
    const std::size_t at = asked_.size() - 1;
    const std::uint32_t token = at < script_.size() ? static_cast<std::uint8_t>(script_[at]) : 2;
    return {{token, 0.75f}, {'?', 0.25f}};
  }

  // The content of the host's only context, computed and queued, as text.
  static std::string held_text() {
    std::string out;
    for (const auto& [handle, context] : host.contexts) {
      for (auto each : context.computed) out.push_back(static_cast<char>(each));
      out += '|';
      for (auto each : context.queued) out.push_back(static_cast<char>(each));
    }
    return out;
  }

  std::string script_;
  std::vector<std::vector<std::uint32_t>> asked_;
};

TEST_F(ContextTest, GeneratesUntilTheModelEndsTheTextAndQueuesItsLastToken) {
  script_ = " is Paris.";
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text("The capital");
    std::vector<std::string> shown;
    const Generation answer = co_await context.generate({}).stream([&](std::string_view t) {
      shown.emplace_back(t);
      return Result<void>();
    });
    EXPECT_EQ(answer.text, " is Paris.");
    EXPECT_EQ(answer.tokens.size(), 10u);
    EXPECT_EQ(answer.finish_reason, FinishReason::StopToken);
    EXPECT_EQ(shown.size(), 10u);
    EXPECT_EQ(held_text(), "The capital is Paris.|\x02");
    EXPECT_EQ(context.seq_len(), 21u);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AsksForNoStepBehindTheLastToken) {
  script_ = "abcdef";
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text("x");
    const Generation answer = co_await context.generate({.max_tokens = 3}).collect();
    EXPECT_EQ(answer.text, "abc");
    EXPECT_EQ(answer.finish_reason, FinishReason::Length);
    EXPECT_EQ(asked_.size(), 3u);
    EXPECT_EQ(held_text(), "xab|c");
    const Generation none = co_await context.generate({.max_tokens = 0}).collect();
    EXPECT_EQ(none.text, "");
    EXPECT_EQ(asked_.size(), 3u);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AStopTextEndsWithoutAStepBehindIt) {
  script_ = "one.\n\ntwo";
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text("x");
    const Generation answer = co_await context.generate({.stop = {"\n\n"}}).collect();
    EXPECT_EQ(answer.text, "one.");
    EXPECT_EQ(answer.finish_reason, FinishReason::StopText);
    EXPECT_EQ(asked_.size(), 6u);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AFullContextEndsTheAnswerWithItsLengthAndAllItsTokens) {
  script_ = std::string("abcd\xc3", 5);  // The last begins a character.
  host.context_length = 8;
  const auto program = [&](std::string prompt, std::string text) -> Task<> {
    asked_.clear();
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text(prompt);
    std::string shown;
    const Generation answer = co_await context.generate({}).stream([&](std::string_view t) {
      shown += t;
      return Result<void>();
    });
    EXPECT_EQ(answer.finish_reason, FinishReason::Length);
    EXPECT_EQ(answer.tokens.size(), 9 - prompt.size());
    EXPECT_EQ(answer.text, text);
    EXPECT_EQ(shown, text);
    EXPECT_EQ(context.token_count(), 9u);
    const Result<ContextCounters> flushed = co_await attempt(context.flush());
    EXPECT_EQ(flushed.error().code, ErrorCode::OutOfRange);
  };
  EXPECT_TRUE(run(program("xxxx", "abcd\xef\xbf\xbd")).ok());
  EXPECT_TRUE(run(program("xxxxx", "abcd")).ok());
  EXPECT_TRUE(run(program("xxxxxxxx", "a")).ok());
  const Result<void> too_long = run(program("xxxxxxxxx", ""));
  EXPECT_EQ(too_long.error().code, ErrorCode::OutOfRange);
}

TEST_F(ContextTest, TurnsThatAreNoTokensYetAreNeverLeftOutOfADraw) {
  script_ = "xy";
  const auto program = [&]() -> Task<> {
    Context context = co_await Context::create();
    co_await context.append_text("p");
    context.user("what?");
    Drawer greedy;
    EXPECT_EQ((co_await context.draw(greedy)).token, std::uint32_t{'x'});
    EXPECT_EQ(asked_.back(), context.tokens());
    EXPECT_EQ(held_text(), "p\1uwhat?\2\n\1a|");
    EXPECT_EQ((co_await context.draw(greedy)).token, std::uint32_t{'y'});
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, PrefillEndsWhereTheAnswerBeginsAndFlushBehindTheLastTurn) {
  const auto program = [&]() -> Task<> {
    Context context = co_await Context::create();
    context.system("s");
    EXPECT_EQ((co_await context.flush()).seq_len, 5u);
    EXPECT_EQ(held_text(), "\1ss\2\n|");
    context.user("u");
    EXPECT_EQ((co_await context.prefill()).seq_len, 12u);
    EXPECT_EQ(held_text(), "\1ss\2\n\1uu\2\n\1a|");
    EXPECT_EQ((co_await context.prefill()).seq_len, 12u);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AGeneratorIsAwaitedAsAWhole) {
  script_ = "yes";
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text("p");
    const Generation answer = co_await context.generate({});
    EXPECT_EQ(answer.text, "yes");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AGeneratorThatIsDroppedDropsTheStepUnderWay) {
  script_ = "abcdef";
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text("x");
    {
      Generator generator = context.generate({});
      const std::optional<Piece> first = co_await generator.next();
      EXPECT_EQ(first->text, "a");
      EXPECT_GT(host.live_handles().count("future"), 0u);
    }
    EXPECT_EQ(host.live_handles().count("future"), 0u);
  };
  EXPECT_TRUE(run(program()).ok());
}

// The template of the fake writes \1, the role's first letter, the content, \2 and a newline.
TEST_F(ContextTest, EachTurnOfAConversationIsAppendedBehindTheLast) {
  script_ = std::string("ONE") + '\2' + "TWO" + '\2';
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    const std::int32_t handle = context.handle();
    context.system("be");
    context.user("first");
    co_await context.generate({}).collect();
    EXPECT_EQ(held_text(), "\1sbe\2\n\1ufirst\2\n\1aONE|\2");
    context.user("second");
    const Generation second = co_await context.generate({}).collect();
    EXPECT_EQ(second.text, "TWO");
    EXPECT_EQ(held_text(), "\1sbe\2\n\1ufirst\2\n\1aONE\2\n\1usecond\2\n\1aTWO|\2");
    EXPECT_EQ(context.handle(), handle);
    EXPECT_EQ(context.messages().size(), 5u);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AnAnswerThatWasCutIsClosedBeforeTheNextTurn) {
  script_ = std::string("ONE") + "TWO" + '\2';
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    context.user("first");
    co_await context.generate({.max_tokens = 3}).collect();
    context.user("second");
    co_await context.generate({}).collect();
    EXPECT_EQ(held_text(), "\1ufirst\2\n\1aONE\2\n\1usecond\2\n\1aTWO|\2");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AConversationThatCannotBeContinuedIsBegunAnew) {
  script_ = "ab";
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text("before");
    context.user("first");
    Generator generator = context.generate({});
    co_await generator.next();  // And the answer is never read to its end.
    context.assistant("mine");
    context.user("second");
    co_await context.next_distribution();
    EXPECT_EQ(held_text(), "before\1ufirst\2\n\1amine\2\n\1usecond\2\n\1a|");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, ForwardGivesWhatMayFollowEachOfTheLastTokensInOneStep) {
  host.next = [](const std::vector<std::uint32_t>& seen) {
    return std::vector<std::pair<std::uint32_t, float>>{{seen.back() + 1, 1.0f}};
  };
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    co_await context.append_text("kAM");
    ContextOutputs outputs = co_await context.forward(2);
    Future<Distribution> first = get_next_dist(context.queue(), outputs.embeds[0]);
    Future<Distribution> second = get_next_dist(context.queue(), outputs.embeds[1]);
    const ContextCounters counters = co_await std::move(outputs.passed);
    EXPECT_EQ(counters.seq_len, 3u);
    EXPECT_EQ((co_await std::move(first)).tokens.at(0), std::uint32_t{'B'});
    EXPECT_EQ((co_await std::move(second)).tokens.at(0), std::uint32_t{'N'});
    // With nothing queued, the last token's.
    ContextOutputs last = co_await context.forward();
    EXPECT_EQ((co_await get_next_dist(context.queue(), last.embeds[0])).tokens.at(0),
              std::uint32_t{'N'});
    co_await std::move(last.passed);
    EXPECT_EQ(held_text(), "kAM|");
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, ForksGoOnByThemselvesAndSideBySide) {
  const auto one = [](Context fork) -> Task<std::string> {
    const Generation answer = co_await fork.generate({.max_tokens = 2}).collect();
    co_return answer.text;
  };
  host.next = [](const std::vector<std::uint32_t>& seen) {
    return std::vector<std::pair<std::uint32_t, float>>{{seen.back() + 1, 1.0f}};
  };
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text("k");
    co_await context.flush();
    std::vector<Task<std::string>> tasks;
    for (std::uint32_t token : {'A', 'M'}) {
      Context fork = co_await context.fork();
      co_await fork.append(token);
      tasks.push_back(one(std::move(fork)));
    }
    auto texts = co_await when_all(std::move(tasks));
    EXPECT_EQ(texts[0].value(), "BC");
    EXPECT_EQ(texts[1].value(), "NO");
    EXPECT_EQ(context.tokens().size(), 1u);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AppendsALongListInParts) {
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    std::vector<std::uint32_t> tokens(600'000);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint32_t>(i % 97);
    co_await context.append(tokens);
    co_await context.append(std::span<const std::uint32_t>());
    EXPECT_EQ(context.tokens(), tokens);
    EXPECT_EQ(host.contexts.begin()->second.queued, tokens);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, TruncateDropsTheLastTokensAndSaysWhenItCannot) {
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    Context context = co_await Context::create(model);
    co_await context.append_text("0123456789abcdefXYZ");
    co_await context.flush();
    const ContextCounters counters = co_await context.truncate(2);
    EXPECT_EQ(counters.seq_len, 17u);
    EXPECT_EQ(context.tokens().size(), 17u);
    const Result<ContextCounters> beyond = co_await attempt(context.truncate(5));
    EXPECT_EQ(beyond.error().code, ErrorCode::OutOfRange);
    EXPECT_EQ(context.tokens().size(), 17u);
    EXPECT_EQ(context.committed_page_count(), 1u);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, PagesAndEmbedsGrowShrinkAndGoBack) {
  const auto program = [&]() -> Task<> {
    const Model model = co_await Model::open();
    const Queue queue = co_await Queue::create(model, Priority::High);
    KvPages pages = co_await KvPages::allocate(queue, 3);
    co_await pages.grow(2);
    EXPECT_EQ(host.live_handles().count("page"), 5u);
    pages.shrink(1);
    EXPECT_EQ(host.live_handles().count("page"), 1u);
    KvPages moved = std::move(pages);
    EXPECT_EQ(pages.count(), 0u);
    EXPECT_EQ(moved.count(), 1u);
    co_await queue.synchronize();
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ContextTest, AModelThatIsNotServedIsAnErrorThatNamesIt) {
  EXPECT_EQ(Model::open("nope").error().text(), "not-found: no model \"nope\"");
  EXPECT_EQ(Model::available().value(), (std::vector<std::string>{"fake", "other"}));
}

}  // namespace
}  // namespace quire
