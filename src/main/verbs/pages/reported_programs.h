#pragma once
// The instances that a command reports, and what each had done when it ended.
//
// Thread   any; plain values.
#include <cstddef>
#include <map>

#include "control/api/control_port.h"

namespace quire {

class ReportedPrograms {
 public:
  // Numbered from 0, in this order unless it is said otherwise.
  void add(control::InstanceId instance) { add(instance, numbers_.size()); }
  void add(control::InstanceId instance, std::size_t number) { numbers_.emplace(instance, number); }
  // As many as there are for one that was never added.
  std::size_t number_of(control::InstanceId instance) const {
    const auto found = numbers_.find(instance);
    return found == numbers_.end() ? numbers_.size() : found->second;
  }
  // Just before it ends, or in its end.
  void note(control::InstanceId instance, const control::InstanceStatistics& statistics) {
    statistics_.insert_or_assign(number_of(instance), statistics);
  }
  // The statistics of each instance that was noted, by number.
  const std::map<std::size_t, control::InstanceStatistics>& statistics() const {
    return statistics_;
  }

 private:
  std::map<control::InstanceId, std::size_t> numbers_;
  std::map<std::size_t, control::InstanceStatistics> statistics_;
};

}  // namespace quire
