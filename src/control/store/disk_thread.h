#pragma once
// DiskThread is the thread that waits for the disk, so that the engine never does. InlineDisk is
// the same without a thread, for a simulation that decides when the disk gets its turn.
//
// A slot for the answer is reserved before a job is accepted, so that delivering never fails and no
// push blocks. If there is no slot, or the queue is full, submit() says Unavailable and the job has
// not happened.
#include <deque>
#include <memory>
#include <thread>

#include "base/bounded_queue.h"
#include "base/server_limits.h"
#include "control/store/disk_jobs.h"
#include "control/store/store_failures.h"

namespace quire::store {

inline constexpr std::size_t kDiskJobCountMax =
    default_of<ServerLimit::DiskJobCountMax>();  // Waiting or under way.

// The receiver of answers.
class DiskAnswerSink {
 public:
  virtual ~DiskAnswerSink() = default;
  // Keeps room for one answer; false if there is none. Any thread.
  virtual bool try_reserve() = 0;
  // Gives that room back: no answer will come. Any thread.
  virtual void cancel_reservation() = 0;
  // Takes an answer for which room was reserved; never blocks or fails. The disk's thread.
  virtual void deliver(DiskAnswer answer) = 0;
};

// The receiver of jobs. They are done in the order in which they were accepted.
class Disk {
 public:
  virtual ~Disk() = default;
  // Moves from `job` only where it is accepted.
  virtual Result<void> submit(DiskJobId id, DiskJob& job) = 0;
  Result<void> submit(DiskJobId id, DiskJob&& job) { return submit(id, job); }
};

class DiskThread final : public Disk {
 public:
  // `tell` hears of what fails with the store's files. Unavailable if the system has no thread
  // left.
  static Result<std::unique_ptr<DiskThread>> start(FileSystem& files,
                                                   std::unique_ptr<SnapshotStore> store,
                                                   DiskAnswerSink& sink, const Clock& clock,
                                                   StoreFailures::Tell tell = {});
  ~DiskThread() override;  // Does what was accepted.
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  using Disk::submit;
  Result<void> submit(DiskJobId id, DiskJob& job) override;

 private:
  DiskThread(FileSystem& files, std::unique_ptr<SnapshotStore> store, DiskAnswerSink& sink,
             const Clock& clock, StoreFailures::Tell tell);
  struct Accepted {
    DiskJobId id{};
    DiskJob job;
  };
  FileSystem& files_;
  std::unique_ptr<SnapshotStore> store_;
  DiskAnswerSink& sink_;
  const Clock& clock_;
  StoreFailures failures_;  // Of the disk's thread.
  BoundedQueue<Accepted> jobs_{kDiskJobCountMax};
  std::thread thread_;
};

class InlineDisk final : public Disk {
 public:
  InlineDisk(FileSystem& files, std::unique_ptr<SnapshotStore> store, DiskAnswerSink& sink,
             const Clock& clock, std::size_t job_count_max = kDiskJobCountMax)
      : files_(files),
        store_(std::move(store)),
        sink_(sink),
        clock_(clock),
        failures_(store_->folder(), {}, clock),
        job_count_max_(job_count_max) {}

  using Disk::submit;
  Result<void> submit(DiskJobId id, DiskJob& job) override;
  // Does the oldest job, if there is one.
  bool run_one();
  SnapshotStore& store() { return *store_; }

 private:
  struct Accepted {
    DiskJobId id{};
    DiskJob job;
  };
  FileSystem& files_;
  std::unique_ptr<SnapshotStore> store_;
  DiskAnswerSink& sink_;
  const Clock& clock_;
  StoreFailures failures_;
  const std::size_t job_count_max_;
  std::deque<Accepted> jobs_;
};

}  // namespace quire::store
