#include "application/lifecycle/launch_queue.h"

#include <algorithm>

#include "base/check.h"

namespace quire::lifecycle {

using control::InstanceId;
using control::TenantId;

void LaunchQueue::set_weight(TenantId tenant, std::uint32_t weight) {
  QUIRE_CHECK(weight > 0, "LQ2");
  lines_[tenant].weight = std::min(weight, kWeightMax);
}

void LaunchQueue::enter(Line& line) {
  if (line.ids.empty()) line.time = std::max(line.time, time_);
}

void LaunchQueue::push(TenantId tenant, InstanceId id) {
  Line& line = lines_[tenant];
  enter(line);
  line.ids.push_back(id);
  ++count_;
}

std::optional<InstanceId> LaunchQueue::pop(const std::function<bool(const Waiter&)>& may_start) {
  Line* next = nullptr;
  for (auto& [tenant, line] : lines_) {
    if (line.ids.empty() || (next != nullptr && line.time >= next->time)) continue;
    if (may_start({.tenant = tenant, .id = line.ids.front()})) next = &line;
  }
  if (next == nullptr) return std::nullopt;
  const InstanceId id = next->ids.front();
  next->ids.pop_front();
  --count_;
  return id;
}

void LaunchQueue::started(TenantId tenant) {
  Line& line = lines_.at(tenant);
  time_ = std::max(time_, line.time);
  line.time += kWeightMax / line.weight;
}

void LaunchQueue::put_back(const std::vector<Waiter>& waiters) {
  for (auto at = waiters.rbegin(); at != waiters.rend(); ++at) {
    Line& line = lines_.at(at->tenant);
    enter(line);
    line.ids.push_front(at->id);
    ++count_;
  }
}

void LaunchQueue::remove(TenantId tenant, InstanceId id) {
  const std::size_t removed = std::erase(lines_.at(tenant).ids, id);
  QUIRE_CHECK(removed == 1, "it does not wait");
  --count_;
}

std::size_t LaunchQueue::size_of(TenantId tenant) const {
  const auto found = lines_.find(tenant);
  return found == lines_.end() ? 0 : found->second.ids.size();
}

std::vector<LaunchQueue::Waiter> LaunchQueue::firsts() const {
  std::vector<Waiter> firsts;
  for (const auto& [tenant, line] : lines_) {
    if (!line.ids.empty()) firsts.push_back({.tenant = tenant, .id = line.ids.front()});
  }
  return firsts;
}

std::vector<InstanceId> LaunchQueue::ids() const {
  std::vector<InstanceId> all;
  for (const auto& [tenant, line] : lines_) all.insert(all.end(), line.ids.begin(), line.ids.end());
  return all;
}

void LaunchQueue::verify() const {
  QUIRE_CHECK(ids().size() == count_, "LQ1");
  for (const auto& [tenant, line] : lines_) QUIRE_CHECK(line.weight > 0, "LQ2");
}

}  // namespace quire::lifecycle
