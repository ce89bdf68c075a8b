#include "cli/terminal.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace quire::cli {
namespace {

constexpr ProgressStyle kLoading{
    .first_ns = kSecond / 2, .counts_bytes = true, .is_for_terminals = true};
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Returns what Progress writes while a model of 2 GiB loads, with an update each tenth of a second.
std::string loading_for(std::uint64_t tenths, bool is_terminal) {
  ManualClock clock;
  const Terminal terminal(is_terminal);
  testing::internal::CaptureStderr();
  {
    Progress progress(terminal, clock, "loading big", kLoading);
    for (std::uint64_t each = 1; each <= tenths; ++each) {
      clock.advance_ns(kSecond / 10);
      progress.update(each * 64 * kMiB, 2048 * kMiB);
    }
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, AQuickLoadShowsNone) {
  EXPECT_EQ(loading_for(4, true), "");
}

TEST(Progress, ASlowLoadSaysHowMuchAndIsErasedInTheEnd) {
  const std::string shown = loading_for(20, true);
  EXPECT_NE(shown.find("loading big: 320.0 MiB of 2.0 GiB (15 %), 0 s"), std::string::npos)
      << shown;
  EXPECT_NE(shown.find(" (59 %), 1 s"), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with("\r\033[K")) << shown;
}

TEST(Progress, WhereThereIsNoTerminalALoadWritesNothing) {
  EXPECT_EQ(loading_for(600, false), "");
}

TEST(Progress, OtherWorkWritesALineNowAndThenWhereThereIsNoTerminal) {
  ManualClock clock;
  const Terminal terminal(false);
  testing::internal::CaptureStderr();
  Progress progress(terminal, clock, "prompt tokens");
  for (std::uint64_t each = 1; each <= 15; ++each) {
    clock.advance_ns(kSecond);
    progress.update(each, 30);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "prompt tokens: 1 of 30 (3 %), 1 s\nprompt tokens: 11 of 30 (36 %), 11 s\n");
}

}  // namespace
}  // namespace quire::cli
