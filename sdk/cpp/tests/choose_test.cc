#include "quire/choose.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fake_host.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::host;

// After "?", "no" begins more probably than "yes", and "yes" is the more probable word.
class ChooseTest : public testing::Test {
 protected:
  void SetUp() override {
    host.reset();
    host.next = [](const std::vector<std::uint32_t>& seen) {
      using Next = std::vector<std::pair<std::uint32_t, float>>;
      switch (seen.back()) {
        case 'n':
          return Next{{'x', 0.9f}, {'o', 0.1f}};
        case 'y':
          return Next{{'e', 0.9f}};
        case 'e':
          return Next{{'s', 0.9f}};
        default:
          return Next{{'n', 0.6f}, {'y', 0.4f}};
      }
    };
  }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }
};

TEST_F(ChooseTest, ComparesWholeTextsAndLeavesTheContextAsItIs) {
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    context.user("ready?");
    const Choice choice = co_await context.choose({"no", "yes", "n"});
    EXPECT_EQ(choice.text(), "n");
    EXPECT_EQ(choice.index, 2u);
    EXPECT_NEAR(choice.scores[0].log_probability, std::log(0.6 * 0.1), 1e-6);
    EXPECT_NEAR(choice.scores[1].log_probability, std::log(0.4 * 0.9 * 0.9), 1e-6);
    EXPECT_EQ(choice.scores[1].token_count, 3u);
    const double sum = 0.6 * 0.1 + 0.4 * 0.81 + 0.6;
    EXPECT_NEAR(choice.probabilities[0], 0.06 / sum, 1e-6);
    EXPECT_NEAR(choice.probabilities[1], 0.324 / sum, 1e-6);
    EXPECT_NEAR(choice.probabilities[2], 0.6 / sum, 1e-6);
    const std::uint32_t length = context.token_count();
    EXPECT_EQ((co_await context.choose({"no", "yes"})).text(), "yes");
    EXPECT_EQ(context.token_count(), length);
    EXPECT_EQ((co_await context.flush()).seq_len, length);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ChooseTest, AScoreIsTheSumOverAllTokens) {
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    co_await context.append_text("?");
    const Score score = co_await context.score("yes");
    EXPECT_NEAR(score.log_probability, std::log(0.4 * 0.81), 1e-6);
    EXPECT_NEAR(score.mean_log_probability(), std::log(0.4 * 0.81) / 3, 1e-6);
    EXPECT_NEAR((co_await context.score("n")).log_probability, std::log(0.6), 1e-6);
  };
  EXPECT_TRUE(run(program()).ok());
}

TEST_F(ChooseTest, TextsWithoutTokensAreRefused) {
  const auto program = []() -> Task<> {
    Context context = co_await Context::create();
    co_await context.append_text("?");
    EXPECT_EQ((co_await attempt(context.choose({}))).error().text(),
              "invalid-argument: there is no text to choose");
    EXPECT_EQ((co_await attempt(context.choose({"yes", ""}))).error().text(),
              "invalid-argument: a text without a token has no probability");
    EXPECT_EQ((co_await attempt(context.score(""))).error().code, ErrorCode::InvalidArgument);
  };
  EXPECT_TRUE(run(program()).ok());
}

}  // namespace
}  // namespace quire
