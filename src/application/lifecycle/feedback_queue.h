#pragma once
// FeedbackQueue chooses the guest that runs next, by levels: the one that has run, or is likely to
// run, least. Each fourth time it chooses the one that has waited here longest, so that all go on
// in the end. Tenants take turns within a level, and also each fourth time. If a tenant wakes a
// thousand guests at once, another tenant's guest waits for as many guests as there are tenants,
// not for a thousand. (The feedback queue of Corbató et al., "An Experimental Time-Sharing System",
// 1962.)
//
// Some guests do a little for each token, or are cut once in a while because they had much to
// do. They therefore do not wait for a slice of each of the many guests that only compute.
//
// Thread   that of its owner.
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "control/api/types.h"

namespace quire::lifecycle {

class FeedbackQueue {
 public:
  // The first level is of those below `first_end_ns`; each further one reaches `growth` times as
  // far, the last one to infinity.
  FeedbackQueue(std::uint64_t first_end_ns, std::uint64_t growth)
      : first_end_ns_(first_end_ns), growth_(growth) {}

  void push(control::TenantId tenant, control::InstanceId id, std::uint64_t used_ns);
  control::InstanceId pop();  // Requires: not empty.
  void remove(control::TenantId tenant, control::InstanceId id);

  bool empty() const { return count_ == 0; }
  std::vector<control::InstanceId> ids() const;

 private:
  static constexpr std::size_t kLevelCount = 6;
  static constexpr std::uint64_t kOldestEach = 4;
  struct Waiter {
    control::InstanceId id;
    std::uint64_t number;  // Of the push.
  };
  using Line = std::list<Waiter>;  // Of a tenant, the oldest first; not empty.
  struct Level {
    std::map<control::TenantId, Line> lines;
    control::TenantId last_turn{};
  };
  std::size_t level_of(std::uint64_t used_ns) const;
  control::InstanceId take(Level& level, control::TenantId tenant);
  void uncount(control::TenantId tenant, std::size_t count);
  control::InstanceId pop_least();
  control::InstanceId pop_oldest();

  const std::uint64_t first_end_ns_;
  const std::uint64_t growth_;
  std::array<Level, kLevelCount> levels_;
  std::map<control::TenantId, std::size_t> counts_;  // Of each that has any, in all levels.
  control::TenantId last_oldest_turn_{};
  std::size_t count_ = 0;
  std::uint64_t pushed_count_ = 0;
  std::uint64_t popped_count_ = 0;
};

}  // namespace quire::lifecycle
