#include "application/lifecycle/background_queue.h"

#include <algorithm>

#include "base/check.h"

namespace quire::lifecycle {

using control::InstanceId;

// Below 4 ms; and each further level reaches to four times as much.
std::size_t BackgroundQueue::level_of(std::uint64_t used_ns) {
  std::size_t level = 0;
  for (std::uint64_t end_ns = kUnknownNs; used_ns >= end_ns && level + 1 < kLevelCount;
       end_ns *= 4) {
    ++level;
  }
  return level;
}

void BackgroundQueue::push(InstanceId id, std::uint64_t used_ns) {
  levels_[level_of(used_ns)].push_back({.id = id, .number = pushed_count_++});
  ++count_;
}

BackgroundQueue::Level& BackgroundQueue::least_level() {
  return *std::find_if(levels_.begin(), levels_.end(),
                       [](const Level& level) { return !level.empty(); });
}

BackgroundQueue::Level& BackgroundQueue::oldest_level() {
  Level* oldest = &least_level();
  for (Level& level : levels_) {
    if (!level.empty() && level.front().number < oldest->front().number) oldest = &level;
  }
  return *oldest;
}

InstanceId BackgroundQueue::pop() {
  QUIRE_CHECK(!empty(), "nobody is in the background");
  Level& level = ++popped_count_ % kOldestEach == 0 ? oldest_level() : least_level();
  const InstanceId id = level.front().id;
  level.pop_front();
  --count_;
  return id;
}

void BackgroundQueue::remove(InstanceId id) {
  for (Level& level : levels_) {
    count_ -= std::erase_if(level, [id](const Waiter& each) { return each.id == id; });
  }
}

std::vector<InstanceId> BackgroundQueue::ids() const {
  std::vector<InstanceId> all;
  for (const Level& level : levels_) {
    for (const Waiter& each : level) all.push_back(each.id);
  }
  return all;
}

}  // namespace quire::lifecycle
