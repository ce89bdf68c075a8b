#include "control/tiers/page_tiers.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/tier_fixture.h"

namespace quire::control {
namespace {

TEST(PageTiers, AreOffWithoutRoomOrWithADeviceThatMovesNoPages) {
  TierFixture none(0);
  EXPECT_FALSE(none.tiers.is_on());
  EXPECT_FALSE(none.tiers.leave(none.node(1)).has_value());
  PageTiers immobile(none.cache,
                     {.page_bytes = 0, .host_bytes_max = 1 << 20, .disk_page_count_max = 10});
  EXPECT_FALSE(immobile.is_on());
}

TEST(PageTiers, GiveBackTheBytesThatCame) {
  TierFixture fixture(2);
  const NodeId page = fixture.node(1);
  EXPECT_TRUE(fixture.keep(page, 7));
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::Host);
  EXPECT_EQ(fixture.restore(page), 7u);
  EXPECT_EQ(fixture.restore(page), 7u) << "it stays until its place is wanted";
  fixture.tiers.verify();
}

TEST(PageTiers, ForgetThePageWantedLongestAgoWhereThereIsNoDisk) {
  TierFixture fixture(2);
  const NodeId first = fixture.node(1);
  const NodeId second = fixture.node(2);
  const NodeId third = fixture.node(3);
  fixture.keep(first, 1);
  fixture.keep(second, 2);
  fixture.tiers.touch(first);
  EXPECT_TRUE(fixture.keep(third, 3));
  EXPECT_EQ(fixture.tiers.place(second), TierPlace::None);
  EXPECT_EQ(fixture.restore(first), 1u);
  EXPECT_EQ(fixture.restore(third), 3u);
  EXPECT_EQ(fixture.tiers.counts().forgotten_count, 1u);
  fixture.tiers.verify();
}

TEST(PageTiers, PassItOnToTheDiskWhereThereIsOne) {
  TierFixture fixture(1, 2);
  const NodeId first = fixture.node(1);
  const NodeId second = fixture.node(2);
  fixture.keep(first, 1);
  fixture.keep(second, 2);
  EXPECT_EQ(fixture.tiers.place(first), TierPlace::Disk);
  EXPECT_EQ(fixture.restore(first), 1u) << "its bytes are here until the disk has them";
  const auto unwritten = fixture.tiers.unwritten(8);
  ASSERT_EQ(unwritten.size(), 1u);
  PageBytes bytes = fixture.tiers.hand_over(first, unwritten[0].transfer);
  EXPECT_EQ(value_of(bytes), 1u);
  EXPECT_FALSE(fixture.tiers.is_ready(first));
  EXPECT_FALSE(fixture.tiers.is_to_be_read(first)) << "the disk does not have it yet";
  fixture.tiers.written(first, unwritten[0].transfer, {}, std::move(bytes));
  EXPECT_TRUE(fixture.tiers.is_to_be_read(first));
  const std::optional<TransferId> read = fixture.tiers.begin_read(first);
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(fixture.tiers.is_ready(first));
  fixture.tiers.end_read(first, *read, read_of(1));
  EXPECT_EQ(fixture.restore(first), 1u);
  EXPECT_TRUE(fixture.tiers.is_to_be_read(first)) << "nothing is staged for longer than needed";
  EXPECT_EQ(fixture.tiers.staged_page_count(), 0u);
  fixture.tiers.verify();
}

TEST(PageTiers, APageWithALongViewGoesToHostMemoryOrNowhere) {
  TierFixture disk(0, 4);
  const NodeId longest = disk.node(1, kViewBytesMax);
  const NodeId too_long = disk.node(2, kViewBytesMax + 1);
  EXPECT_TRUE(disk.tiers.can_pin(kTenant, {longest}));
  EXPECT_FALSE(disk.tiers.can_pin(kTenant, {longest, too_long}));
  EXPECT_FALSE(disk.keep(too_long, 2));
  EXPECT_TRUE(disk.keep(longest, 1));
  disk.tiers.verify();
  TierFixture both(1, 4);
  const NodeId first = both.node(1, kViewBytesMax + 1);
  const NodeId second = both.node(2);
  EXPECT_TRUE(both.tiers.can_pin(kTenant, {second, first}));
  EXPECT_FALSE(both.tiers.can_pin(kTenant, {first, both.node(3, kViewBytesMax + 1)}));
  EXPECT_TRUE(both.keep(first, 1));
  EXPECT_TRUE(both.keep(second, 2)) << "it takes the other's place in host memory";
  EXPECT_EQ(both.tiers.place(first), TierPlace::None) << "and the other has no place on disk";
  both.tiers.verify();
}

TEST(PageTiers, NothingReadGivesWayForAPageThatFindsNoPlace) {
  TierFixture fixture(0, 1, 1);
  const NodeId page = fixture.node(1);
  EXPECT_TRUE(fixture.keep(page, 1));
  const auto unwritten = fixture.tiers.unwritten(8);
  PageBytes bytes = fixture.tiers.hand_over(page, unwritten[0].transfer);
  fixture.tiers.written(page, unwritten[0].transfer, {}, std::move(bytes));
  fixture.tiers.pin(kTenant, page);
  const std::optional<TransferId> read = fixture.tiers.begin_read(page);
  ASSERT_TRUE(read.has_value());
  fixture.tiers.end_read(page, *read, read_of(1));
  ASSERT_TRUE(fixture.tiers.is_ready(page));
  EXPECT_FALSE(fixture.keep(fixture.node(2), 2)) << "the disk is full of what is pinned";
  EXPECT_TRUE(fixture.tiers.is_ready(page));
  EXPECT_EQ(fixture.restore(page), 1u);
  fixture.tiers.verify();
}

TEST(PageTiers, APinnedPageThatTheDiskCouldNotWriteStaysInMemoryAndIsOfferedAgain) {
  TierFixture fixture(0, 2, 1);
  const NodeId page = fixture.node(1);
  EXPECT_TRUE(fixture.keep(page, 1));
  const PinId pin = fixture.tiers.pin(kTenant, page);
  const TransferId transfer = fixture.tiers.unwritten(8).at(0).transfer;
  const auto try_to_write = [&](const Result<void>& outcome) {
    PageBytes bytes = fixture.tiers.hand_over(page, transfer);
    fixture.tiers.written(page, transfer, outcome.ok() ? Result<void>() : outcome.error().copy(),
                          std::move(bytes));
    fixture.tiers.verify();
  };
  std::uint64_t now_ns = 1;
  for (const char* reason : {"full", "full still"}) {
    fixture.cache.set_time(now_ns);
    try_to_write(Error(ErrorCode::Io, reason));
    EXPECT_TRUE(fixture.tiers.is_ready(page));
    EXPECT_TRUE(fixture.tiers.unwritten(8).empty()) << "not at once";
    ASSERT_NE(fixture.tiers.staging_blocked_by(), nullptr);
    EXPECT_EQ(fixture.tiers.staging_blocked_by()->message(), "full");
    now_ns += 1'000'000'000;
    fixture.cache.set_time(now_ns);
    EXPECT_EQ(fixture.tiers.staging_blocked_by(), nullptr);
    ASSERT_EQ(fixture.tiers.unwritten(8).size(), 1u);
  }
  EXPECT_EQ(fixture.restore(page), 1u);
  try_to_write({});
  EXPECT_TRUE(fixture.tiers.is_to_be_read(page));
  EXPECT_EQ(fixture.tiers.staged_page_count(), 0u);
  EXPECT_EQ(fixture.tiers.counts().damaged_count, 0u);
  fixture.tiers.unpin(kTenant, page, pin);
  fixture.tiers.verify();
}

TEST(PageTiers, AFailureOfTheDiskToReadCostsNoPinnedPageAndDamageSaysWhy) {
  TierFixture fixture(0, 2);
  const NodeId page = fixture.node(1);
  EXPECT_TRUE(fixture.keep(page, 1));
  const PinId pin = fixture.tiers.pin(kTenant, page);
  const PinId second = fixture.tiers.pin_again(kTenant, page, pin);
  const TransferId written = fixture.tiers.unwritten(8).at(0).transfer;
  PageBytes bytes = fixture.tiers.hand_over(page, written);
  fixture.tiers.written(page, written, {}, std::move(bytes));
  fixture.tiers.end_read(page, *fixture.tiers.begin_read(page), Error(ErrorCode::Io, "not now"));
  EXPECT_TRUE(fixture.tiers.is_to_be_read(page));
  const std::optional<Error> error = fixture.tiers.take_read_error(page);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->message(), "not now");
  EXPECT_FALSE(fixture.tiers.take_read_error(page).has_value());
  fixture.tiers.verify();
  fixture.tiers.end_read(page, *fixture.tiers.begin_read(page),
                         Error(ErrorCode::Corrupted, "a wrong checksum"));
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::None);
  EXPECT_EQ(fixture.tiers.pin_again(kTenant, page, pin), pin);
  for (const PinId each : {pin, second, pin}) {
    ASSERT_NE(fixture.tiers.loss(each), nullptr);
    EXPECT_EQ(fixture.tiers.loss(each)->message(), "a wrong checksum");
    fixture.tiers.unpin(kTenant, page, each);
  }
  EXPECT_EQ(fixture.tiers.loss(pin), nullptr) << "nobody asks any more";
  fixture.tiers.verify();
}

