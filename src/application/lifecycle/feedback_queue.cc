#include "application/lifecycle/feedback_queue.h"

#include <algorithm>

#include "base/check.h"

namespace quire::lifecycle {

using control::InstanceId;

std::size_t FeedbackQueue::level_of(std::uint64_t used_ns) const {
  std::size_t level = 0;
  for (std::uint64_t end_ns = first_end_ns_; used_ns >= end_ns && level + 1 < kLevelCount;
       end_ns *= growth_) {
    ++level;
  }
  return level;
}

void FeedbackQueue::push(InstanceId id, std::uint64_t used_ns) {
  levels_[level_of(used_ns)].push_back({.id = id, .number = pushed_count_++});
  ++count_;
}

FeedbackQueue::Level& FeedbackQueue::least_level() {
  return *std::find_if(levels_.begin(), levels_.end(),
                       [](const Level& level) { return !level.empty(); });
}

FeedbackQueue::Level& FeedbackQueue::oldest_level() {
  Level* oldest = &least_level();
  for (Level& level : levels_) {
    if (!level.empty() && level.front().number < oldest->front().number) oldest = &level;
  }
  return *oldest;
}

InstanceId FeedbackQueue::pop() {
  QUIRE_CHECK(!empty(), "nobody waits for its turn");
  Level& level = ++popped_count_ % kOldestEach == 0 ? oldest_level() : least_level();
  const InstanceId id = level.front().id;
  level.pop_front();
  --count_;
  return id;
}

void FeedbackQueue::remove(InstanceId id) {
  for (Level& level : levels_) {
    count_ -= std::erase_if(level, [id](const Waiter& each) { return each.id == id; });
  }
}

std::vector<InstanceId> FeedbackQueue::ids() const {
  std::vector<InstanceId> all;
  for (const Level& level : levels_) {
    for (const Waiter& each : level) all.push_back(each.id);
  }
  return all;
}

}  // namespace quire::lifecycle
