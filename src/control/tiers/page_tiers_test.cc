#include "control/tiers/page_tiers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <random>

namespace quire::control {
namespace {

constexpr std::uint64_t kPageBytes = 64;
constexpr std::uint32_t kPageSize = 4;

PageBytes bytes_of(std::uint64_t value) {
  PageBytes bytes = PageBytes::uninitialised(kPageBytes);
  std::memset(bytes.span().data(), 0, kPageBytes);
  std::memcpy(bytes.span().data(), &value, sizeof(value));
  return bytes;
}

std::uint64_t value_of(const PageBytes& bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.span().data(), sizeof(value));
  return value;
}

// A cache whose pages are given up as soon as they are named: their nodes are what is left.
struct Fixture {
  explicit Fixture(std::uint32_t host_pages, std::uint32_t disk_pages = 0,
                   std::uint32_t staged_pages = 4)
      : cache(options()),
        tiers(cache, {.page_bytes = kPageBytes,
                      .host_bytes_max = host_pages * kPageBytes,
                      .disk_page_count_max = disk_pages,
                      .staged_bytes_max = staged_pages * kPageBytes}),
        root(cache.root({})) {}

  static PageCacheOptions options() {
    PageCacheOptions options;
    options.page_count = 64;
    options.space.page_size = kPageSize;
    return options;
  }

  // A node that has a name and, once its page is evicted, no bytes.
  NodeId node(std::uint32_t token, bool is_opaque = false) {
    std::vector<PageId> pages;
    EXPECT_TRUE(cache.take(1, pages));
    const std::vector<TokenId> tokens(kPageSize, TokenId{token});
    std::vector<std::uint32_t> positions(kPageSize);
    std::iota(positions.begin(), positions.end(), 0u);
    const NodeId made = cache.commit(pages[0], root, {.tokens = tokens, .positions = positions},
                                     HoldKind::Page, is_opaque);
    cache.hold_name(made);  // The test's own.
    cache.drop_page(made);
    return made;
  }
  bool keep(NodeId page, std::uint64_t value) {
    const std::optional<TransferId> transfer = tiers.leave(page);
    if (!transfer) return false;
    tiers.arrive(page, *transfer, bytes_of(value));
    return true;
  }
  // What comes back, and that it did.
  std::uint64_t restore(NodeId page) {
    Result<PageTiers::Taken> taken = tiers.take_bytes(page);
    EXPECT_TRUE(taken.ok());
    PageTiers::Taken bytes = std::move(taken).take();
    const std::uint64_t value = value_of(bytes.bytes);
    tiers.give_bytes(page, bytes.transfer, std::move(bytes.bytes), true);
    return value;
  }

  PageCache cache;
  PageTiers tiers;
  NodeId root;
};

TEST(PageTiers, AreOffWithoutRoomOrWithADeviceThatMovesNoPages) {
  Fixture none(0);
  EXPECT_FALSE(none.tiers.is_on());
  EXPECT_FALSE(none.tiers.leave(none.node(1)).has_value());
  PageTiers immobile(none.cache,
                     {.page_bytes = 0, .host_bytes_max = 1 << 20, .disk_page_count_max = 10});
  EXPECT_FALSE(immobile.is_on());
}

TEST(PageTiers, GiveBackTheBytesThatCame) {
  Fixture fixture(2);
  const NodeId page = fixture.node(1);
  EXPECT_TRUE(fixture.keep(page, 7));
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::Host);
  EXPECT_EQ(fixture.restore(page), 7u);
  EXPECT_EQ(fixture.restore(page), 7u) << "it stays until its place is wanted";
  fixture.tiers.verify();
}

TEST(PageTiers, ForgetThePageWantedLongestAgoWhereThereIsNoDisk) {
  Fixture fixture(2);
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
  Fixture fixture(1, 2);
  const NodeId first = fixture.node(1);
  const NodeId second = fixture.node(2);
  fixture.keep(first, 1);
  fixture.keep(second, 2);
  EXPECT_EQ(fixture.tiers.place(first), TierPlace::Disk);
  EXPECT_EQ(fixture.restore(first), 1u) << "its bytes are here until the disk has them";
  const auto unwritten = fixture.tiers.unwritten(8);
  ASSERT_EQ(unwritten.size(), 1u);
  EXPECT_EQ(value_of(*unwritten[0].bytes), 1u);
  fixture.tiers.handed_over(first, unwritten[0].transfer);
  fixture.tiers.written(first, unwritten[0].transfer, true);
  EXPECT_TRUE(fixture.tiers.is_to_be_read(first));
  const std::optional<TransferId> read = fixture.tiers.begin_read(first);
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(fixture.tiers.is_ready(first));
  fixture.tiers.end_read(first, *read, bytes_of(1));
  EXPECT_EQ(fixture.restore(first), 1u);
  EXPECT_TRUE(fixture.tiers.is_to_be_read(first)) << "nothing is staged for longer than needed";
  EXPECT_EQ(fixture.tiers.staged_page_count(), 0u);
  fixture.tiers.verify();
}