TEST(PageTiers, BytesThatWereFoundDamagedAreLostAlsoWherePinned) {
  TierFixture fixture(0, 2);
  const NodeId page = fixture.node(1);
  EXPECT_TRUE(fixture.keep(page, 1));
  const PinId pin = fixture.tiers.pin(kTenant, page);
  const PageTiers::Unwritten unwritten = fixture.tiers.unwritten(8).at(0);
  PageBytes bytes = fixture.tiers.hand_over(page, unwritten.transfer);
  EXPECT_EQ(unwritten.checksum, store::checksum(bytes.span()));
  fixture.tiers.found_damaged(page, unwritten.transfer,
                              Error(ErrorCode::Corrupted, "it changed in memory"),
                              std::move(bytes));
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::None);
  ASSERT_NE(fixture.tiers.loss(pin), nullptr);
  EXPECT_EQ(fixture.tiers.loss(pin)->message(), "it changed in memory");
  EXPECT_EQ(fixture.tiers.counts().damaged_count, 1u);
  fixture.tiers.unpin(kTenant, page, pin);
  fixture.tiers.verify();
}

TEST(PageTiersDeathTest, BytesThatAreNotHereCannotBeTaken) {
  TierFixture fixture(1);
  const NodeId page = fixture.node(1);
  const std::optional<TransferId> transfer = fixture.tiers.leave(page);
  ASSERT_TRUE(transfer.has_value());
  EXPECT_DEATH((void)fixture.tiers.take_bytes(page), "not here");
}

