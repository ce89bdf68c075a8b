#include "control/api/tenant_shares.h"

#include <gtest/gtest.h>

namespace quire::control {
namespace {

// Takes one by one until it may take no more.
std::uint64_t take_all(TenantShares& shares, TenantId tenant) {
  while (shares.may_take(tenant, 1)) shares.take(tenant, 1);
  return shares.count_of(tenant);
}

TEST(TenantShares, OneAloneGetsHalfAndTwoAThirdEach) {
  TenantShares shares(1200);
  EXPECT_EQ(take_all(shares, TenantId{1}), 600u);
  EXPECT_FALSE(shares.may_take(TenantId{1}, 1));
  shares.give(TenantId{1}, 600);
  EXPECT_TRUE(shares.may_take(TenantId{1}, 600));
  for (int turn = 0; turn < 1200; ++turn) {
    for (const TenantId tenant : {TenantId{1}, TenantId{2}}) {
      if (shares.may_take(tenant, 1)) shares.take(tenant, 1);
    }
  }
  EXPECT_NEAR(static_cast<double>(shares.count_of(TenantId{1})), 400, 1);
  EXPECT_NEAR(static_cast<double>(shares.count_of(TenantId{2})), 400, 1);
}

TEST(TenantShares, WhoeverComesFindsSomeHoweverMuchTheOthersTook) {
  TenantShares shares(1000);
  std::uint64_t before = 1000;
  for (std::uint32_t each = 1; each <= 8; ++each) {
    const std::uint64_t taken = take_all(shares, TenantId{each});
    EXPECT_EQ(taken, before / 2);
    before -= taken;
  }
}

TEST(TenantShares, WhatWasTakenStaysThoughTheShareShrinksAndNothingMayAlwaysBeTaken) {
  TenantShares shares(100);
  EXPECT_EQ(take_all(shares, TenantId{1}), 50u);
  EXPECT_EQ(take_all(shares, TenantId{2}), 25u);
  EXPECT_LT(shares.share_of(TenantId{1}), shares.count_of(TenantId{1}));
  EXPECT_FALSE(shares.may_take(TenantId{1}, 1));
  EXPECT_TRUE(shares.may_take(TenantId{1}, 0));
}

TEST(TenantShares, TheOnlyOneMayHaveAllAndLosesNothingWhenAnotherIsKnown) {
  TenantShares shares(100);
  shares.set_several(false);
  EXPECT_EQ(take_all(shares, TenantId{1}), 100u);
  shares.set_several(true);
  EXPECT_EQ(shares.share_of(TenantId{1}), 50u);
  EXPECT_EQ(shares.share_of(TenantId{2}), 0u);
  shares.give(TenantId{1}, 60);
  EXPECT_EQ(shares.share_of(TenantId{2}), 30u);
}

TEST(TenantShares, AnOperatorGivesAnotherShareOfWhatTheOthersLeave) {
  TenantShares shares(100);
  shares.set_share(TenantId{1}, 90);
  shares.set_share(TenantId{2}, 5);
  EXPECT_EQ(take_all(shares, TenantId{2}), 5u);
  EXPECT_EQ(take_all(shares, TenantId{3}), 47u);
  EXPECT_EQ(take_all(shares, TenantId{1}), 48u) << "the rest";
  EXPECT_EQ(shares.count(), 100u);
}

TEST(TenantShares, TakeAndGiveAreChecked) {
  TenantShares shares(10);
  shares.take(TenantId{1}, 5);
  EXPECT_DEATH(shares.give(TenantId{2}, 1), "gave what it has not");
  EXPECT_DEATH(shares.give(TenantId{1}, 6), "gave what it has not");
  EXPECT_DEATH(shares.take(TenantId{2}, 6), "took what is not there");
  shares.give(TenantId{1}, 5);
  EXPECT_EQ(shares.count(), 0u);
}

}  // namespace
}  // namespace quire::control
