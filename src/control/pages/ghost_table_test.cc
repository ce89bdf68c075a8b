#include "control/pages/ghost_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace quire::control {
namespace {

TEST(GhostTable, RemembersTheLastAndTellsWhatItForgets) {
  GhostTable ghosts(2);
  EXPECT_FALSE(ghosts.put(1, 10));
  EXPECT_FALSE(ghosts.put(2, 20));
  EXPECT_EQ(ghosts.put(3, 30), 10u);
  EXPECT_FALSE(ghosts.take(1));
  EXPECT_EQ(ghosts.take(2), 20u);
  EXPECT_FALSE(ghosts.take(2));
  EXPECT_EQ(ghosts.count(), 1u);
}

TEST(GhostTable, AgreesWithAQueueOfHashesUnderRandomUse) {
  std::mt19937_64 random(3);
  constexpr std::size_t kCount = 13;
  GhostTable ghosts(kCount);
  struct Slot {
    std::uint64_t hash = 0;
    std::uint64_t word = 0;
    bool in_use = false;
  };
  std::deque<Slot> model(kCount);
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const std::uint64_t hash = random() % 40;
    std::optional<std::uint64_t> expected;
    for (Slot& slot : model) {
      if (!slot.in_use || slot.hash != hash) continue;
      expected = slot.word;
      slot.in_use = false;
    }
    if (random() % 2 == 0) {
      ASSERT_EQ(ghosts.take(hash), expected);
    } else {
      if (model.front().in_use) expected = model.front().word;
      model.pop_front();
      model.push_back({.hash = hash, .word = step, .in_use = true});
      ASSERT_EQ(ghosts.put(hash, step), expected);
    }
    ghosts.verify();
  }
}

}  // namespace
}  // namespace quire::control
