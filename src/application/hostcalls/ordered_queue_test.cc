#include "application/hostcalls/ordered_queue.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "base/seeds.h"

namespace quire::hostcalls {
namespace {

// Beside the simplest model: the set of what is in it.
TEST(OrderedQueue, GivesTheFirstOfWhatIsThereWhateverIsPutBackWhen) {
  for (const std::uint64_t seed : campaign_seeds(100)) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    const auto below = [&](std::uint64_t limit) { return random.next() % limit; };
    OrderedQueue<std::uint64_t> queue;
    std::set<std::uint64_t> inside;
    std::vector<std::vector<OrderedQueue<std::uint64_t>::Element>> outside;
    std::uint64_t last = 0;
    for (int step = 0; step < 500; ++step) {
      if (below(2) == 0) {
        queue.push(++last);
        inside.insert(last);
      } else if (below(2) == 0) {
        auto& batch = outside.emplace_back();
        for (std::uint64_t count = below(6); count > 0 && !queue.empty(); --count) {
          batch.push_back(queue.pop());
          ASSERT_EQ(batch.back().value, *inside.begin());
          inside.erase(inside.begin());
        }
      } else if (!outside.empty()) {
        const auto batch = outside.begin() + static_cast<std::ptrdiff_t>(below(outside.size()));
        for (const auto& each : *batch) inside.insert(each.value);
        if (batch->size() == 1) {
          queue.put_back(batch->front());
        } else {
          queue.put_back(*batch);
        }
        outside.erase(batch);
      }
      queue.verify();
      ASSERT_EQ(queue.size(), inside.size());
    }
    for (const std::uint64_t each : inside) ASSERT_EQ(queue.pop().value, each);
  }
}

}  // namespace
}  // namespace quire::hostcalls
