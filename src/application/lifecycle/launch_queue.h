#pragma once
// LaunchQueue chooses the waiting launch that gets the next place. Each tenant's launches go in the
// order in which they came, and the tenants take turns, by their weights. So a tenant's single
// launch does not wait for all of another tenant's thousand.
//
// A tenant's time is the launches that were started for it, over its weight; the smallest goes
// first. A tenant that had nothing waiting may not save up: it enters at the time of the waiting
// ones. If its time is ahead of theirs, it keeps that, or one launch after the other would always
// go first.
//
// Thread   that of its owner.
//
// Invariants, checked by verify():
//   LQ1  size() is the number of all launches that wait.
//   LQ2  No weight is 0.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "control/api/types.h"

namespace quire::lifecycle {

class LaunchQueue {
 public:
  static constexpr std::uint32_t kWeightMax = 1u << 20;

  // The default is 1. At most kWeightMax counts.
  void set_weight(control::TenantId tenant, std::uint32_t weight);

  void push(control::TenantId tenant, control::InstanceId id);
  struct Waiter {
    control::TenantId tenant{};
    control::InstanceId id{};
  };
  // The next one that `may_start`, if there is any: of each tenant the one that came first is asked
  // for. It costs its tenant nothing unless it is started.
  std::optional<control::InstanceId> pop(const std::function<bool(const Waiter&)>& may_start);
  void started(control::TenantId tenant);
  // Launches that were taken and could not be started wait again, where they were.
  void put_back(const std::vector<Waiter>& waiters);  // In the order in which they were taken.
  void remove(control::TenantId tenant, control::InstanceId id);  // Requires: it waits.

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  std::size_t size_of(control::TenantId tenant) const;
  // The oldest waiting launch of each tenant that has any.
  std::vector<Waiter> firsts() const;
  std::vector<control::InstanceId> ids() const;
  void verify() const;

 private:
  struct Line {
    std::uint32_t weight = 1;
    std::uint64_t time = 0;  // In parts of kWeightMax.
    std::deque<control::InstanceId> ids;
  };
  void enter(Line& line);

  // Each tenant that ever launched; tenants are the operator's, so they are few.
  std::map<control::TenantId, Line> lines_;
  std::size_t count_ = 0;
  std::uint64_t time_ = 0;  // Of the tenant that was started last, when it was chosen.
};

}  // namespace quire::lifecycle
