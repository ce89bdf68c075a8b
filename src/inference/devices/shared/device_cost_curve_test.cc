#include "inference/devices/shared/device_cost_curve.h"

#include <gtest/gtest.h>

namespace quire::inference {
namespace {

constexpr DeviceCostCurve kCurve{.name = "round numbers",
                                 .launch_ns = 10,
                                 .weights_read_ns = 1000,
                                 .output_read_ns = 100,
                                 .slot_read_ns = 1,
                                 .row_ns = 50};

Batch batch_of(std::uint32_t pass_count, std::uint32_t rows_each, std::uint32_t slots_each) {
  Batch batch;
  for (std::uint32_t pass = 0; pass < pass_count; ++pass) {
    batch.passes.push_back({.sequence = SequenceId{pass},
                            .row_first = pass * rows_each,
                            .row_count = rows_each,
                            .visible_slot_end = slots_each});
  }
  batch.rows.resize(std::size_t{pass_count} * rows_each);
  return batch;
}

TEST(DeviceCostCurve, FewRowsCostWhatTheWeightsCost) {
  EXPECT_EQ(kCurve.duration_ns(batch_of(1, 1, 0)), 1010u);
  EXPECT_EQ(kCurve.duration_ns(batch_of(20, 1, 0)), 1010u);
  EXPECT_EQ(kCurve.duration_ns(batch_of(40, 1, 0)), 2010u) << "arithmetic takes over";
}

TEST(DeviceCostCurve, KeysAndValuesAreReadByEveryPass) {
  EXPECT_EQ(kCurve.duration_ns(batch_of(3, 1, 100)), 1310u);
}

TEST(DeviceCostCurve, DistributionsAloneReadTheOutputLayer) {
  Batch batch;
  EXPECT_EQ(kCurve.duration_ns(batch), 10u);
  batch.distributions.resize(2);
  EXPECT_EQ(kCurve.duration_ns(batch), 110u);
}

TEST(DeviceCostCurve, AnL4TakesAboutAsLongForATokenAsWasMeasured) {
  const double ms = static_cast<double>(kL4With8B.duration_ns(batch_of(1, 1, 500))) * 1e-6;
  EXPECT_NEAR(ms, 64.06, 0.1 * 64.06);
  EXPECT_GT(kL4With8B.duration_ns(batch_of(1, 1, 0)),
            9 * kH100With8B.duration_ns(batch_of(1, 1, 0)));
}

}  // namespace
}  // namespace quire::inference
