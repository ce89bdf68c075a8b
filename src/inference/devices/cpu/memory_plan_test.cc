#include "inference/devices/cpu/memory_plan.h"

#include <gtest/gtest.h>

#include "support/tiny_hybrid.h"

namespace quire::inference {
namespace memory_plan_test {
namespace {

const ModelSpec kHybrid = test::tiny_hybrid_spec();
const std::uint64_t kStateBytes = StateLayout(kHybrid).bytes();

ModelSpec plain_spec() {
  ModelSpec spec = kHybrid;
  spec.layers = {kHybrid.layers[2]};
  return spec;
}

TEST(MemoryPlan, StatesHaveHalfAndPagesTheRest) {
  const MemoryPlan plan = plan_memory(kHybrid, {.kv_memory_bytes = 20 * kStateBytes + 100}).take();
  EXPECT_EQ(plan.state_count, 10u);
  EXPECT_EQ(plan.page_count, (10 * kStateBytes + 100) / plan.kv.page_bytes());
}

TEST(MemoryPlan, StateMemoryAndCountsAreAsAsked) {
  DeviceOptions options{.kv_memory_bytes = 20 * kStateBytes};
  options.state_memory_bytes = 3 * kStateBytes + 7;
  const MemoryPlan some = plan_memory(kHybrid, options).take();
  EXPECT_EQ(some.state_count, 3u);
  EXPECT_EQ(some.page_count, 17 * kStateBytes / some.kv.page_bytes());
  options.state_count = 5;
  options.page_count = 9;
  const MemoryPlan counted = plan_memory(kHybrid, options).take();
  EXPECT_EQ(counted.state_count, 5u);
  EXPECT_EQ(counted.page_count, 9u);
}

TEST(MemoryPlan, ModelWithoutStatesHasPagesAlone) {
  const DeviceOptions options{.kv_memory_bytes = 1 << 20};
  const MemoryPlan plan = plan_memory(plain_spec(), options).take();
  EXPECT_EQ(plan.state_count, 0u);
  EXPECT_EQ(plan.page_count, (1 << 20) / plan.kv.page_bytes());
  EXPECT_TRUE(plan_memory(plain_spec(), {.kv_mode = KvMode::Basic}).ok());
}

TEST(MemoryPlan, RefusesWhatDoesNotFitWithTheNumbers) {
  const auto message = [](const DeviceOptions& options) {
    return std::string(plan_memory(kHybrid, options).error().message());
  };
  DeviceOptions options{.kv_memory_bytes = 20 * kStateBytes};
  options.state_memory_bytes = 2 * kStateBytes - 1;
  EXPECT_EQ(message(options), "state memory of " + std::to_string(2 * kStateBytes - 1) +
                                  " bytes holds 1 states of " + std::to_string(kStateBytes) +
                                  " bytes; at least 2 are needed, of " +
                                  std::to_string(2 * kStateBytes) + " bytes together");
  options.state_memory_bytes = 21 * kStateBytes;
  EXPECT_NE(message(options).find("is more than the KV memory"), std::string::npos);
  options.state_memory_bytes = 20 * kStateBytes;
  EXPECT_NE(message(options).find("for states holds no page"), std::string::npos);
  const auto basic = plan_memory(kHybrid, {.kv_mode = KvMode::Basic});
  EXPECT_EQ(basic.error().code(), ErrorCode::NotSupported);
  EXPECT_NE(basic.error().message().find("--kv basic"), std::string::npos);
}

}  // namespace
}  // namespace memory_plan_test
}  // namespace quire::inference
