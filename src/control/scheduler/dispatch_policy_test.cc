#include "control/scheduler/dispatch_policy.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace quire::control {
namespace {

TEST(DispatchPolicy, AdaptiveAndEagerNeverWait) {
  for (const DispatchKind kind : {DispatchKind::Adaptive, DispatchKind::Eager}) {
    DispatchTimer timer({.kind = kind});
    EXPECT_TRUE(timer.is_due(1, 0));
    EXPECT_EQ(timer.due_ns(), std::nullopt);
  }
  EXPECT_EQ(DispatchTimer({.kind = DispatchKind::Eager}).command_count_max(), 1u);
  EXPECT_GT(DispatchTimer({}).command_count_max(), 1'000'000u);
}

TEST(DispatchPolicy, KOnlyWaitsForKAndTakesNoMore) {
  DispatchTimer timer({.kind = DispatchKind::KOnly, .command_count = 8});
  EXPECT_FALSE(timer.is_due(7, 100));
  EXPECT_TRUE(timer.is_due(8, 101));
  EXPECT_TRUE(timer.is_due(900, 102));
  EXPECT_EQ(timer.command_count_max(), 8u);
}

TEST(DispatchPolicy, KOnlyLetsFewerGoWhenTheFirstHasWaitedItsBound) {
  DispatchTimer timer({.kind = DispatchKind::KOnly, .command_count = 8});
  EXPECT_FALSE(timer.is_due(1, 100));
  EXPECT_FALSE(timer.is_due(2, 100 + kCountWaitNsMax - 1)) << "those that come later wait less";
  EXPECT_EQ(timer.due_ns(), 100 + kCountWaitNsMax);
  EXPECT_TRUE(timer.is_due(2, 100 + kCountWaitNsMax));
  timer.reset();
  EXPECT_EQ(timer.due_ns(), std::nullopt);
  EXPECT_FALSE(timer.is_due(2, 200 + kCountWaitNsMax)) << "each wait is bounded by itself";
}

TEST(DispatchPolicy, TOnlyIsDueAtTheTicksThatFindTheDeviceFree) {
  DispatchTimer timer({.kind = DispatchKind::TOnly, .period_ns = 10 * kMillisecond});
  EXPECT_FALSE(timer.is_due(100, 1)) << "the tick at 0 is over";
  EXPECT_EQ(timer.due_ns(), 10 * kMillisecond);
  EXPECT_TRUE(timer.is_due(100, 10 * kMillisecond));
  timer.reset();
  // The device was busy until now, and a tick came meanwhile.
  EXPECT_FALSE(timer.is_due(100, 25 * kMillisecond));
  EXPECT_EQ(timer.due_ns(), 30 * kMillisecond);
  EXPECT_TRUE(timer.is_due(100, 34 * kMillisecond)) << "whoever wakes late is not late twice";
  timer.reset();
  EXPECT_TRUE(timer.is_due(1, 40 * kMillisecond)) << "exactly at a tick";
}

TEST(DispatchPolicyDeath, OfNothingStopsTheProcess) {
  EXPECT_DEATH(DispatchTimer({.kind = DispatchKind::KOnly}), "k-only of nothing");
  EXPECT_DEATH(DispatchTimer({.kind = DispatchKind::TOnly}), "t-only without a time");
}

}  // namespace
}  // namespace quire::control
