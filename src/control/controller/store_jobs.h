#pragma once
// StoreJobs sends the disk the jobs that need no model: to delete snapshots and to list them, and
// those of values that tenants keep by key.
//
// The disk has room for so many jobs of all kinds; kOnDiskCountMax of them are these. Further ones
// wait here, and tenants take turns (JobTurns). So a program that asks in a loop delays its own
// tenant, and no other tenant gets `unavailable` for a snapshot.
//
// Owns     the questions on their way and those that wait. Each tenant's are answered in the order
//          in which they were asked; instances limit how many they have.
// Thread   engine thread; the work itself on the disk's.
// Errors   are answers: NotSupported without a store, Unavailable if the disk has too much to do,
//          and the disk's own.
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/server_limits.h"
#include "control/controller/job_turns.h"
#include "control/objects/dispatcher.h"
#include "control/objects/store_link.h"

namespace quire::control {

class StoreJobs {
 public:
  static constexpr std::size_t kOnDiskCountMax = default_of<ServerLimit::StoreJobCountMax>();

  StoreJobs(store::Disk* disk, Dispatcher& dispatcher)
      : disk_(disk, kNoModel, {}), dispatcher_(dispatcher) {}

  // Sends the command's job to the disk. It counts as one of the instance's jobs until it is
  // answered.
  void start(Instance& instance, const Command& command, store::DiskJob job);
  // Answers the one whose job it was, and gives the disk what waits.
  void finish(store::DiskAnswer answer);
  // The answer is not wanted any more. A job that changes something is done all the same, and
  // counts until then.
  void forget(InstanceId instance, FutureId future);
  // The instance ends: what the disk has not been given does not happen.
  void forget_all(InstanceId instance);

  bool idle() const { return jobs_.idle(); }
  std::uint64_t refused_count() const { return disk_.refused_count(); }
  PendingCommands count_of(InstanceId instance) const { return jobs_.count_of(instance); }
  void verify() const { jobs_.verify(); }

 private:
  static constexpr ModelIndex kNoModel{0xffff};
  void fill();

  StoreLink disk_;
  Dispatcher& dispatcher_;
  JobTurns<store::DiskJob> jobs_;
  std::unordered_map<std::uint64_t, std::uint64_t> on_disk_;  // Jobs there, by the disk's number.
};

}  // namespace quire::control
