#include "inference/models/feed_forward/expert_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace quire::inference {
namespace {

std::vector<std::pair<std::uint32_t, float>> chosen(std::vector<float> numerators, float sum,
                                                    bool is_renormalised, float scale,
                                                    std::size_t count) {
  std::vector<ExpertChoice> choices(count);
  choose_experts(numerators, sum, is_renormalised, scale, choices);
  std::vector<std::pair<std::uint32_t, float>> result;
  for (const ExpertChoice& each : choices) result.emplace_back(each.expert, each.weight);
  return result;
}

using Pairs = std::vector<std::pair<std::uint32_t, float>>;

TEST(ChooseExperts, TakesTheLargestAndOfEqualOnesTheFirst) {
  EXPECT_EQ(chosen({0.25f, 1.0f, 0.5f, 1.0f, 0.25f}, 4.0f, false, 1.0f, 4),
            (Pairs{{1, 0.25f}, {3, 0.25f}, {2, 0.125f}, {0, 0.0625f}}));
}

TEST(ChooseExperts, WeightsOfTheChosenAddUpToTheScaleIfTheyAreRenormalised) {
  EXPECT_EQ(chosen({0.5f, 1.0f, 0.5f, 0.125f}, 2.125f, true, 3.0f, 2),
            (Pairs{{1, 2.0f}, {0, 1.0f}}));
}

TEST(ChooseExperts, ASumThatIsNoNumberMakesTheWeightsNone) {
  const Pairs pairs = chosen({0.5f, NAN, 1.0f}, NAN, true, 1.0f, 2);
  EXPECT_EQ(pairs[0].first, 0u);
  EXPECT_EQ(pairs[1].first, 1u);
  for (const auto& [expert, weight] : pairs) EXPECT_TRUE(std::isnan(weight)) << expert;
}

// Random choices against lists by expert: a place for each, blocks that cover them, rows in order.
TEST(ExpertRows, EachChoiceHasAPlaceAmongThoseOfItsExpert) {
  std::mt19937 random(5);
  ExpertRows rows(600, 9);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t row_count = 1 + random() % 600;
    const std::uint32_t expert_count = 9 + random() % 60;
    const std::uint32_t choice_count = 1 + random() % 9;
    const std::uint32_t favored = random() % 2 == 0 ? expert_count : 9;  // Few experts: many rows.
    std::vector<std::vector<std::uint32_t>> rows_of(expert_count);
    rows.begin(row_count, choice_count);
    for (std::uint32_t row = 0; row < row_count; ++row) {
      std::uint32_t expert = random() % favored;
      for (ExpertChoice& each : rows.choices(row)) {
        each.expert = expert++ % favored;
        rows_of[each.expert].push_back(row);
      }
    }
    rows.group(expert_count);
    std::uint32_t place = 0;
    std::size_t block = 0;
    for (std::uint32_t expert = 0; expert < expert_count; ++expert) {
      const std::uint32_t end = place + static_cast<std::uint32_t>(rows_of[expert].size());
      for (const std::uint32_t first = place; place < end;) {
        const ExpertBlock& each = rows.blocks()[block++];
        ASSERT_EQ(each.expert, expert);
        ASSERT_EQ(each.place_first, place);
        ASSERT_EQ(each.count, std::min(ExpertRows::kBlockRowsMax, end - place));
        for (; place < each.place_first + each.count; ++place) {
          ASSERT_EQ(rows.row_at(place), rows_of[expert][place - first]);
        }
      }
    }
    ASSERT_EQ(block, rows.blocks().size());
    for (std::uint32_t row = 0; row < row_count; ++row) {
      for (const ExpertChoice& each : rows.choices(row)) ASSERT_EQ(rows.row_at(each.place), row);
    }
  }
}

}  // namespace
}  // namespace quire::inference
