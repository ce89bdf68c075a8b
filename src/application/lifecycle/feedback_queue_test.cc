#include "application/lifecycle/feedback_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/clock.h"
#include "base/seeds.h"

namespace quire::lifecycle {
namespace {

using control::InstanceId;
using control::TenantId;

constexpr TenantId kTenant{1};

TEST(FeedbackQueue, WhoIsCutOnceDoesNotWaitForManyThatOnlyCompute) {
  FeedbackQueue queue(4 * kMillisecond, 4);
  for (std::uint64_t id = 1; id <= 64; ++id)
    queue.push(kTenant, InstanceId{id}, 100 * kMillisecond);
  queue.push(kTenant, InstanceId{100}, 2 * kMillisecond);
  EXPECT_EQ(queue.pop(), InstanceId{100});
  EXPECT_EQ(queue.pop(), InstanceId{1}) << "and these take turns";
  EXPECT_EQ(queue.pop(), InstanceId{2});
}

TEST(FeedbackQueue, ATenantWithAThousandGuestsDelaysAnothersByOne) {
  FeedbackQueue queue(4 * kMillisecond, 4);
  for (std::uint64_t id = 1; id <= 1'000; ++id) queue.push(kTenant, InstanceId{id}, 0);
  EXPECT_EQ(queue.pop(), InstanceId{1});
  queue.push(TenantId{2}, InstanceId{2'000}, 0);
  EXPECT_EQ(queue.pop(), InstanceId{2'000});
  queue.push(TenantId{2}, InstanceId{2'000}, 0);
  EXPECT_EQ(queue.pop(), InstanceId{2}) << "in turn";
  queue.pop();  // Takes the one that waited longest.
  EXPECT_EQ(queue.pop(), InstanceId{2'000});
}

TEST(FeedbackQueue, OneThatRunsLongerIsNotDelayedByAllTheShortOnesOfAnotherTenant) {
  FeedbackQueue queue(4 * kMillisecond, 4);
  for (std::uint64_t id = 1; id <= 1'000; ++id) queue.push(kTenant, InstanceId{id}, 0);
  queue.push(TenantId{2}, InstanceId{2'000}, kSecond);
  int count = 1;
  while (queue.pop() != InstanceId{2'000}) ++count;
  EXPECT_LE(count, 8) << "each fourth is the oldest of a tenant, in turn";
}

TEST(FeedbackQueue, OneThatComputesGoesOnWhateverIsCutBesideIt) {
  FeedbackQueue queue(4 * kMillisecond, 4);
  queue.push(kTenant, InstanceId{1}, 10'000 * kMillisecond);
  std::uint64_t next = 2;
  int waited = 0;
  do {
    queue.push(kTenant, InstanceId{next++}, kMillisecond);
    queue.push(kTenant, InstanceId{next++}, kMillisecond);
    ASSERT_LT(++waited, 5);
  } while (queue.pop() != InstanceId{1});
}

// Seeded pushes, pops and removals against a list that is searched.
TEST(FeedbackQueue, HoldsWhatWasPushedAndNeverGivesAHigherLevelBeforeItsTime) {
  for (const std::uint64_t seed : campaign_seeds(64)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    FeedbackQueue queue(4 * kMillisecond, 4);
    struct Waiter {
      InstanceId id;
      std::uint64_t used_ns;
    };
    std::vector<Waiter> model;  // By age.
    std::uint64_t pops = 0;
    for (std::uint64_t step = 1; step <= 500; ++step) {
      const std::uint64_t choice = random() % 8;
      if (choice < 4) {
        const Waiter waiter{InstanceId{step}, (random() % 2 == 0 ? 1 : 1000) * kMillisecond};
        queue.push(kTenant, waiter.id, waiter.used_ns);
        model.push_back(waiter);
      } else if (choice == 4 && !model.empty()) {
        const auto gone = model.begin() + static_cast<std::ptrdiff_t>(random() % model.size());
        queue.remove(kTenant, gone->id);
        model.erase(gone);
      } else if (!model.empty()) {
        auto wanted = model.begin();
        if (++pops % 4 != 0) {
          wanted = std::min_element(
              model.begin(), model.end(),
              [](const Waiter& left, const Waiter& right) { return left.used_ns < right.used_ns; });
        }
        ASSERT_EQ(queue.pop(), wanted->id) << step;
        model.erase(wanted);
      }
      ASSERT_EQ(queue.empty(), model.empty());
      ASSERT_EQ(queue.ids().size(), model.size());
    }
  }
}

}  // namespace
}  // namespace quire::lifecycle
