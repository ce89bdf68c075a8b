// Forks of a context that is swapped: they share their bytes in memory, and no other tenant pays
// for them. Swapped contexts of one tenant leave room on the tiers for those of other tenants.
#include <gtest/gtest.h>

#include "control/page_guest.h"

namespace quire::control::swapped_forks_test {
namespace {

constexpr std::uint32_t kPageCount = 16;
constexpr std::uint32_t kPageSize = 16;

class SwappedForks : public testing::Test {
 protected:
  static Harness::Options options_of(std::uint64_t host_page_count = 100) {
    Harness::Options options;
    options.device.page_count = kPageCount;
    options.device.row_count_max = 256;
    options.controller.costs.choice = TierChoice::Restore;
    options.controller.tiers.host_bytes_max = host_page_count * 24 * kPageSize;
    return options;
  }
  // Five tokens in a page that is not full, after one with a part that was dropped.
  ObjectId swappable(PageGuest& guest, std::uint32_t first = 1) {
    const ObjectId context = harness.context(guest.id, guest.queue);
    guest.send(ContextAppend{context, count_tokens(16, first)});
    guest.send(ContextFlush{context});
    guest.send(ContextDropRange{context, 4, 8});
    guest.send(ContextAppend{context, count_tokens(5, first)});
    guest.send(ContextFlush{context});
    harness.run();
    return context;
  }
  // Takes the whole pool for a while: idle contexts must give way.
  std::optional<ErrorCode> press() {
    PageGuest greedy(harness, TenantId{9});
    const FutureId all = greedy.send(AllocPages{greedy.queue, harness.new_objects(kPageCount)});
    harness.run_until(greedy.id, all);
    harness.clock.advance_ns(10'000'000'000);
    harness.run();
    const std::optional<ErrorCode> error = harness.error(greedy.id, all);
    harness.controller->end_instance(greedy.id);
    harness.run();
    return error;
  }
  std::string next(PageGuest& guest, ObjectId context) {
    const auto output = harness.embeds(guest.id, guest.queue, 1);
    guest.send(ContextAppend{context, {7, 8, 9}});
    guest.send(ContextForward{context, output});
    const FutureId future = guest.send(GetNextDist{guest.queue, output[0], 4});
    harness.run_until(guest.id, future);
    return guest.text_of(future);
  }
  // The next tokens of a swappable context that was not disturbed.
  std::string undisturbed(PageGuest& guest, std::uint32_t first = 1) {
    const ObjectId context = swappable(guest, first);
    std::string wanted = next(guest, context);
    guest.send(ContextDrop{context});
    return wanted;
  }
  std::uint64_t swaps() const { return harness.controller->tier_statistics().swap_count; }

  explicit SwappedForks(std::uint64_t host_page_count = 100)
      : harness(options_of(host_page_count)) {}

  Harness harness;
};

class SwappedTenants : public SwappedForks {
 protected:
  SwappedTenants() : SwappedForks(8) {}
};

TEST_F(SwappedForks, AreAsManyAsOneLikesAndKeepNobodyElseInThePool) {
  PageGuest many(harness, TenantId{1});
  const ObjectId origin = swappable(many);
  EXPECT_FALSE(press());
  ASSERT_EQ(swaps(), 1u);
  for (int each = 0; each < 1100; ++each) many.send(ContextFork{origin, harness.new_object()});
  harness.run();
  PageGuest other(harness, TenantId{2});
  swappable(other, 30);
  EXPECT_FALSE(press()) << "the other tenant's context gave way";
  EXPECT_EQ(swaps(), 2u);
}

TEST_F(SwappedForks, ComeBackEachWithItsOwnTailInAnyOrder) {
  PageGuest guest(harness, TenantId{1});
  const std::string wanted = undisturbed(guest);
  const ObjectId origin = swappable(guest);
  EXPECT_FALSE(press());
  std::vector<ObjectId> all{origin};
  for (int each = 0; each < 3; ++each) {
    all.push_back(harness.new_object());
    guest.send(ContextFork{all[static_cast<std::size_t>(each)], all.back()});
  }
  harness.run();
  EXPECT_EQ(next(guest, all[1]), wanted);
  EXPECT_EQ(next(guest, all[0]), wanted) << "the one that the others were forked from";
  guest.send(ContextDrop{all[2]});
  EXPECT_EQ(next(guest, all[3]), wanted) << "the last, which shares with nobody";
}

TEST_F(SwappedForks, HoldNoMoreThanTheLimitWhenTheyAreBackAtOnce) {
  constexpr std::uint32_t kQuota = 4;
  PageGuest guest(harness, TenantId{1}, {.page_count_max = kQuota});
  std::vector<ObjectId> all{swappable(guest)};
  EXPECT_FALSE(press());
  ASSERT_EQ(swaps(), 1u);
  for (int each = 0; each < 5; ++each) {
    all.push_back(harness.new_object());
    guest.send(ContextFork{all.front(), all.back()});
  }
  harness.run();
  std::vector<FutureId> futures;
  for (const ObjectId context : all) {
    guest.send(ContextAppend{context, {7}});
    futures.push_back(guest.send(ContextFlush{context}));
  }
  while (harness.step()) {
    EXPECT_LE(harness.controller->statistics(guest.id).page_count, kQuota);
  }
  harness.run();
  // One page that they all have, and three tails.
  std::size_t granted = 0;
  for (const FutureId future : futures) {
    const std::optional<ErrorCode> error = harness.error(guest.id, future);
    granted += !error;
    EXPECT_EQ(error.value_or(ErrorCode::QuotaExceeded), ErrorCode::QuotaExceeded);
  }
  EXPECT_EQ(granted, kQuota - 1);
  EXPECT_EQ(harness.controller->statistics(guest.id).page_count, kQuota);
}

TEST_F(SwappedTenants, LeaveRoomOnTheTiersForOneAnother) {
  PageGuest greedy(harness, TenantId{1});
  std::vector<ObjectId> flood;
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t each = 0; each < 3; ++each) {
      flood.push_back(swappable(greedy, 1 + 30 * static_cast<std::uint32_t>(flood.size())));
    }
    (void)press();
  }
  EXPECT_EQ(swaps(), 4u) << "each pins a page of eight";
  EXPECT_EQ(press(), ErrorCode::NoFreePage) << "the others stay in the pool";
  PageGuest other(harness, TenantId{2});
  const std::string wanted = undisturbed(other, 400);
  const ObjectId context = swappable(other, 400);
  (void)press();
  EXPECT_EQ(swaps(), 5u) << "the other tenant's context gave way";
  EXPECT_EQ(next(other, context), wanted);
  // Room that is given back can be had again.
  for (std::size_t each = 0; each < 4; ++each) greedy.send(ContextDrop{flood[each]});
  harness.run();
  (void)press();
  EXPECT_GE(swaps(), 8u);
}

TEST_F(SwappedForks, AForkThatWritesInTheBatchThatSavesTheOtherLeavesItsTailAlone) {
  PageGuest guest(harness, TenantId{1});
  const std::string wanted = undisturbed(guest);
  const ObjectId origin = swappable(guest);
  const ObjectId fork = harness.new_object();
  guest.send(ContextFork{origin, fork});
  guest.send(ContextEdit{origin, ContextEditKind::ReservePages, 12});
  harness.run();
  // The origin gives way to the pages, in the batch in which the fork writes to what they share.
  const std::vector<ObjectId> pages = guest.alloc(4);
  guest.send(ContextEdit{fork, ContextEditKind::Truncate, 3});
  guest.send(ContextAppend{fork, {40, 41, 42}});
  guest.send(ContextFlush{fork});
  harness.run();
  ASSERT_EQ(swaps(), 1u);
  guest.dealloc(pages);
  guest.send(ContextDrop{fork});
  EXPECT_EQ(next(guest, origin), wanted);
}

}  // namespace
}  // namespace quire::control::swapped_forks_test
