#include "base/wiped_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "base/random.h"
#include "base/seeds.h"

namespace quire {
namespace {

TEST(WipedQueue, GivesBytesInOrderAndHoldsNoneThatWereTaken) {
  for (const std::uint64_t seed : campaign_seeds(20)) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    WipedQueue queue;
    std::string model;
    for (int step = 0; step < 300; ++step) {
      if (random.next() % 2 == 0) {
        std::string bytes(random.next() % 700, '\0');
        for (char& each : bytes) each = static_cast<char>(random.next());
        queue.add(bytes);
        model += bytes;
      } else {
        const std::size_t count = random.next() % (model.size() + 1);
        queue.take(count);
        model.erase(0, count);
      }
      if (queue.is_empty() && random.next() % 4 == 0) queue.shrink(256);
      ASSERT_EQ(queue.view(), model);
      queue.verify();
    }
  }
}

TEST(Wipe, EmptiesATextAndItsWholeBlock) {
  std::string text(100, 'k');
  const char* const block = text.data();
  const std::size_t capacity = text.capacity();
  text.resize(10);
  wipe(text);
  EXPECT_TRUE(text.empty());
  ASSERT_EQ(text.data(), block);
  EXPECT_TRUE(std::all_of(block, block + capacity, [](char each) { return each == 0; }));
}

}  // namespace
}  // namespace quire