TEST(PageTiers, BytesThatChangedInMemoryAreNotGivenBack) {
  TierFixture fixture(2);
  const NodeId page = fixture.node(1);
  fixture.keep(page, 1);
  Result<PageTiers::Taken> taken = fixture.tiers.take_bytes(page);
  ASSERT_TRUE(taken.ok());
  taken.value().bytes.span()[3] ^= std::byte{1};
  fixture.tiers.give_bytes(page, taken.value().transfer, std::move(taken.value().bytes), true);
  taken = fixture.tiers.take_bytes(page);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code(), ErrorCode::Corrupted);
  EXPECT_EQ(fixture.tiers.counts().damaged_count, 1u);
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::None);
}

TEST(PageTiers, WhatTheDiskCouldNotWriteIsForgotten) {
  TierFixture fixture(0, 2);
  const NodeId page = fixture.node(1);
  EXPECT_TRUE(fixture.keep(page, 1));
  const auto unwritten = fixture.tiers.unwritten(8);
  ASSERT_EQ(unwritten.size(), 1u);
  PageBytes bytes = fixture.tiers.hand_over(page, unwritten[0].transfer);
  fixture.tiers.written(page, unwritten[0].transfer, Error(ErrorCode::Io, "full"),
                        std::move(bytes));
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::None);
  EXPECT_EQ(fixture.tiers.counts().damaged_count, 1u);
  EXPECT_EQ(fixture.tiers.take_forgotten().size(), 1u);
  fixture.tiers.verify();
}

TEST(PageTiers, AnOpaquePageIsForgottenWhenNobodyPinsIt) {
  TierFixture fixture(2);
  std::vector<PageId> pages;
  ASSERT_TRUE(fixture.cache.take(1, pages));
  const std::vector<TokenId> tokens(kPageSize, TokenId{1});
  const std::vector<std::uint32_t> positions{0, 1, 2, 3};
  const NodeId page = fixture.cache.commit(
      pages[0], fixture.root, {.tokens = tokens, .positions = positions}, HoldKind::Page, true);
  fixture.cache.hold_name(page);
  const std::optional<TransferId> transfer = fixture.tiers.leave(page);
  const PinId pin = fixture.tiers.pin(kTenant, page);
  fixture.tiers.arrive(page, *transfer, bytes_of(9));
  EXPECT_EQ(fixture.restore(page), 9u);
  fixture.tiers.unpin(kTenant, page, pin);
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::None);
  fixture.tiers.verify();
}

