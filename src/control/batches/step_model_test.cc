#include "control/batches/step_model.h"

#include <gtest/gtest.h>

#include <functional>

namespace quire::control {
namespace {

using Duration = std::function<double(const StepModel::Step&)>;

// The CPU this was measured on, about: 4 ms and 0.5 ms a row, and prefill dearer by what it sees.
double cpu_ns(const StepModel::Step& step) {
  return 4e6 + 0.5e6 * step.decode_row_count + 0.6e6 * step.prefill_row_count +
         400.0 * static_cast<double>(step.prefill_slot_count);
}

// Llama 3 8B on an H100: rows are free until arithmetic takes longer than reading the weights.
double gpu_ns(const StepModel::Step& step) {
  return 200e3 + std::max(6e6, 27e3 * (step.decode_row_count + step.prefill_row_count));
}

struct Prompts {
  StepModel model{0};
  double longest_ns = 0;
  std::uint32_t step_count = 0;
  std::uint32_t clean_step_count = 0;

  // A prompt of so many tokens beside so many streams, to its end.
  void prefill(std::uint32_t decode_rows, std::uint32_t tokens, const Duration& duration,
               std::uint32_t row_count_max = 512) {
    for (std::uint32_t done = 0; done < tokens;) {
      PrefillBudget budget = model.next_budget(decode_rows);
      StepModel::Step step{.decode_row_count = decode_rows};
      const std::uint32_t rows =
          std::min({budget.rows(done), tokens - done, row_count_max - decode_rows});
      step.prefill_row_count = rows;
      step.prefill_slot_count = std::uint64_t{rows} * (done + rows / 2);
      step.device_ns = static_cast<std::uint64_t>(duration(step));
      model.note(step);
      done += rows;
      longest_ns = std::max(longest_ns, duration(step));
      ++step_count;
      clean_step_count += rows == 0;
      ASSERT_LT(step_count, 100'000u) << "no end";
    }
  }
};

double decode_ns(const Duration& duration, std::uint32_t rows) {
  return duration({.decode_row_count = rows});
}

TEST(StepModel, KeepsStepsBelowTwiceWhatDecodingTakesHoweverLongThePromptIs) {
  for (const auto& [name, duration] :
       {std::pair<const char*, Duration>{"cpu", cpu_ns}, {"gpu", gpu_ns}}) {
    for (const std::uint32_t streams : {1u, 16u, 128u}) {
      SCOPED_TRACE(testing::Message() << name << ", " << streams << " streams");
      Prompts run;
      run.prefill(streams, 2000, duration);
      run.longest_ns = 0;  // It has seen this device now, and how prompts grow dearer.
      run.step_count = run.clean_step_count = 0;
      run.prefill(streams, 6000, duration);
      EXPECT_LE(run.longest_ns, 1.15 * StepModel::kStretch * decode_ns(duration, streams));
    }
  }
}

TEST(StepModel, ItsFirstStepsOnADeviceAreCautious) {
  Prompts run;
  run.prefill(16, 300, cpu_ns);
  EXPECT_LE(run.longest_ns, 4 * decode_ns(cpu_ns, 16));
}

TEST(StepModel, UsesWhatTheDeviceGivesForNothing) {
  Prompts run;
  run.prefill(16, 20'000, gpu_ns);
  // 12.2 ms hold 443 rows that take no longer.
  EXPECT_LE(run.step_count, 20'000 / 400 * 1.15);
}

TEST(StepModel, MeasuresDecodingAgainWhileThereIsAlwaysPrefill) {
  Prompts run;
  run.prefill(16, 6000, cpu_ns);
  EXPECT_NEAR(run.clean_step_count, run.step_count / StepModel::kProbeEvery,
              1 + run.step_count / 200.0);
  // Decoding takes three times as long from now on: contexts have grown.
  const Duration slower = [](const StepModel::Step& step) { return cpu_ns(step) + 24e6; };
  run.prefill(16, 2000, slower);
  EXPECT_NEAR(run.model.figures().decode_ns, decode_ns(slower, 16), 0.5 * decode_ns(slower, 16));
}

TEST(StepModel, BoundsNothingWhenNobodyDecodes) {
  StepModel model(0);
  EXPECT_FALSE(model.next_budget(0).is_bounded());
  model.note({.decode_row_count = 8, .device_ns = 1000});
  EXPECT_TRUE(model.next_budget(0).is_bounded()) << "they may be about to come back";
  for (std::uint32_t step = 0; step < StepModel::kRecentStepCount; ++step) {
    model.note({.prefill_row_count = 16, .prefill_slot_count = 0, .device_ns = 1000});
  }
  EXPECT_FALSE(model.next_budget(0).is_bounded());
}

TEST(StepModel, LeavesOutPrefillOnlyWhereThereIsDecodingToMeasureInstead) {
  StepModel model(0);
  model.note({.decode_row_count = 8, .device_ns = 1000});
  for (std::uint32_t call = 0; call < 3 * StepModel::kProbeEvery; ++call) {
    EXPECT_FALSE(model.next_budget(0).is_spent()) << "it would be a step of nothing";
  }
}

TEST(StepModel, AFixedBudgetIsThatAndHasNoStepsWithout) {
  StepModel model(40);
  for (int step = 0; step < 100; ++step) {
    PrefillBudget budget = model.next_budget(1);
    EXPECT_EQ(budget.rows(5000), 40u);
    budget.spend(30, 5000);
    EXPECT_EQ(budget.rows(0), 10u);
    budget.spend(10, 0);
    EXPECT_TRUE(budget.is_spent());
    EXPECT_EQ(budget.rows(0), 0u);
    model.note({.decode_row_count = 1,
                .prefill_row_count = 40,
                .prefill_slot_count = 0,
                .device_ns = 1'000'000});
  }
}

TEST(StepModel, ADeviceThatTakesNoTimeIsNoReasonToStop) {
  Prompts run;
  run.prefill(4, 5000, [](const StepModel::Step&) { return 0.0; });
  EXPECT_LE(run.step_count, 5000u);
}

}  // namespace
}  // namespace quire::control
