#include "control/tiers/cost_model.h"

#include <gtest/gtest.h>

namespace quire::control::cost_model_test {
namespace {

constexpr std::uint64_t kPageBytes = 368'640;  // SmolLM2: 16 slots of 23,040 bytes.

CostModel::Run from_disk(std::uint32_t page_count) {
  return {.page_count = page_count, .read_count = page_count, .token_count = page_count * 16};
}
CostModel::Run from_memory(std::uint32_t page_count) {
  return {.page_count = page_count, .read_count = 0, .token_count = page_count * 16};
}

TEST(CostModel, BringsPagesBackWhileNobodyKnowsWhatATokenCosts) {
  CostModel costs(kPageBytes, {});
  EXPECT_TRUE(costs.should_restore(from_disk(1)));
  EXPECT_EQ(costs.figures().compute_ns_per_token, 0);
}

TEST(CostModel, ChoosesWhatIsQuickerOnThisMachine) {
  CostModel costs(kPageBytes, {});
  costs.note_compute(256, 256 * 500'000);  // A slow model: 8 ms a page.
  EXPECT_TRUE(costs.should_restore(from_disk(1)));
  EXPECT_TRUE(costs.is_worth_keeping(true, 16));
  CostModel quick(kPageBytes, {});
  quick.note_compute(256, 256 * 10'000);  // 160 us a page.
  EXPECT_TRUE(quick.should_restore(from_memory(1)));
  EXPECT_FALSE(quick.should_restore(from_disk(1)));  // 740 us a page and 200 us for the job.
  EXPECT_TRUE(quick.is_worth_keeping(false, 16));
  EXPECT_FALSE(quick.is_worth_keeping(true, 16));
}

TEST(CostModel, TellsTheTimesThatItCompares) {
  const CostFigures figures{.compute_ns_per_token = 10'000,
                            .load_ns_per_page = 70'000,
                            .read_ns = 200'000,
                            .read_ns_per_page = 700'000};
  EXPECT_DOUBLE_EQ(compute_ns(figures, from_disk(2)), 320'000);
  EXPECT_DOUBLE_EQ(restore_ns(figures, from_memory(2)), 140'000);
  EXPECT_DOUBLE_EQ(restore_ns(figures, from_disk(2)), 140'000 + 200'000 + 1'400'000);
}

TEST(CostModel, ADiskThatIsQuickerThanItsPriorIsFoundOut) {
  CostModel costs(kPageBytes, {});
  costs.note_compute(256, 256 * 30'000);  // 480 us a page.
  EXPECT_FALSE(costs.should_restore(from_disk(16)));
  for (int read = 0; read < 20; ++read) costs.note_read(16, 16 * 100'000);
  for (int read = 0; read < 20; ++read) costs.note_read(1, 150'000);
  EXPECT_NEAR(costs.figures().read_ns_per_page, 100'000, 40'000);
  EXPECT_TRUE(costs.should_restore(from_disk(16)));
}

TEST(CostModel, SamplesOfAFewRowsAreNotPrefill) {
  CostModel costs(kPageBytes, {});
  costs.note_compute(1, 10'000'000);
  EXPECT_EQ(costs.figures().compute_ns_per_token, 0);
  costs.note_compute(32, 32'000);
  EXPECT_EQ(costs.figures().compute_ns_per_token, 1000);
}

TEST(CostModel, ATierThatWasDeclinedIsTriedAgainNowAndThen) {
  CostModel costs(kPageBytes, {});
  costs.note_compute(256, 256);  // A nanosecond a token.
  std::uint32_t tried = 0;
  for (std::uint32_t each = 0; each < 2 * CostModel::kTryAgainCount; ++each) {
    tried += costs.should_restore(from_disk(1));
  }
  EXPECT_EQ(tried, 2u);
}

TEST(CostModel, APageIsKeptNowAndThenWhereReadingWasSlow) {
  CostModel costs(kPageBytes, {});
  costs.note_compute(256, 256 * 100'000);
  ASSERT_TRUE(costs.is_worth_keeping(true, 16));
  for (int read = 0; read < 50; ++read) costs.note_read(16, 16 * 1'000'000'000ull);
  std::uint32_t kept = 0;
  for (std::uint32_t each = 0; each < 2 * CostModel::kTryAgainCount; ++each) {
    kept += costs.is_worth_keeping(true, 16);
  }
  EXPECT_EQ(kept, 2u);
}

TEST(CostModel, CanBeToldWhatToChoose) {
  CostModel never(kPageBytes, {.choice = TierChoice::Recompute});
  CostModel always(kPageBytes, {.choice = TierChoice::Restore});
  always.note_compute(256, 256);
  for (std::uint32_t each = 0; each < 2 * CostModel::kTryAgainCount; ++each) {
    EXPECT_FALSE(never.should_restore(from_memory(1)));
    EXPECT_TRUE(always.should_restore(from_disk(1)));
  }
}

TEST(CostModel, CopyingAByteTakesTime) {
  const double ns = measure_copy_ns_per_byte();
  EXPECT_GT(ns, 0.0);
  EXPECT_LT(ns, 100.0);
}

}  // namespace
}  // namespace quire::control::cost_model_test