TEST(PageTiers, WhatTheDiskCouldNotWriteIsForgotten) {
  Fixture fixture(0, 2);
  const NodeId page = fixture.node(1);
  EXPECT_TRUE(fixture.keep(page, 1));
  const auto unwritten = fixture.tiers.unwritten(8);
  ASSERT_EQ(unwritten.size(), 1u);
  fixture.tiers.handed_over(page, unwritten[0].transfer);
  fixture.tiers.written(page, unwritten[0].transfer, false);
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::None);
  EXPECT_EQ(fixture.tiers.counts().damaged_count, 1u);
  EXPECT_EQ(fixture.tiers.take_forgotten().size(), 1u);
  fixture.tiers.verify();
}

TEST(PageTiers, PinnedPagesStayAndLeaveNoRoomForOthers) {
  Fixture fixture(2);
  const NodeId first = fixture.node(1);
  const NodeId second = fixture.node(2);
  const NodeId third = fixture.node(3);
  fixture.keep(first, 1);
  fixture.keep(second, 2);
  const PinId pin = fixture.tiers.pin(first);
  fixture.tiers.pin(second);
  EXPECT_FALSE(fixture.tiers.can_pin({third}));
  EXPECT_FALSE(fixture.keep(third, 3));
  EXPECT_EQ(fixture.tiers.counts().refused_count, 1u);
  fixture.tiers.unpin(first, pin);
  EXPECT_TRUE(fixture.tiers.can_pin({third}));
  EXPECT_TRUE(fixture.keep(third, 3));
  EXPECT_EQ(fixture.restore(second), 2u);
  fixture.tiers.verify();
}

TEST(PageTiers, AnOpaquePageIsForgottenWhenNobodyPinsIt) {
  Fixture fixture(2);
  std::vector<PageId> pages;
  ASSERT_TRUE(fixture.cache.take(1, pages));
  const std::vector<TokenId> tokens(kPageSize, TokenId{1});
  const std::vector<std::uint32_t> positions{0, 1, 2, 3};
  const NodeId page = fixture.cache.commit(
      pages[0], fixture.root, {.tokens = tokens, .positions = positions}, HoldKind::Page, true);
  fixture.cache.hold_name(page);
  const std::optional<TransferId> transfer = fixture.tiers.leave(page);
  const PinId pin = fixture.tiers.pin(page);
  fixture.tiers.arrive(page, *transfer, bytes_of(9));
  EXPECT_EQ(fixture.restore(page), 9u);
  fixture.tiers.unpin(page, pin);
  EXPECT_EQ(fixture.tiers.place(page), TierPlace::None);
  fixture.tiers.verify();
}

TEST(PageTiers, BytesThatComeForAPageForgottenMeanwhileFindNobody) {
  Fixture fixture(2);
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
  Fixture fixture(2);
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
    Fixture fixture(below(4), below(6), 1 + below(4));
    PageTiers& tiers = fixture.tiers;
    std::vector<NodeId> nodes;
    for (std::uint32_t token = 1; token <= 12; ++token) nodes.push_back(fixture.node(token));
    std::map<NodeId, std::uint64_t> values;
    std::map<NodeId, std::pair<TransferId, std::uint64_t>> leaving;
    std::map<NodeId, TransferId> reading;
    std::vector<std::pair<NodeId, PinId>> pins;
    for (int step = 0; step < 400; ++step) {
      const NodeId page = nodes[below(12)];
      switch (below(8)) {
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
          if (tiers.has(page) && pins.size() < 3) pins.emplace_back(page, tiers.pin(page));
          break;
        case 5:
          if (pins.empty()) break;
          tiers.unpin(pins.back().first, pins.back().second);
          pins.pop_back();
          break;
        case 6:
          for (const auto& each : tiers.unwritten(1 + below(3))) {
            ASSERT_EQ(value_of(*each.bytes), values.at(each.node));
            const TransferId transfer = each.transfer;
            const NodeId node = each.node;
            tiers.handed_over(node, transfer);
            tiers.written(node, transfer, below(8) != 0);
            break;
          }
          break;
        case 7:
          if (tiers.is_to_be_read(page)) {
            if (const auto transfer = tiers.begin_read(page)) reading[page] = *transfer;
          } else if (reading.contains(page) && tiers.is_reading(page, reading[page])) {
            tiers.end_read(page, reading[page], bytes_of(values.at(page)));
          }
          break;
      }
      tiers.verify();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace quire::control
