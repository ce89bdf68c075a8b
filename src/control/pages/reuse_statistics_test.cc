#include "control/pages/reuse_statistics.h"

#include <gtest/gtest.h>

#include <deque>

namespace quire::control {
namespace {

constexpr std::uint32_t kEntryCount = 800;

TEST(ReuseStatistics, BelievesItsGuessBeforeItHasSeenAnything) {
  ReuseStatistics statistics({1.0, 8.0}, kEntryCount);
  EXPECT_LT(statistics.worth(statistics.begin(0)), statistics.worth(statistics.begin(1)));
}

TEST(ReuseStatistics, LearnsWhichClassIsUsedAgainAgainstItsGuess) {
  ReuseStatistics statistics({1.0, 8.0}, kEntryCount);
  std::deque<ReuseStatistics::Life> open;
  for (int life = 0; life < 100'000; ++life) {
    open.push_back(statistics.begin(static_cast<std::uint32_t>(life % 2)));
    if (open.size() <= 300) continue;
    if (open.front().reuse_class == 0) statistics.end(open.front(), true);
    open.pop_front();
  }
  statistics.verify();
  EXPECT_GT(statistics.worth(statistics.begin(0)), 10 * statistics.worth(statistics.begin(1)));
}

TEST(ReuseStatistics, APageThatOutlivedTheUsualReturnIsWorthLess) {
  ReuseStatistics statistics({1.0}, kEntryCount);
  std::deque<ReuseStatistics::Life> open;
  const ReuseStatistics::Life forgotten = statistics.begin(0);
  for (int life = 0; life < 10'000; ++life) {
    // Every second one is used 150 lives later, the others never.
    open.push_back(statistics.begin(0));
    if (open.size() <= 150) continue;
    if (life % 2 == 0) statistics.end(open.front(), true);
    open.pop_front();
  }
  EXPECT_GT(statistics.worth(statistics.begin(0)), 10 * statistics.worth(forgotten));
}

TEST(ReuseStatistics, LivesOlderThanItFollowsEndWithoutATrace) {
  ReuseStatistics statistics({1.0}, kEntryCount);
  const ReuseStatistics::Life old = statistics.begin(0);
  for (int life = 0; life < 300 * 100; ++life) statistics.end(statistics.begin(0), false);
  statistics.end(old, true);
  statistics.verify();
  EXPECT_GE(statistics.worth(old), 0.0);
}

}  // namespace
}  // namespace quire::control
