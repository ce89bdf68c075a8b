#include "application/lifecycle/launch_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/seeds.h"

namespace quire::lifecycle {
namespace {

using control::InstanceId;
using control::TenantId;

constexpr TenantId kFirst{1};
constexpr TenantId kSecond{2};

// The number shows the tenant.
InstanceId id_of(TenantId tenant, std::uint64_t number) {
  return InstanceId{static_cast<std::uint64_t>(tenant) * 1'000'000 + number};
}
TenantId tenant_of(InstanceId id) {
  return TenantId{static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) / 1'000'000)};
}
bool anyone(const LaunchQueue::Waiter&) {
  return true;
}
TenantId start_next(LaunchQueue& queue) {
  const TenantId tenant = tenant_of(queue.pop(anyone).value());
  queue.started(tenant);
  return tenant;
}

TEST(LaunchQueue, TenantsTakeTurnsByTheirWeights) {
  LaunchQueue queue;
  queue.set_weight(kFirst, 3);
  for (std::uint64_t each = 0; each < 100; ++each) {
    queue.push(kFirst, id_of(kFirst, each));
    queue.push(kSecond, id_of(kSecond, each));
  }
  std::map<TenantId, int> started;
  for (int each = 0; each < 40; ++each) ++started[start_next(queue)];
  EXPECT_NEAR(started[kFirst], 30, 1);
  EXPECT_NEAR(started[kSecond], 10, 1);
}

TEST(LaunchQueue, WhoComesLateIsNextAndHasSavedNothingUp) {
  LaunchQueue queue;
  for (std::uint64_t each = 0; each < 1000; ++each) queue.push(kFirst, id_of(kFirst, each));
  for (int each = 0; each < 500; ++each) start_next(queue);
  for (std::uint64_t each = 0; each < 10; ++each) queue.push(kSecond, id_of(kSecond, each));
  int first_count = 0;
  for (int each = 0; each < 10; ++each) first_count += start_next(queue) == kFirst ? 1 : 0;
  EXPECT_NEAR(first_count, 5, 1);
}

TEST(LaunchQueue, OneLaunchAfterTheOtherDoesNotGoBeforeAllOthersForEver) {
  LaunchQueue queue;
  for (std::uint64_t each = 0; each < 1000; ++each) queue.push(kFirst, id_of(kFirst, each));
  std::map<TenantId, int> started;
  for (std::uint64_t each = 0; each < 100; ++each) {
    if (queue.size_of(kSecond) == 0) queue.push(kSecond, id_of(kSecond, each));
    ++started[start_next(queue)];
  }
  EXPECT_NEAR(started[kFirst], 50, 2);
}

TEST(LaunchQueue, WhatCouldNotStartWaitsWhereItWasAndCostNothing) {
  LaunchQueue queue;
  for (std::uint64_t each = 0; each < 4; ++each) queue.push(kFirst, id_of(kFirst, each));
  queue.push(kSecond, id_of(kSecond, 0));
  std::vector<LaunchQueue::Waiter> taken;
  for (int each = 0; each < 3; ++each) taken.push_back({kFirst, queue.pop(anyone).value()});
  EXPECT_EQ(taken.back().id, id_of(kFirst, 2)) << "they cost nothing, so it is its turn still";
  queue.put_back(taken);
  queue.verify();
  for (std::uint64_t each = 0; each < 2; ++each) {
    EXPECT_EQ(queue.pop(anyone).value(), id_of(kFirst, each)) << "in the order in which they came";
  }
}

TEST(LaunchQueue, ATenantThatMayNotStartKeepsNobodyBehindIt) {
  LaunchQueue queue;
  queue.push(kFirst, id_of(kFirst, 0));
  queue.push(kSecond, id_of(kSecond, 0));
  EXPECT_EQ(queue.firsts().size(), 2u);
  EXPECT_EQ(queue.pop([](const LaunchQueue::Waiter& each) { return each.tenant == kSecond; }),
            id_of(kSecond, 0));
  EXPECT_EQ(queue.pop([](const LaunchQueue::Waiter& each) { return each.tenant == kSecond; }),
            std::nullopt);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.firsts().front().id, id_of(kFirst, 0));
}

// Seeded pushes, starts, put-backs and removals against lists that are searched: each tenant's come
// in their order, and no tenant that always has one waiting misses more than two turns.
TEST(LaunchQueuePrograms, KeepTheOrderOfEachTenantAndLeaveNobodyBehind) {
  for (const std::uint64_t seed : campaign_seeds(200)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    LaunchQueue queue;
    std::map<TenantId, std::vector<InstanceId>> model;
    // Starts of other tenants since its last one, while it waits.
    std::map<TenantId, int> passed_over;
    const std::uint32_t tenant_count = 1 + random() % 4;
    for (std::uint64_t step = 1; step <= 500; ++step) {
      const TenantId tenant{1 + static_cast<std::uint32_t>(random() % tenant_count)};
      std::vector<InstanceId>& own = model[tenant];
      const std::uint64_t choice = random() % 8;
      if (choice < 4) {
        queue.push(tenant, id_of(tenant, step));
        own.push_back(id_of(tenant, step));
      } else if (choice == 4 && !own.empty()) {
        const auto gone = own.begin() + static_cast<std::ptrdiff_t>(random() % own.size());
        queue.remove(tenant, *gone);
        own.erase(gone);
      } else if (choice == 5) {
        std::vector<LaunchQueue::Waiter> taken;
        while (!queue.empty() && random() % 4 != 0) {
          const InstanceId id = queue.pop(anyone).value();
          taken.push_back({tenant_of(id), id});
        }
        queue.put_back(taken);
      } else if (!queue.empty()) {
        const InstanceId id = queue.pop(anyone).value();
        const TenantId next = tenant_of(id);
        queue.started(next);
        ASSERT_EQ(id, model[next].front());
        model[next].erase(model[next].begin());
        passed_over[next] = 0;
        for (const auto& [other, ids] : model) {
          if (other == next) continue;
          passed_over[other] = ids.empty() ? 0 : passed_over[other] + 1;
          ASSERT_LE(passed_over[other], 2 * static_cast<int>(tenant_count));
        }
      }
      queue.verify();
      std::size_t count = 0;
      for (const auto& [each, ids] : model) {
        ASSERT_EQ(queue.size_of(each), ids.size());
        count += ids.size();
      }
      ASSERT_EQ(queue.size(), count);
    }
  }
}

}  // namespace
}  // namespace quire::lifecycle
