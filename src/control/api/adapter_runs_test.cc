#include "control/api/adapter_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quire::control {
namespace {

ScaledAdapter scaled(std::uint8_t first_byte, float scale = 1.0f) {
  ScaledAdapter made{.digest = {}, .scale = scale};
  made.digest[0] = first_byte;
  return made;
}

TEST(CheckAdapterSet, RefusesWhatIsNotTheOneWayToSayIt) {
  EXPECT_TRUE(check_adapter_set({}).ok());
  EXPECT_TRUE(check_adapter_set(std::vector{scaled(1, -2.0f), scaled(2)}).ok());
  EXPECT_FALSE(check_adapter_set(std::vector{scaled(2), scaled(1)}).ok());
  EXPECT_FALSE(check_adapter_set(std::vector{scaled(1), scaled(1, 0.5f)}).ok());
  for (const float scale : {0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    EXPECT_FALSE(check_adapter_set(std::vector{scaled(1, scale)}).ok()) << scale;
  }
  std::vector<ScaledAdapter> many;
  for (std::uint8_t index = 0; index <= kAdaptersInSetMax; ++index) many.push_back(scaled(index));
  EXPECT_FALSE(check_adapter_set(many).ok());
  many.pop_back();
  EXPECT_TRUE(check_adapter_set(many).ok());
}

TEST(CheckAdapterRuns, RefusesWhatIsNotTheOneWayToSayIt) {
  const AdapterRun one{0, {scaled(1)}}, later{3, {scaled(2)}}, base{5, {}};
  EXPECT_TRUE(check_adapter_runs({}, 16).ok());
  EXPECT_TRUE(check_adapter_runs(std::vector{one, later, base}, 16).ok());
  EXPECT_TRUE(check_adapter_runs(std::vector{later}, 16).ok());
  EXPECT_FALSE(check_adapter_runs(std::vector{later, one}, 16).ok()) << "falling";
  EXPECT_FALSE(check_adapter_runs(std::vector{base}, 16).ok()) << "begins with the base model";
  EXPECT_FALSE(check_adapter_runs(std::vector{later, AdapterRun{4, later.set}}, 16).ok());
  EXPECT_FALSE(check_adapter_runs(std::vector{later, AdapterRun{3, one.set}}, 16).ok());
  EXPECT_FALSE(check_adapter_runs(std::vector{later}, 3).ok()) << "after the last slot";
}

}  // namespace
}  // namespace quire::control
