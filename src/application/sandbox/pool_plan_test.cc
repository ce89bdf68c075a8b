#include "application/sandbox/pool_plan.h"

#include <gtest/gtest.h>

namespace quire::sandbox {
namespace {

constexpr std::uint64_t kMemory = 128u << 20;

TEST(PoolPlan, ShrinksWithTheAddressSpaceAndNeverBelowTheMemoryLimit) {
  std::uint32_t last = 0;
  for (std::uint64_t space = std::uint64_t{1} << 30; space < std::uint64_t{1} << 44; space *= 2) {
    const Result<PoolPlan> plan = plan_pool(1024, kMemory, space);
    if (!plan.ok()) continue;  // This machine may reserve less than it is allowed to here.
    EXPECT_LE(plan.value().total_bytes, space);
    EXPECT_GE(plan.value().memory_reservation_bytes, kMemory);
    EXPECT_GE(plan.value().instance_count, last);
    last = plan.value().instance_count;
  }
  EXPECT_GT(last, 0u);
}

TEST(PoolPlan, SaysWhatItWantedWhenNothingFits) {
  const Result<PoolPlan> plan = plan_pool(1024, kMemory, 1u << 20);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(plan.error().message().find("bytes are wanted for 4"), std::string::npos)
      << plan.error().message();
}

}  // namespace
}  // namespace quire::sandbox
