#include "application/sandbox/epoch_ticker.h"

#include <gtest/gtest.h>

namespace quire::sandbox {
namespace {

// Waits until `done`, for at most ten seconds of the ticker's own pace.
template <typename F>
bool eventually(F done) {
  for (int i = 0; i < 10'000 && !done(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return done();
}

TEST(EpochTicker, TicksWhileAGuestRunsAndStopsWhenNoneDoes) {
  std::atomic<std::uint64_t> calls{0};
  const auto owned = EpochTicker::start([&] { calls.fetch_add(1); }).take();
  EpochTicker& ticker = *owned;
  ticker.begin();
  const std::uint64_t before = ticker.ticks();
  EXPECT_TRUE(eventually([&] { return ticker.ticks() > before + 100; }));
  ticker.end();
  std::uint64_t last = 0;
  EXPECT_TRUE(eventually([&] {
    const bool still = ticker.ticks() == last;
    last = ticker.ticks();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return still && ticker.ticks() == last;
  }));
  ticker.begin();
  EXPECT_TRUE(eventually([&] { return ticker.ticks() > last + 10; }));
  ticker.end();
  EXPECT_EQ(calls.load(), ticker.ticks());
}

TEST(EpochTicker, BeginAndEndInterleaveWithSleepWithoutALostWakeup) {
  const auto owned = EpochTicker::start([] {}).take();
  EpochTicker& ticker = *owned;
  for (int i = 0; i < 200; ++i) {
    ticker.begin();
    const std::uint64_t before = ticker.ticks();
    ASSERT_TRUE(eventually([&] { return ticker.ticks() > before; })) << i;
    ticker.end();
  }
}

}  // namespace
}  // namespace quire::sandbox
