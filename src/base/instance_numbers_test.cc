#include "base/instance_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace quire {
namespace {

TEST(SipHash, HasTheValueOfItsPaper) {
  // Key 00 01 .. 0f, message 00 01 .. 07 (vectors of the reference implementation).
  constexpr SipKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(siphash(kKey, 0x0706050403020100), 0x93f5f5799a932462u);
}

TEST(InstanceNumbers, WithoutAKeyTheNumberIsTheCount) {
  const InstanceNumbers numbers;
  EXPECT_EQ(numbers.of(InstanceId{7}), 7u);
  EXPECT_EQ(numbers.id_of(7), InstanceId{7});
}

TEST(InstanceNumbers, EachInstanceHasOneNumberInRangeThatLeadsBackToIt) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SeededRandom random(seed);
    const InstanceNumbers numbers(random);
    std::set<std::uint64_t> seen;
    const auto check = [&](std::uint64_t count) {
      const std::uint64_t number = numbers.of(InstanceId{count});
      ASSERT_GE(number, 1u) << "seed " << seed << ", instance " << count;
      ASSERT_LE(number, kInstanceNumberMax);
      ASSERT_EQ(numbers.id_of(number), InstanceId{count});
      ASSERT_EQ(numbers.of(numbers.id_of(count)), count) << "each number is somebody's";
      ASSERT_TRUE(seen.insert(number).second);
    };
    for (std::uint64_t i = 0; i < 5'000; ++i) {
      check(1 + i);
      check(kInstanceNumberMax - i);
    }
  }
}

TEST(InstanceNumbers, WhatIsNoNumberLeadsToNoInstance) {
  SeededRandom random(1);
  const InstanceNumbers keyed(random);
  for (const InstanceNumbers& numbers : {InstanceNumbers(), keyed}) {
    for (const std::uint64_t wrong : {std::uint64_t{0}, kInstanceNumberMax + 1, UINT64_MAX}) {
      EXPECT_EQ(numbers.id_of(wrong), InstanceId{}) << wrong;
    }
    EXPECT_EQ(numbers.of(InstanceId{}), 0u);
  }
}

// A tenant with two numbers learns nothing of what was launched between them.
TEST(InstanceNumbers, OfLaterInstancesAreAsOftenSmallerAsLarger) {
  SeededRandom random(2);
  const InstanceNumbers numbers(random);
  int larger_count = 0;
  std::uint64_t smallest_gap = UINT64_MAX;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    const std::uint64_t one = numbers.of(InstanceId{i});
    const std::uint64_t next = numbers.of(InstanceId{i + 1});
    larger_count += next > one ? 1 : 0;
    smallest_gap = std::min(smallest_gap, next > one ? next - one : one - next);
  }
  EXPECT_NEAR(larger_count, 5'000, 300);
  EXPECT_GT(smallest_gap, std::uint64_t{1} << 30);
}

}  // namespace
}  // namespace quire
