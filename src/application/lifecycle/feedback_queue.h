#pragma once
// BackgroundQueue says which of the guests that used up their slice goes on next: the one that has
// run least since it last waited, by levels, and each fourth time the one that has stood here
// longest, so that all go on in the end. (The feedback queue of Corbató et al., "An Experimental
// Time-Sharing System", 1962.)
//
// So one that is cut once in a while, because it had much to do or its thread had to stand back,
// does not wait for a slice of each of the many that only compute.
//
// Thread   that of its owner.
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "control/api/types.h"

namespace quire::lifecycle {

class BackgroundQueue {
 public:
  // What it ran since it last waited; one that never waited counts as if it had run kUnknownNs
  // more.
  static constexpr std::uint64_t kUnknownNs = 4'000'000;
  void push(control::InstanceId id, std::uint64_t used_ns);
  control::InstanceId pop();  // Requires: not empty.
  void remove(control::InstanceId id);

  bool empty() const { return count_ == 0; }
  std::vector<control::InstanceId> ids() const;

 private:
  static constexpr std::size_t kLevelCount = 6;
  static constexpr std::uint64_t kOldestEach = 4;
  struct Waiter {
    control::InstanceId id;
    std::uint64_t number;  // Of the push.
  };
  using Level = std::deque<Waiter>;
  static std::size_t level_of(std::uint64_t used_ns);
  Level& least_level();
  Level& oldest_level();

  std::array<Level, kLevelCount> levels_;
  std::size_t count_ = 0;
  std::uint64_t pushed_count_ = 0;
  std::uint64_t popped_count_ = 0;
};

}  // namespace quire::lifecycle
