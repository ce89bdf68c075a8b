#include "quire/share.h"

#include <gtest/gtest.h>

#include "fake_host.h"
#include "quire/main.h"

namespace quire {
namespace {

using test::host;

class ShareTest : public testing::Test {
 protected:
  void SetUp() override { host.reset(); }
  void TearDown() override { EXPECT_TRUE(host.live_handles().empty()) << "handles were leaked"; }

  static Task<Context> begun(std::string text) {
    Context context = co_await Context::create();
    co_await context.append_text(std::move(text));
    co_return context;
  }
  static Task<> share_text(std::string text) {
    Context context = co_await begun(std::move(text));
    co_await context.share("prompt");
  }
};

TEST_F(ShareTest, AnotherProgramGoesOnWithTheTokensAndThePages) {
  for (const std::size_t length : {1u, 16u, 40'000u}) {
    host.reset();
    host.context_length = 100'000;
    const std::string text(length, 'k');
    EXPECT_TRUE(run(share_text(text)).ok());
    const auto program = [&]() -> Task<> {
      const Model model = co_await Model::open();
      Context mine = co_await Context::open_shared(model, "prompt");
      EXPECT_EQ(std::string(mine.tokens().begin(), mine.tokens().end()), text);
      co_await mine.append_text("!");
      EXPECT_EQ((co_await mine.flush()).seq_len, length + 1);
      co_await Context::unshare("prompt");
      EXPECT_TRUE(host.exports.empty());
      EXPECT_TRUE(host.values.empty());
      EXPECT_EQ((co_await attempt(Context::open_shared(model, "prompt"))).error().text(),
                "not-found: no shared context \"prompt\"");
      EXPECT_EQ((co_await attempt(Context::unshare("prompt"))).error().code, ErrorCode::NotFound);
    };
    EXPECT_TRUE(run(program()).ok());
  }
}

TEST_F(ShareTest, ANameIsSharedOnceAndTheSecondTryLeavesNothing) {
  EXPECT_TRUE(run(share_text("first")).ok());
  const std::size_t values = host.values.size();
  EXPECT_EQ(run(share_text("second")).error().text(),
            "already-exists: there is a shared context \"prompt\"");
  EXPECT_EQ(host.values.size(), values);
  EXPECT_EQ(host.exports.size(), 1u);
}

TEST_F(ShareTest, AnExportThatIsRefusedLeavesNothing) {
  host.refuses_exports = true;
  EXPECT_EQ(run(share_text("first")).error().code, ErrorCode::QuotaExceeded);
  EXPECT_TRUE(host.values.empty());
  EXPECT_TRUE(host.exports.empty());
}

TEST_F(ShareTest, AnEntryWhosePagesTheServerLostGivesWayToAnotherContext) {
  EXPECT_TRUE(run(share_text("first")).ok());
  host.exports.clear();
  const auto lost = []() -> Task<> {
    co_await Context::open_shared(co_await Model::open(), "prompt");
  };
  EXPECT_EQ(run(lost()).error().code, ErrorCode::NotFound);
  EXPECT_TRUE(run(share_text("second")).ok());
  const auto program = []() -> Task<> {
    const Context context = co_await Context::open_shared(co_await Model::open(), "prompt");
    EXPECT_EQ(context.token_count(), 6u);
  };
  EXPECT_TRUE(run(program()).ok());
}

}  // namespace
}  // namespace quire
