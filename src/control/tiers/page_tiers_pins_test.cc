// Tests of pinned pages: they stay, and one tenant's pins leave room for another's.
#include <gtest/gtest.h>

#include "control/tiers/page_tiers.h"
#include "support/tier_fixture.h"

namespace quire::control {
namespace {

TEST(PageTiers, PinnedPagesStayAndLeaveNoRoomForOthers) {
  TierFixture fixture(4);
  const NodeId first = fixture.node(1);
  const NodeId second = fixture.node(2);
  const NodeId third = fixture.node(3);
  const NodeId leaving = fixture.node(4);
  const NodeId last = fixture.node(5);
  fixture.keep(first, 1);
  fixture.keep(second, 2);
  fixture.keep(third, 3);
  ASSERT_TRUE(fixture.tiers.can_pin(kTenant, {first, second}));
  const PinId pin = fixture.tiers.pin(kTenant, first);
  const PinId second_pin = fixture.tiers.pin(kTenant, second);
  ASSERT_TRUE(fixture.tiers.can_pin(kOther, {third}));
  fixture.tiers.pin(kOther, third);
  ASSERT_TRUE(fixture.tiers.leave(leaving).has_value());
  EXPECT_FALSE(fixture.tiers.can_pin(kTenant, {last}));
  EXPECT_FALSE(fixture.keep(last, 5));
  EXPECT_EQ(fixture.tiers.counts().refused_count, 1u);
  fixture.tiers.unpin(kTenant, first, pin);
  fixture.tiers.unpin(kTenant, second, second_pin);
  EXPECT_TRUE(fixture.tiers.can_pin(kTenant, {last}));
  EXPECT_TRUE(fixture.keep(last, 5));
  EXPECT_EQ(fixture.restore(third), 3u);
  fixture.tiers.verify();
}

TEST(PageTiers, OneTenantsPinsLeaveHalfOfAllPlacesToOthers) {
  for (const std::uint32_t disk_pages : {0u, 5u}) {
    SCOPED_TRACE(disk_pages);
    TierFixture fixture(8 - disk_pages, disk_pages, 8);
    std::vector<NodeId> nodes;
    for (std::uint32_t token = 1; token <= 12; ++token) nodes.push_back(fixture.node(token));
    // Pages that a tenant could pin at once, it may pin one by one.
    const auto pin_all = [&](TenantId tenant, std::vector<NodeId> wanted) {
      std::uint32_t count = 0;
      for (const NodeId node : wanted) {
        if (!fixture.tiers.can_pin(tenant, {node})) break;
        EXPECT_TRUE(fixture.keep(node, count));
        fixture.tiers.pin(tenant, node);
        fixture.tiers.verify();
        ++count;
      }
      return count;
    };
    EXPECT_FALSE(fixture.tiers.can_pin(kTenant, {nodes.begin(), nodes.begin() + 5}));
    EXPECT_TRUE(fixture.tiers.can_pin(kTenant, {nodes.begin(), nodes.begin() + 4}));
    EXPECT_EQ(pin_all(kTenant, {nodes.begin(), nodes.begin() + 8}), 4u);
    EXPECT_EQ(pin_all(kOther, {nodes.begin() + 8, nodes.end()}), 2u);
    EXPECT_TRUE(fixture.tiers.can_pin(kTenant, {nodes[0], nodes[3]})) << "it has these already";
    EXPECT_FALSE(fixture.tiers.can_pin(kTenant, {nodes[0], nodes[4]}));
  }
}

TEST(PageTiers, APageCountsOnceForEachTenantThatPinsItUntilItsLastPin) {
  TierFixture fixture(8);
  std::vector<NodeId> nodes;
  for (std::uint32_t token = 1; token <= 6; ++token) nodes.push_back(fixture.node(token));
  fixture.keep(nodes[0], 7);
  const PinId pin = fixture.tiers.pin(kTenant, nodes[0]);
  for (int each = 0; each < 20; ++each) {
    EXPECT_EQ(fixture.tiers.pin_again(kTenant, nodes[0], pin), pin);
  }
  EXPECT_TRUE(fixture.tiers.can_pin(kTenant, {nodes[1], nodes[2], nodes[3]}));
  ASSERT_TRUE(fixture.tiers.can_pin(kOther, {nodes[0]}));
  fixture.tiers.pin(kOther, nodes[0]);
  EXPECT_FALSE(fixture.tiers.can_pin(kTenant, {nodes[1], nodes[2], nodes[3]}));
  EXPECT_EQ(fixture.tiers.pinned_page_count(), 1u);
  fixture.tiers.verify();
  const auto may_pin_three_more = [&] {
    return fixture.tiers.can_pin(kOther, {nodes[1], nodes[2], nodes[3], nodes[0]});
  };
  for (int each = 0; each < 21; ++each) {
    EXPECT_FALSE(may_pin_three_more());
    fixture.tiers.unpin(kTenant, nodes[0], pin);
    fixture.tiers.verify();
  }
  EXPECT_TRUE(may_pin_three_more());
  EXPECT_EQ(fixture.restore(nodes[0]), 7u) << "the other tenant pins it still";
}

TEST(PageTiers, APageThatIsLostIsPinnedByNobody) {
  TierFixture fixture(2);
  const NodeId page = fixture.node(1);
  const NodeId other = fixture.node(2);
  const std::optional<TransferId> transfer = fixture.tiers.leave(page);
  const PinId pin = fixture.tiers.pin(kTenant, page);
  EXPECT_FALSE(fixture.tiers.can_pin(kTenant, {other}));
  fixture.tiers.arrive(page, *transfer, Error(ErrorCode::Io, "the device lost it"));
  EXPECT_TRUE(fixture.tiers.can_pin(kTenant, {other}));
  fixture.tiers.verify();
  // The page comes again: for contexts that had lost it, it is another.
  fixture.keep(page, 2);
  EXPECT_EQ(fixture.tiers.pin_again(kTenant, page, pin), pin);
  EXPECT_EQ(fixture.tiers.pinned_page_count(), 0u);
  fixture.tiers.unpin(kTenant, page, pin);
  ASSERT_NE(fixture.tiers.loss(pin), nullptr);
  fixture.tiers.unpin(kTenant, page, pin);
  EXPECT_EQ(fixture.tiers.loss(pin), nullptr);
  EXPECT_TRUE(fixture.tiers.can_pin(kTenant, {other}));
  fixture.tiers.verify();
}

}  // namespace
}  // namespace quire::control