TEST(PageTiers, BytesThatComeForAPageForgottenMeanwhileFindNobody) {
  TierFixture fixture(2);
  const NodeId page = fixture.node(1);
  const std::optional<TransferId> late = fixture.tiers.leave(page);
  ASSERT_TRUE(late.has_value());
  fixture.tiers.forget(page);
  const std::optional<TransferId> next = fixture.tiers.leave(page);
  fixture.tiers.arrive(page, *late, bytes_of(1));
  EXPECT_FALSE(fixture.tiers.is_ready(page));
  fixture.tiers.arrive(page, *next, bytes_of(2));
  EXPECT_EQ(fixture.restore(page), 2u);
  fixture.tiers.verify();
}

TEST(PageTiers, AFailedSaveLeavesNothingBehind) {
  TierFixture fixture(2);
  const NodeId page = fixture.node(1);
  const std::optional<TransferId> transfer = fixture.tiers.leave(page);
  fixture.tiers.arrive(page, *transfer, Error(ErrorCode::Io, "the device lost it"));
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::None);
  EXPECT_EQ(fixture.tiers.host_page_count(), 0u);
  EXPECT_EQ(fixture.tiers.counts().damaged_count, 1u);
  fixture.tiers.verify();
}

// Beside a map from page to value: what is ready gives its value, whatever was done to the others.
TEST(PageTiers, AgreeWithAMapUnderRandomUse) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint32_t bound) {
      return static_cast<std::uint32_t>(random() % bound);
    };
    TierFixture fixture(below(4), below(6), 1 + below(4));
    PageTiers& tiers = fixture.tiers;
    std::vector<NodeId> nodes;
    for (std::uint32_t token = 1; token <= 12; ++token) nodes.push_back(fixture.node(token));
    std::map<NodeId, std::uint64_t> values;
    std::map<NodeId, std::pair<TransferId, std::uint64_t>> leaving;
    std::map<NodeId, TransferId> reading;
    struct Writing {
      NodeId node;
      TransferId transfer;
      PageBytes bytes;
    };
    std::vector<Writing> writing;
    struct Pin {
      TenantId tenant;
      NodeId node;
      PinId id;
    };
    std::vector<Pin> pins;
    for (int step = 0; step < 400; ++step) {
      const NodeId page = nodes[below(12)];
      switch (below(9)) {
        case 0:
        case 1:
          if (tiers.has(page)) break;
          if (const auto transfer = tiers.leave(page)) leaving[page] = {*transfer, random()};
          break;
        case 2:
          if (leaving.empty()) break;
          values[leaving.begin()->first] = leaving.begin()->second.second;
          tiers.arrive(leaving.begin()->first, leaving.begin()->second.first,
                       bytes_of(leaving.begin()->second.second));
          leaving.erase(leaving.begin());
          break;
        case 3:
          if (!tiers.is_ready(page)) break;
          ASSERT_EQ(fixture.restore(page), values.at(page));
          break;
        case 4:
          if (pins.size() == 5) break;
          if (const TenantId tenant{1 + below(2)};
              tiers.has(page) && tiers.can_pin(tenant, {page})) {
            pins.push_back({tenant, page, tiers.pin(tenant, page)});
          } else if (!pins.empty()) {
            const Pin again = pins[below(static_cast<std::uint32_t>(pins.size()))];
            ASSERT_EQ(tiers.pin_again(again.tenant, again.node, again.id), again.id);
            pins.push_back(again);
          }
          break;
        case 5:
          if (pins.empty()) break;
          tiers.unpin(pins.back().tenant, pins.back().node, pins.back().id);
          pins.pop_back();
          break;
        case 6:
          for (const auto& each : tiers.unwritten(1 + below(3))) {
            PageBytes bytes = tiers.hand_over(each.node, each.transfer);
            ASSERT_EQ(value_of(bytes), values.at(each.node));
            if (below(8) == 0) {
              tiers.take_back(each.node, each.transfer, std::move(bytes));
            } else {
              writing.push_back({each.node, each.transfer, std::move(bytes)});
            }
            break;
          }
          break;
        case 7:
          if (tiers.is_to_be_read(page)) {
            if (const auto transfer = tiers.begin_read(page)) reading[page] = *transfer;
          } else if (reading.contains(page) && tiers.is_reading(page, reading[page])) {
            tiers.end_read(page, reading[page], read_of(values.at(page)));
          }
          break;
        case 8:
          fixture.cache.set_time(fixture.cache.now_ns() + 1'000'000'000);
          if (writing.empty()) break;
          tiers.written(writing.front().node, writing.front().transfer,
                        below(8) != 0 ? Result<void>() : Error(ErrorCode::Io, "full"),
                        std::move(writing.front().bytes));
          writing.erase(writing.begin());
          break;
      }
      tiers.verify();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace quire::control
