// Limits of decoding beside that of other tenants.
#include "control/scheduler/decode_limits.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/seeds.h"

namespace quire::control {
namespace {

std::map<std::uint32_t, double> limits_of(std::vector<DecodeWish> wishes, double step_rows,
                                          double stretch = 1) {
  std::map<std::uint32_t, double> limits;
  if (!limit_decode_costs(wishes, step_rows, stretch)) return limits;
  for (const DecodeWish& each : wishes) limits[each.place] = each.limit;
  return limits;
}

TEST(DecodeLimits, OneStreamBesideTwoCrowdsIsAThirdOfItsStep) {
  const auto limits =
      limits_of({{.place = 0, .cost = 100}, {.place = 1, .cost = 1}, {.place = 2, .cost = 100}}, 4);
  EXPECT_EQ(limits.at(1), 1);
  EXPECT_DOUBLE_EQ(limits.at(0), 5);  // 4 + 1 + 5 + 5 is three times 4 + 1.
  EXPECT_DOUBLE_EQ(limits.at(2), 5);
}

TEST(DecodeLimits, AWeightIsAPartOfTheStep) {
  const auto limits =
      limits_of({{.place = 0, .weight = 3, .cost = 100}, {.place = 1, .weight = 1, .cost = 1}}, 4);
  EXPECT_DOUBLE_EQ(limits.at(0), 15);  // 4 + 1 + 15 is four times 4 + 1.
  EXPECT_EQ(limits.at(1), 1);
}

TEST(DecodeLimits, WhatFitsAndWhatASingleTenantWantsHasNone) {
  EXPECT_TRUE(limits_of({{.place = 0, .cost = 1000}}, 4).empty());
  EXPECT_TRUE(limits_of({{.place = 0, .cost = 3}, {.place = 1, .cost = 1}}, 4).empty());
  EXPECT_TRUE(limits_of({{.place = 0, .cost = 100}, {.place = 1, .cost = 1}}, 1000).empty())
      << "a device on which rows cost nothing";
}

TEST(DecodeLimits, KeepTheStepOfEachTenantWithinItsPartInRandomCrowds) {
  for (const std::uint64_t seed : campaign_seeds(10'000)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<DecodeWish> wishes;
    const double step_rows = static_cast<double>(random() % 20);
    double weights = 0;
    for (std::uint32_t place = 0; place < 2 + random() % 5; ++place) {
      wishes.push_back({.place = place,
                        .weight = static_cast<double>(1 + random() % 4),
                        .cost = static_cast<double>(1 + random() % 200)});
      weights += wishes.back().weight;
    }
    double least = 1e9;
    for (const DecodeWish& each : wishes) {
      least = std::min(least, (step_rows + each.cost) / each.weight);
    }
    if (!limit_decode_costs(wishes, step_rows, 1)) continue;
    double step = step_rows;
    double level = 0;
    for (const DecodeWish& each : wishes) {
      EXPECT_GT(each.limit, 0);
      EXPECT_LE(each.limit, each.cost);
      step += each.limit;
      level = std::max(level, each.limit / each.weight);
    }
    EXPECT_NEAR(step, least * weights, 1e-6 * step) << "all of the room is used";
    for (const DecodeWish& each : wishes) {
      const double part = each.limit < each.cost ? each.limit / each.weight : level;
      EXPECT_NEAR(part, level, 1e-9);
    }
  }
}

}  // namespace
}  // namespace quire::control
