#pragma once
// StoreJobs asks the disk for what needs no model: to delete snapshots and to list them, and for
// the values that tenants keep by key.
//
// The disk has room for so many jobs of all kinds; kOnDiskCountMax of them are these. What is
// beyond that waits here, tenants taking turns, so that a program that asks in a loop delays its
// own tenant and hides nobody's snapshot behind `unavailable`.
//
// Owns     the questions on their way and those that wait. Each tenant's are answered in the order
//          in which they were asked; instances bound how many they have.
// Thread   engine thread; the work itself on the disk's.
// Errors   of start(): NotSupported without a store, Unavailable where the disk has too much to do.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include "control/dispatcher/dispatcher.h"
#include "control/resources/objects.h"
#include "control/scheduler/snapshot_disk.h"

namespace quire::control {

class StoreJobs {
 public:
  static constexpr std::size_t kOnDiskCountMax = 32;

  StoreJobs(store::Disk* disk, Dispatcher& dispatcher)
      : disk_(disk, kNoModel, {}), dispatcher_(dispatcher) {}

  // Counts as one of the instance's jobs until it is answered.
  Result<void> start(Instance& instance, FutureId future, store::DiskJob job);
  // Answers the one whose job it was, and gives the disk what waits; see take_settled().
  void finish(store::DiskAnswer answer);
  // An instance whose job was answered since; empty: none is left to tell.
  std::optional<InstanceId> take_settled();
  // Nobody wants the answer; it happens all the same.
  void forget(InstanceId instance, FutureId future);
  // The instance ends: what the disk has not been given does not happen.
  void forget_all(InstanceId instance);

  bool idle() const { return jobs_.empty() && waiting_.empty(); }

 private:
  static constexpr ModelIndex kNoModel{0xffff};
  struct Job {
    InstanceId instance{};
    FutureId future{};
  };
  struct Waiting {
    Job owner;
    store::DiskJob job;
  };
  void fill();

  SnapshotDisk disk_;
  Dispatcher& dispatcher_;
  std::unordered_map<std::uint64_t, Job> jobs_;      // On the disk's way.
  std::map<TenantId, std::deque<Waiting>> waiting_;  // None is empty.
  TenantId last_turn_{};
  std::deque<InstanceId> settled_;
};

}  // namespace quire::control
