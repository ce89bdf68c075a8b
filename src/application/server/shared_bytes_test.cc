#include "application/server/shared_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "base/seeds.h"

namespace quire::server {
namespace {

using control::TenantId;
using std::chrono::milliseconds;

class TestHolder final : public SharedBytes::Holder {
 public:
  TestHolder(SharedBytes& all, TenantId whose) : Holder(all, whose), tenant(whose) {}
  using Holder::give_all;
  using Holder::take;
  const TenantId tenant;
  int gave_way_count = 0;

 private:
  void give_way() override { ++gave_way_count; }
};

struct Bytes {
  explicit Bytes(std::uint64_t bytes_max) : all({bytes_max, milliseconds(60'000)}) {}
  TestHolder& add(std::uint32_t tenant) {
    holders.push_back(std::make_unique<TestHolder>(all, TenantId{tenant}));
    return *holders.back();
  }
  SharedBytes all;
  std::vector<std::unique_ptr<TestHolder>> holders;
  SharedBytes::Time now{};
};

TEST(SharedBytes, TheOnlyTenantMayHaveAllAndItsIdleHoldersGiveWayToItsOthers) {
  Bytes test(100);
  TestHolder& idle = test.add(1);
  TestHolder& busy = test.add(1);
  EXPECT_TRUE(idle.take(60, test.now));
  EXPECT_TRUE(busy.take(40, test.now));
  EXPECT_FALSE(busy.take(1, test.now)) << "nobody was idle for long";
  test.now += milliseconds(60'001);
  EXPECT_TRUE(busy.take(1, test.now));
  EXPECT_EQ(idle.gave_way_count, 1);
  EXPECT_EQ(idle.held_bytes(), 0u);
  EXPECT_EQ(test.all.held_bytes(), 41u);
}

TEST(SharedBytes, OneOfSeveralLeavesHalfToWhoeverComes) {
  Bytes test(100);
  test.all.set_several(true);
  TestHolder& first = test.add(1);
  EXPECT_TRUE(first.take(50, test.now));
  EXPECT_FALSE(first.take(1, test.now));
  EXPECT_TRUE(test.add(2).take(25, test.now));
  EXPECT_EQ(first.gave_way_count, 0);
}

TEST(SharedBytes, WhoHoldsMostGivesWayToOneThatWillHoldLess) {
  Bytes test(100);
  TestHolder& stale = test.add(1);
  TestHolder& fresh = test.add(1);
  EXPECT_TRUE(stale.take(30, test.now));
  EXPECT_TRUE(fresh.take(70, test.now)) << "nobody else was there";
  test.all.set_several(true);
  TestHolder& other = test.add(2);
  EXPECT_TRUE(other.take(10, test.now));
  EXPECT_EQ(stale.gave_way_count, 1) << "it has got nothing for longest";
  EXPECT_TRUE(other.take(5, test.now));
  EXPECT_EQ(fresh.gave_way_count, 0);
  EXPECT_TRUE(other.take(30, test.now)) << "45 of 100, where the other has 70";
  EXPECT_EQ(fresh.gave_way_count, 1);
  EXPECT_FALSE(other.take(50, test.now)) << "now it holds the most itself";
}

TEST(SharedBytes, ATenantMayHoldWhatTheOperatorGivesItAndTakesNothingMoreFromOthers) {
  Bytes test(100);
  test.all.set_several(true);
  test.all.set_share(TenantId{1}, 80);
  test.all.set_share(TenantId{2}, 10);
  TestHolder& much = test.add(1);
  EXPECT_TRUE(much.take(80, test.now)) << "more than half";
  EXPECT_FALSE(much.take(1, test.now));
  TestHolder& little = test.add(2);
  EXPECT_TRUE(little.take(10, test.now));
  EXPECT_FALSE(little.take(1, test.now)) << "though 10 are free, and the other has more";
  EXPECT_EQ(much.gave_way_count, 0);
  EXPECT_TRUE(test.add(3).take(5, test.now)) << "half of what these leave";
}

TEST(SharedBytes, AHolderThatEndsGivesItsBytesBack) {
  Bytes test(100);
  EXPECT_TRUE(test.add(1).take(100, test.now));
  test.holders.clear();
  EXPECT_EQ(test.all.held_bytes(), 0u);
  test.all.verify();
}

// Seeded takes and returns. A tenant that stays within its share always gets more, and no holder
// gives way for it. A holder gives way to another tenant only if that holds less afterward than the
// largest one held before.
TEST(SharedBytesPrograms, AreFairToWhoeverHoldsLittle) {
  for (const std::uint64_t seed : campaign_seeds(500)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::uint64_t most = 50 + random() % 500;
    Bytes test(most);
    const std::uint32_t tenant_count = 1 + random() % 4;
    test.all.set_several(tenant_count > 1);
    for (std::uint32_t each = 0; each < 8; ++each) test.add(1 + random() % tenant_count);
    for (int step = 0; step < 200; ++step) {
      test.now += milliseconds(random() % 20'000);
      TestHolder& holder = *test.holders[random() % test.holders.size()];
      if (random() % 5 == 0) {
        holder.give_all();
        continue;
      }
      const std::uint64_t wanted = 1 + random() % 60;
      const std::uint64_t own = test.all.held_bytes(holder.tenant);
      const std::uint64_t left = most - (test.all.held_bytes() - own);
      std::uint64_t largest_other = 0;
      std::vector<std::uint64_t> before;
      for (const auto& each : test.holders) {
        before.push_back(each->held_bytes());
        if (each->tenant == holder.tenant) continue;
        largest_other = std::max(largest_other, test.all.held_bytes(each->tenant));
      }
      const std::uint64_t held = holder.held_bytes();
      const bool took = holder.take(wanted, test.now);
      const std::uint64_t share = tenant_count > 1 ? left / 2 : left;
      if (own + wanted <= share) {
        EXPECT_TRUE(took);
        for (std::size_t each = 0; each < before.size(); ++each) {
          if (test.holders[each].get() != &holder) {
            EXPECT_EQ(test.holders[each]->held_bytes(), before[each]) << "nobody had to give way";
          }
        }
      }
      EXPECT_EQ(holder.held_bytes(), held + (took ? wanted : 0));
      for (std::size_t each = 0; each < before.size(); ++each) {
        const TestHolder& other = *test.holders[each];
        if (other.held_bytes() == before[each] || &other == &holder) continue;
        EXPECT_EQ(other.held_bytes(), 0u);
        if (other.tenant != holder.tenant && took) {
          EXPECT_GT(largest_other, test.all.held_bytes(holder.tenant));
        }
      }
      test.all.verify();
    }
  }
}

}  // namespace
}  // namespace quire::server
