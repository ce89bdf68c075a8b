#include "control/contexts/chosen_adapters.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/seeds.h"

namespace quire::control {
namespace {

ChosenAdaptersRef set_of(std::uint8_t first_byte) {
  ChosenAdapters made;
  made.set.push_back({});
  made.set.front().digest[0] = first_byte;
  return std::make_shared<const ChosenAdapters>(std::move(made));
}

// One set for each slot, written out.
struct Model {
  std::vector<ChosenAdaptersRef> slots;
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

TEST(AdapterRuns, SayWhatAListWithASetForEachSlotSays) {
  std::vector<ChosenAdaptersRef> sets{nullptr};
  for (const std::uint8_t each : {1, 2, 3}) sets.push_back(set_of(each));
  sets.push_back(set_of(1));  // Equal to another.
  for (const std::uint64_t seed : campaign_seeds(2'000)) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) {
      return static_cast<std::uint32_t>(random() % limit);
    };
    SlotAdapters slots;
    Model model;
    for (int step = 0; step < 60; ++step) {
      const auto length = static_cast<std::uint32_t>(model.slots.size());
      const std::uint32_t begin = below(length + 1);
      const std::uint32_t end = begin + below(length - begin + 1);
      switch (below(4)) {
        case 0:
        case 1: {
          const ChosenAdaptersRef& set = sets[below(sets.size())];
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
      ASSERT_EQ(adapter_runs(slots, 0, now), model.of(0, now)) << "seed " << seed;
      const std::uint32_t first = below(now + 1);
      const std::uint32_t last = first + below(now - first + 1);
      ASSERT_EQ(adapter_runs(slots, first, last), model.of(first, last)) << "seed " << seed;
      ASSERT_TRUE(check_adapter_runs(adapter_runs(slots, first, last), last - first).ok())
          << "seed " << seed;
      if (now == 0) continue;
      const std::uint32_t at = below(now);
      const ChosenAdaptersRef found = slots.at(at);
      const ChosenAdaptersRef& wanted = model.slots[at];
      ASSERT_EQ(found == nullptr, wanted == nullptr) << "seed " << seed;
      if (found == nullptr) continue;
      ASSERT_EQ(found->set, wanted->set) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace quire::control
