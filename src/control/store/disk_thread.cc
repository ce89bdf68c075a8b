#include "control/store/disk_thread.h"

#include <utility>

#include "base/start_thread.h"

namespace quire::store {
namespace {

Error no_room(const char* what) {
  return Error(ErrorCode::Unavailable, std::string("the disk cannot keep up: ") + what);
}

}  // namespace

DiskThread::DiskThread(FileSystem& files, std::unique_ptr<SnapshotStore> store,
                       DiskAnswerSink& sink, const Clock& clock, StoreFailures::Tell tell)
    : files_(files),
      store_(std::move(store)),
      sink_(sink),
      clock_(clock),
      failures_(store_->folder(), std::move(tell), clock) {}

Result<std::unique_ptr<DiskThread>> DiskThread::start(FileSystem& files,
                                                      std::unique_ptr<SnapshotStore> store,
                                                      DiskAnswerSink& sink, const Clock& clock,
                                                      StoreFailures::Tell tell) {
  std::unique_ptr<DiskThread> disk(
      new DiskThread(files, std::move(store), sink, clock, std::move(tell)));
  disk->thread_ = TRY(start_thread("the store's disk", [self = disk.get()] {
    while (std::optional<Accepted> accepted = self->jobs_.pop()) {
      self->sink_.deliver(self->failures_.for_programs(run_disk_job(
          *self->store_, self->files_, self->clock_, accepted->id, std::move(accepted->job))));
    }
  }));
  return disk;
}

DiskThread::~DiskThread() {
  jobs_.close();
  if (thread_.joinable()) thread_.join();
}

Result<void> DiskThread::submit(DiskJobId id, DiskJob& job) {
  if (!sink_.try_reserve()) return no_room("no room for another answer");
  Accepted accepted{id, std::move(job)};
  if (jobs_.try_push_from(accepted)) return {};
  job = std::move(accepted.job);
  sink_.cancel_reservation();
  return no_room("its queue is full");
}

Result<void> InlineDisk::submit(DiskJobId id, DiskJob& job) {
  if (!sink_.try_reserve()) return no_room("no room for another answer");
  if (jobs_.size() >= job_count_max_) {
    sink_.cancel_reservation();
    return no_room("its queue is full");
  }
  jobs_.push_back({id, std::move(job)});
  return {};
}

bool InlineDisk::run_one() {
  if (jobs_.empty()) return false;
  Accepted accepted = std::move(jobs_.front());
  jobs_.pop_front();
  sink_.deliver(failures_.for_programs(
      run_disk_job(*store_, files_, clock_, accepted.id, std::move(accepted.job))));
  return true;
}

}  // namespace quire::store
