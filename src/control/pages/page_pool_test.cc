#include "control/pages/page_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

namespace quire::control::page_pool_test {
namespace {

TEST(PagePool, RefusesWhenEmptyAndRecoversWhenAHoldIsGivenBack) {
  PagePool pool(1);
  const PageId page = *pool.allocate();
  pool.retain(page);
  EXPECT_FALSE(pool.allocate());
  EXPECT_EQ(pool.release(page), 1u);
  EXPECT_FALSE(pool.allocate());
  EXPECT_EQ(pool.release(page), 0u);
  EXPECT_EQ(*pool.allocate(), page);
  EXPECT_EQ(pool.generation(page), 2u);
}

TEST(PagePool, TheMostThatWereHeldAtOnceIsNoSumOfWhatWasTaken) {
  PagePool pool(4);
  const PageId first = *pool.allocate();
  pool.retain(first);
  const PageId second = *pool.allocate();
  EXPECT_EQ(pool.held_count_max(), 2u);
  pool.commit(second);
  pool.release(second);  // Cold: it may be found, and is not held.
  EXPECT_EQ(pool.held_count(), 1u);
  const PageId third = *pool.allocate();
  pool.release(third);
  EXPECT_EQ(pool.held_count_max(), 2u);
  *pool.allocate();
  pool.revive(second);
  EXPECT_EQ(pool.held_count(), 3u);
  EXPECT_EQ(pool.held_count_max(), 3u);
}

TEST(PagePool, APageGivenBackUnderABatchWaitsForTheNewestOfThatMoment) {
  PagePool pool(2);
  const PageId first = *pool.allocate();
  const PageId second = *pool.allocate();
  pool.open_batch(BatchId{1});
  pool.release(first);
  pool.open_batch(BatchId{2});
  pool.release(second);
  pool.verify();
  EXPECT_FALSE(pool.allocate());
  pool.complete_batch(BatchId{1});
  EXPECT_EQ(*pool.allocate(), first);
  EXPECT_FALSE(pool.allocate());
  pool.complete_batch(BatchId{2});
  EXPECT_EQ(*pool.allocate(), second);
}

TEST(PagePool, AVacatedPageIsFreeWhenTheBatchThatReadsItIsDone) {
  PagePool pool(1);
  const PageId page = *pool.allocate();
  pool.commit(page);
  pool.release(page);
  pool.open_batch(BatchId{1});
  pool.vacate(page);
  EXPECT_EQ(pool.state(page), PageState::Fenced);
  EXPECT_FALSE(pool.allocate());
  pool.verify();
  pool.complete_batch(BatchId{1});
  EXPECT_EQ(*pool.allocate(), page);
}

// Drives the pool with random operations beside a map of what each page is.
TEST(PagePool, AgreesWithItsModelUnderRandomUse) {
  const char* given = std::getenv("QUIRE_TEST_SEED");
  const unsigned seed = given != nullptr ? unsigned(std::atoi(given)) : std::random_device{}();
  SCOPED_TRACE("QUIRE_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  struct Model {
    PageState state = PageState::Working;
    int holds = 1;
    std::uint64_t fence = 0;
  };
  constexpr std::uint32_t kPageCount = 7;  // Small, so that exhaustion is common.
  PagePool pool(kPageCount);
  std::map<PageId, Model> model;  // Everything that is not Free.
  std::uint64_t newest = 0;
  std::uint64_t completed = 0;
  for (int step = 0; step < 20'000; ++step) {
    const PageId page{static_cast<std::uint32_t>(random() % kPageCount)};
    const auto found = model.find(page);
    const bool is_live = found != model.end() && found->second.holds > 0;
    switch (random() % 9) {
      case 0: {
        const auto fresh = pool.allocate();
        ASSERT_EQ(fresh.has_value(), model.size() < kPageCount);
        if (fresh) {
          ASSERT_TRUE(model.emplace(*fresh, Model{}).second);
        }
        break;
      }
      case 1:
        if (is_live) pool.retain(page), ++found->second.holds;
        break;
      case 2:
      case 3:
        if (!is_live) break;
        ASSERT_EQ(pool.release(page), static_cast<std::uint32_t>(--found->second.holds));
        if (found->second.holds > 0) break;
        found->second.fence = newest;
        if (found->second.state == PageState::Committed)
          found->second.state = PageState::Cold;
        else if (newest > completed)
          found->second.state = PageState::Fenced;
        else
          model.erase(found);
        break;
      case 4:
        if (is_live && found->second.state == PageState::Working) {
          pool.seal(page);
          found->second.state = PageState::Sealed;
        } else if (is_live && found->second.state == PageState::Sealed &&
                   found->second.holds == 1) {
          pool.reopen(page);
          found->second.state = PageState::Working;
        }
        break;
      case 5:
        if (is_live && found->second.state == PageState::Working && found->second.holds == 1) {
          pool.commit(page);
          found->second.state = PageState::Committed;
        }
        break;
      case 6:
        if (found == model.end() || found->second.state != PageState::Cold) break;
        if (random() % 2 == 0) {
          pool.revive(page);
          found->second.state = PageState::Committed;
          found->second.holds = 1;
        } else if (!pool.is_fenced(page)) {
          pool.evict(page);
          model.erase(found);
        }
        break;
      case 7:
        pool.open_batch(BatchId{++newest});
        break;
      case 8:
        if (completed == newest) break;
        pool.complete_batch(BatchId{++completed});
        std::erase_if(model, [&](const auto& each) {
          return each.second.state == PageState::Fenced && each.second.fence <= completed;
        });
        break;
    }
    pool.verify();
    ASSERT_EQ(pool.free_count(), kPageCount - model.size());
    for (const auto& [id, each] : model) ASSERT_EQ(pool.state(id), each.state);
  }
}

TEST(PagePoolDeathTest, MisuseIsABug) {
  PagePool pool(2);
  const PageId page = *pool.allocate();
  pool.commit(page);
  EXPECT_DEATH(pool.commit(page), "I8");
  EXPECT_DEATH(pool.seal(page), "one owner");
  EXPECT_DEATH(pool.release(PageId{1}), "I3");
  EXPECT_DEATH(pool.release(PageId{2}), "no such page");
  pool.open_batch(BatchId{1});
  pool.release(page);
  EXPECT_DEATH(pool.evict(page), "I5");
}

}  // namespace
}  // namespace quire::control::page_pool_test
