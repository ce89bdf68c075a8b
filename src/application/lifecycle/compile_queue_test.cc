#include "application/lifecycle/compile_queue.h"

#include <gtest/gtest.h>

#include <random>

#include "base/seeds.h"

namespace quire::lifecycle {
namespace {

using control::TenantId;

CompileQueue::Job job(std::uint32_t id, std::size_t bytes = 1) {
  return {ProgramId{id}, std::vector<std::byte>(bytes)};
}

TEST(CompileQueue, TenantsTakeTurns) {
  CompileQueue queue(16, 1000);
  for (std::uint32_t id = 1; id <= 5; ++id) queue.push(TenantId{1}, job(id));
  queue.push(TenantId{2}, job(10));
  EXPECT_EQ(queue.pop()->id, ProgramId{1});
  EXPECT_EQ(queue.pop()->id, ProgramId{10}) << "it does not wait behind four of another tenant";
  EXPECT_EQ(queue.pop()->id, ProgramId{2});
}

TEST(CompileQueue, OneOfSeveralTenantsLeavesHalfToWhoeverComesAndOneAloneMayHaveAll) {
  CompileQueue queue(8, 1000);
  queue.set_several(true);
  std::uint32_t id = 0;
  while (queue.check(TenantId{1}, 1).ok()) queue.push(TenantId{1}, job(++id));
  EXPECT_EQ(id, 4u);
  EXPECT_EQ(queue.check(TenantId{1}, 7).error().message(),
            "compiling_program_count_max: 4 programs of the tenant with 4 bytes wait to be "
            "compiled, and its share "
            "has no room for one of 7; try again when they are");
  EXPECT_TRUE(queue.check(TenantId{2}, 490).ok());
  EXPECT_FALSE(queue.check(TenantId{2}, 500).ok());
  queue.set_several(false);
  EXPECT_TRUE(queue.check(TenantId{1}, 900).ok());
  // A program that is being compiled counts until it is done.
  queue.set_several(true);
  const CompileQueue::Job first = *queue.pop();
  EXPECT_FALSE(queue.check(TenantId{1}, 1).ok());
  queue.done(first.id);
  EXPECT_TRUE(queue.check(TenantId{1}, 1).ok());
}

TEST(CompileQueuePrograms, KeepTheOrderOfEachTenantAndPassNobodyOverTwice) {
  for (const std::uint64_t seed : campaign_seeds(200)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    CompileQueue queue(32, 4000);
    queue.set_several(random() % 2 == 0);
    std::map<std::uint32_t, std::deque<std::uint32_t>> model;
    std::map<std::uint32_t, int> passed_over;
    std::vector<ProgramId> compiling;
    for (std::uint32_t step = 1; step <= 300; ++step) {
      const auto tenant = static_cast<std::uint32_t>(random() % 4);
      if (random() % 2 == 0) {
        const std::size_t bytes = random() % 200;
        if (!queue.check(TenantId{tenant}, bytes).ok()) continue;
        queue.push(TenantId{tenant}, job(step, bytes));
        model[tenant].push_back(step);
      } else if (const std::optional<CompileQueue::Job> next = queue.pop()) {
        compiling.push_back(next->id);
        for (auto& [each, ids] : model) {
          if (!ids.empty() && ProgramId{ids.front()} == next->id) {
            ids.pop_front();
            passed_over[each] = 0;
          } else {
            passed_over[each] = ids.empty() ? 0 : passed_over[each] + 1;
          }
          ASSERT_LE(passed_over[each], 3) << "there are three others";
        }
      }
      if (!compiling.empty() && random() % 2 == 0) {
        queue.done(compiling.back());
        compiling.pop_back();
      }
      std::size_t waiting = 0;
      for (const auto& [each, ids] : model) waiting += ids.size();
      ASSERT_EQ(queue.count(), waiting + compiling.size());
      queue.verify();
    }
  }
}

}  // namespace
}  // namespace quire::lifecycle
