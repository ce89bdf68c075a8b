#include "application/net/exchange_slots.h"

#include <gtest/gtest.h>

namespace quire::net {
namespace {

using control::TenantId;

struct Slots {
  explicit Slots(std::size_t count_max) : slots(count_max) {}
  Result<void> take(std::uint32_t tenant) {
    return slots.take(ExchangeId{++last}, TenantId{tenant});
  }
  int take_all(std::uint32_t tenant) {
    int count = 0;
    while (take(tenant).ok()) ++count;
    return count;
  }
  ExchangeSlots slots;
  std::uint64_t last = 0;
};

TEST(ExchangeSlots, TheOnlyTenantMayHaveAll) {
  Slots test(8);
  EXPECT_EQ(test.take_all(1), 8);
  EXPECT_EQ(
      test.take(1).error().message(),
      "all 8 HTTP exchanges of the server are in use, 8 of them by this tenant; try again later");
}

TEST(ExchangeSlots, OneOfSeveralLeavesHalfToWhoeverComes) {
  Slots test(8);
  test.slots.set_several(true);
  EXPECT_EQ(test.take_all(1), 4);
  EXPECT_EQ(test.take(1).error().message(),
            "the tenant's share of the HTTP exchanges of the server is in use, 4 exchanges; try "
            "again when one has ended");
  EXPECT_EQ(test.take_all(2), 2);
  EXPECT_EQ(test.take_all(3), 1);
  EXPECT_EQ(test.take_all(4), 1) << "one at least";
  test.slots.give(ExchangeId{1});
  EXPECT_FALSE(test.take(1).ok()) << "the others have so much by now";
  EXPECT_TRUE(test.take(5).ok());
}

TEST(ExchangeSlots, AnOperatorGivesATenantAnotherShare) {
  Slots test(8);
  test.slots.set_several(true);
  test.slots.set_share(TenantId{1}, 7);
  EXPECT_EQ(test.take_all(1), 7);
  EXPECT_EQ(test.take_all(2), 1);
  EXPECT_EQ(test.slots.count(), 8u);
}

}  // namespace
}  // namespace quire::net
