#include "control/contexts/slot_runs.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <utility>

#include "base/seeds.h"

namespace quire::control {
namespace {

// Slots that show a part of a page of a book.
struct Excerpt {
  std::uint16_t book = 0;
  std::uint16_t page = 0;
  bool operator==(const Excerpt&) const = default;
};

// The simplest model that could be right: the value of each slot, written out.
using Slots = std::vector<Excerpt>;

void expect_same(const SlotRuns<Excerpt>& runs, const Slots& slots, std::uint32_t begin,
                 std::uint32_t end) {
  Slots found(begin);
  std::uint32_t visits = 0;
  runs.each(begin, end, [&](std::uint32_t first, const Excerpt& value) {
    EXPECT_TRUE(visits++ > 0 || first == begin) << "the first run begins at " << first;
    EXPECT_GE(first, begin);
    EXPECT_LT(first, end);
    found.resize(first, found.empty() ? Excerpt{} : found.back());
    found.push_back(value);
  });
  found.resize(end, found.empty() ? Excerpt{} : found.back());
  for (std::uint32_t slot = begin; slot < end; ++slot) {
    EXPECT_EQ(found[slot], slots[slot]) << "slot " << slot;
    EXPECT_EQ(runs.at(slot), slots[slot]) << "slot " << slot;
  }
}

// As many runs as there are changes of the value, from slot to slot.
std::size_t run_count(const Slots& slots) {
  std::size_t count = 0;
  Excerpt last;
  for (const Excerpt& each : slots) count += std::exchange(last, each) != each;
  return count;
}

TEST(SlotRuns, SayWhatAListWithAValueForEachSlotSays) {
  constexpr Excerpt kExcerpts[] = {{}, {1, 1}, {1, 2}, {2, 1}};
  for (const std::uint64_t seed : campaign_seeds(2'000)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) {
      return static_cast<std::uint32_t>(random() % limit);
    };
    SlotRuns<Excerpt> runs, forked;
    Slots slots, forked_slots;
    for (int step = 0; step < 60 && !::testing::Test::HasFailure(); ++step) {
      const auto length = static_cast<std::uint32_t>(slots.size());
      const std::uint32_t begin = below(length + 1);
      const std::uint32_t end = begin + below(length - begin + 1);
      switch (below(6)) {
        case 0:
        case 1: {
          const Excerpt value = kExcerpts[below(std::size(kExcerpts))];
          runs.extend(length, value);
          slots.insert(slots.end(), 1 + below(5), value);
          break;
        }
        case 2:
          runs.cut(begin);
          slots.resize(begin);
          break;
        case 3:
          runs.erase(begin, end);
          slots.erase(slots.begin() + begin, slots.begin() + end);
          runs.cut(static_cast<std::uint32_t>(slots.size()));
          break;
        case 4:  // A fork goes on as it is; what becomes of its parent does not show in it.
          forked = runs;
          forked_slots = slots;
          break;
        default:
          std::swap(runs, forked);
          std::swap(slots, forked_slots);
      }
      runs.verify();
      const auto now = static_cast<std::uint32_t>(slots.size());
      EXPECT_EQ(runs.run_count(), run_count(slots));
      EXPECT_EQ(runs.is_empty(), run_count(slots) == 0);
      expect_same(runs, slots, 0, now);
      const std::uint32_t first = below(now + 1);
      expect_same(runs, slots, first, first + below(now - first + 1));
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// Values that a rule of their own makes one: by what they point to.
struct SamePointee {
  bool operator()(const int* one, const int* other) const {
    return one == other || (one != nullptr && other != nullptr && *one == *other);
  }
};

TEST(SlotRuns, KeepOneRunForValuesThatTheirRuleCallsTheSame) {
  const int one = 1, again = 1, two = 2;
  SlotRuns<const int*, SamePointee> runs;
  runs.extend(0, nullptr);
  EXPECT_TRUE(runs.is_empty());
  runs.extend(2, &one);
  runs.extend(4, &again);
  EXPECT_EQ(runs.run_count(), 1u);
  EXPECT_EQ(runs.at(5), &one);
  runs.extend(6, &two);
  runs.extend(8, &again);
  runs.erase(6, 8);  // What is left beside one another is one run.
  runs.verify();
  EXPECT_EQ(runs.run_count(), 1u);
}

}  // namespace
}  // namespace quire::control
