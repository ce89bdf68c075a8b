#include "application/server/end_deadline.h"

#include <gtest/gtest.h>

namespace quire::server {
namespace {

TEST(EndDeadline, IsTheGraceAndAMarginAfterTheFirstSignal) {
  EndDeadline deadline;
  deadline.set_grace(30 * kSecond);
  EXPECT_EQ(deadline.at_ns(), std::nullopt);
  deadline.signaled(100 * kSecond);
  EXPECT_EQ(deadline.at_ns(), 130 * kSecond + kEndMarginNs);
}

TEST(EndDeadline, ASecondSignalLeavesTheMarginAndAThirdNothing) {
  EndDeadline deadline;
  deadline.set_grace(3'600 * kSecond);
  deadline.signaled(100 * kSecond);
  deadline.signaled(101 * kSecond);
  EXPECT_EQ(deadline.at_ns(), 101 * kSecond + kEndMarginNs);
  deadline.signaled(102 * kSecond);
  EXPECT_EQ(deadline.at_ns(), 102 * kSecond);
  deadline.signaled(103 * kSecond);
  EXPECT_EQ(deadline.at_ns(), 102 * kSecond);
}

TEST(EndDeadline, ASecondSignalNeverPostponesTheEnd) {
  EndDeadline deadline;
  deadline.set_grace(0);
  deadline.signaled(100 * kSecond);
  deadline.signaled(104 * kSecond);
  EXPECT_EQ(deadline.at_ns(), 105 * kSecond);
}

TEST(EndDeadline, AGraceWithoutAnEndHasNone) {
  EndDeadline deadline;
  deadline.set_grace(UINT64_MAX);
  deadline.signaled(100 * kSecond);
  EXPECT_EQ(deadline.at_ns(), UINT64_MAX);
}

TEST(EndDeadline, AServerThatLoadsHasNoGrace) {
  EndDeadline deadline;
  deadline.signaled(100 * kSecond);
  EXPECT_EQ(deadline.at_ns(), 100 * kSecond + kEndMarginNs);
}

}  // namespace
}  // namespace quire::server
