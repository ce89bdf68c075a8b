#pragma once
// SnapshotJobs asks the disk for what needs no model: to delete snapshots and to list them.
//
// Owns     the questions on their way.
// Thread   engine thread; the work itself on the disk's.
// Errors   of start(): NotSupported without a store, Unavailable where the disk has too much to do.
#include <cstdint>
#include <unordered_map>

#include "control/dispatcher/dispatcher.h"
#include "control/resources/objects.h"
#include "control/scheduler/snapshot_disk.h"

namespace quire::control {

class SnapshotJobs {
 public:
  SnapshotJobs(store::Disk* disk, Dispatcher& dispatcher)
      : disk_(disk, kNoModel, {}), dispatcher_(dispatcher) {}

  // Counts as one of the instance's jobs until it is answered.
  Result<void> start(Instance& instance, FutureId future, store::DiskJob job);
  // Answers the one whose job it was. Gives its instance.
  InstanceId finish(store::DiskAnswer answer);
  void forget(InstanceId instance, FutureId future);  // Nobody wants the answer.
  void forget_all(InstanceId instance);

  bool idle() const { return jobs_.empty(); }

 private:
  static constexpr ModelIndex kNoModel{0xffff};
  struct Job {
    InstanceId instance{};
    FutureId future{};
  };
  SnapshotDisk disk_;
  Dispatcher& dispatcher_;
  std::unordered_map<std::uint64_t, Job> jobs_;
};

}  // namespace quire::control
