#include "main/verbs/serve/end_watch.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "cli/exit_code.h"

namespace quire {
namespace {

void send_signal(const EndWatch& watch) {
  const std::uint32_t before = watch.signal_count();
  kill(getpid(), SIGTERM);
  while (watch.signal_count() == before) std::this_thread::yield();
}

std::unique_ptr<EndWatch> open_watch() {
  return EndWatch::open().take();
}

TEST(EndWatch, AsksTheServerForEachSignalAlsoForThoseThatCameBefore) {
  const std::unique_ptr<EndWatch> watch = open_watch();
  EXPECT_FALSE(watch->is_asked());
  send_signal(*watch);
  EXPECT_TRUE(watch->is_asked());
  std::atomic<int> asked_count = 0;
  {
    const EndWatch::Serving serving = watch->serve(0, [&] { ++asked_count; });
    EXPECT_EQ(asked_count, 1);
    send_signal(*watch);
    EXPECT_EQ(asked_count, 2);
  }
}

TEST(EndWatchDeathTest, AThirdSignalEndsAServerThatDoesNotMove) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::unique_ptr<EndWatch> watch = open_watch();
        const EndWatch::Serving serving = watch->serve(0, [] {});
        send_signal(*watch);
        send_signal(*watch);
        kill(getpid(), SIGTERM);
        while (true) pause();
      },
      testing::ExitedWithCode(cli::number(cli::ExitCode::Failed)), "did not end in its time");
}

TEST(EndWatchDeathTest, AServerThatStillLoadsEndsWell) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::unique_ptr<EndWatch> watch = open_watch();
        send_signal(*watch);
        send_signal(*watch);
        kill(getpid(), SIGTERM);
        while (true) pause();
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace quire
