#include "base/seeds.h"

#include <gtest/gtest.h>

#include <set>

namespace quire {
namespace {

TEST(Seeds, SharesTogetherAreAllSeedsAndNoneTwice) {
  std::multiset<std::uint64_t> seen;
  for (int index = 0; index < 3; ++index) {
    const std::string share = std::to_string(index) + "/3";
    ASSERT_EQ(setenv("QUIRE_SEED_SHARE", share.c_str(), 1), 0);
    for (const std::uint64_t seed : campaign_seeds(10)) seen.insert(seed);
  }
  ASSERT_EQ(unsetenv("QUIRE_SEED_SHARE"), 0);
  EXPECT_EQ(seen, (std::multiset<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Seeds, WhatIsNoShareMeansTheDefault) {
  for (const char* text : {"", "x", "3", "3/", "/3", "3/3", "1/0", "1/2x"}) {
    EXPECT_EQ(parse_seed_share(text).count, 8u) << text;
  }
  EXPECT_EQ(parse_seed_share("2/5").index, 2u);
}

TEST(Seeds, AShareThatWouldBeEmptyStillRunsOneSeed) {
  ASSERT_EQ(setenv("QUIRE_SEED_SHARE", "7/8", 1), 0);
  EXPECT_EQ(campaign_seeds(3).size(), 1u);
  EXPECT_EQ(campaign_seeds(0).size(), 0u);
  ASSERT_EQ(unsetenv("QUIRE_SEED_SHARE"), 0);
}

}  // namespace
}  // namespace quire
