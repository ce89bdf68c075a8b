#include "control/api/adapter_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/seeds.h"

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
  EXPECT_FALSE(check_adapter_runs(std::vector{later}, 3).ok()) << "behind the last slot";
}

struct Set {
  std::vector<ScaledAdapter> set;
};
using SetRef = std::shared_ptr<const Set>;

// One set for each slot, written out.
struct Model {
  std::vector<SetRef> slots;
  std::vector<AdapterRun> of(std::uint32_t begin, std::uint32_t end) const {
    std::vector<AdapterRun> runs;
    std::vector<ScaledAdapter> last;
    for (std::uint32_t slot = begin; slot < end; ++slot) {
      const auto set = slots[slot] == nullptr ? std::vector<ScaledAdapter>{} : slots[slot]->set;
      if (set != last) runs.push_back({slot - begin, set});
      last = set;
    }
    return runs;
  }
};

TEST(SlotAdapters, SayWhatAListWithASetForEachSlotSays) {
  std::vector<SetRef> sets{nullptr};
  for (const std::uint8_t each : {1, 2, 3}) {
    sets.push_back(std::make_shared<const Set>(Set{{scaled(each)}}));
  }
  sets.push_back(std::make_shared<const Set>(Set{{scaled(1)}}));  // Equal to another.
  for (const std::uint64_t seed : campaign_seeds(2'000)) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) {
      return static_cast<std::uint32_t>(random() % bound);
    };
    SlotAdapters<SetRef> slots;
    Model model;
    for (int step = 0; step < 60; ++step) {
      const auto length = static_cast<std::uint32_t>(model.slots.size());
      const std::uint32_t begin = below(length + 1);
      const std::uint32_t end = begin + below(length - begin + 1);
      switch (below(4)) {
        case 0:
        case 1: {
          const SetRef& set = sets[below(sets.size())];
          slots.extend(length, set);
          model.slots.insert(model.slots.end(), 1 + below(5), set);
          break;
        }
        case 2:
          slots.cut(begin);
          model.slots.resize(begin);
          break;
        default:
          slots.erase(begin, end);
          model.slots.erase(model.slots.begin() + begin, model.slots.begin() + end);
          slots.cut(static_cast<std::uint32_t>(model.slots.size()));
      }
      const auto now = static_cast<std::uint32_t>(model.slots.size());
      ASSERT_EQ(slots.of(0, now), model.of(0, now)) << "seed " << seed;
      const std::uint32_t first = below(now + 1);
      const std::uint32_t last = first + below(now - first + 1);
      ASSERT_EQ(slots.of(first, last), model.of(first, last)) << "seed " << seed;
      ASSERT_TRUE(check_adapter_runs(slots.of(first, last), last - first).ok()) << "seed " << seed;
      if (now == 0) continue;
      const std::uint32_t at = below(now);
      const SetRef found = slots.at(at);
      const SetRef& wanted = model.slots[at];
      ASSERT_EQ(found == nullptr, wanted == nullptr) << "seed " << seed;
      if (found == nullptr) continue;
      ASSERT_EQ(found->set, wanted->set) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace quire::control
