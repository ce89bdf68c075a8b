#include "application/lifecycle/feedback_queue.h"

#include <algorithm>

#include "base/check.h"
#include "control/api/tenant_turns.h"

namespace quire::lifecycle {

using control::InstanceId;
using control::TenantId;

std::size_t FeedbackQueue::level_of(std::uint64_t used_ns) const {
  std::size_t level = 0;
  for (std::uint64_t end_ns = first_end_ns_; used_ns >= end_ns && level + 1 < kLevelCount;
       end_ns *= growth_) {
    ++level;
  }
  return level;
}

void FeedbackQueue::push(TenantId tenant, InstanceId id, std::uint64_t used_ns) {
  levels_[level_of(used_ns)].lines[tenant].push_back({.id = id, .number = pushed_count_++});
  ++counts_[tenant];
  ++count_;
}

InstanceId FeedbackQueue::pop() {
  QUIRE_CHECK(!empty(), "no instance waits for its turn");
  return ++popped_count_ % kOldestEach == 0 ? pop_oldest() : pop_least();
}

InstanceId FeedbackQueue::pop_least() {
  Level& level =
      *std::ranges::find_if(levels_, [](const Level& each) { return !each.lines.empty(); });
  level.last_turn = control::next_tenant(level.lines, level.last_turn)->first;
  return take(level, level.last_turn);
}

// Takes the oldest guest of the tenant whose turn it is.
InstanceId FeedbackQueue::pop_oldest() {
  last_oldest_turn_ = control::next_tenant(counts_, last_oldest_turn_)->first;
  Level* oldest = nullptr;
  std::uint64_t number = pushed_count_;
  for (Level& level : levels_) {
    const auto line = level.lines.find(last_oldest_turn_);
    if (line == level.lines.end() || line->second.front().number >= number) continue;
    oldest = &level;
    number = line->second.front().number;
  }
  return take(*oldest, last_oldest_turn_);
}

InstanceId FeedbackQueue::take(Level& level, TenantId tenant) {
  const auto line = level.lines.find(tenant);
  const InstanceId id = line->second.front().id;
  line->second.pop_front();
  if (line->second.empty()) level.lines.erase(line);
  uncount(tenant, 1);
  return id;
}

void FeedbackQueue::uncount(TenantId tenant, std::size_t count) {
  count_ -= count;
  if ((counts_[tenant] -= count) == 0) counts_.erase(tenant);
}

void FeedbackQueue::remove(TenantId tenant, InstanceId id) {
  for (Level& level : levels_) {
    const auto line = level.lines.find(tenant);
    if (line == level.lines.end()) continue;
    const std::size_t count =
        std::erase_if(line->second, [id](const Waiter& each) { return each.id == id; });
    if (line->second.empty()) level.lines.erase(line);
    if (count > 0) return uncount(tenant, count);
  }
}

std::vector<InstanceId> FeedbackQueue::ids() const {
  std::vector<InstanceId> all;
  for (const Level& level : levels_) {
    for (const auto& [tenant, line] : level.lines) {
      for (const Waiter& each : line) all.push_back(each.id);
    }
  }
  return all;
}

}  // namespace quire::lifecycle
