#pragma once
// FeedbackQueue says which guest runs next: the one that has run, or is likely to run, least, by
// levels, and each fourth time the one that has stood here longest, so that all go on in the end.
// (The feedback queue of Corbató et al., "An Experimental Time-Sharing System", 1962.)
//
// So one that does a little for each token, or is cut once in a while because it had much to do,
// does not wait for a slice of each of the many that only compute.
//
// Thread   that of its owner.
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "control/api/types.h"

namespace quire::lifecycle {

class FeedbackQueue {
 public:
  // The first level is of those below `first_end_ns`; each further one reaches `growth` times as
  // far, the last one to infinity.
  FeedbackQueue(std::uint64_t first_end_ns, std::uint64_t growth)
      : first_end_ns_(first_end_ns), growth_(growth) {}

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
  std::size_t level_of(std::uint64_t used_ns) const;
  Level& least_level();
  Level& oldest_level();

  const std::uint64_t first_end_ns_;
  const std::uint64_t growth_;
  std::array<Level, kLevelCount> levels_;
  std::size_t count_ = 0;
  std::uint64_t pushed_count_ = 0;
  std::uint64_t popped_count_ = 0;
};

}  // namespace quire::lifecycle
