#include "control/store/disk_thread.h"

#include <utility>

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
      failures_(store_->folder(), std::move(tell), clock) {
  thread_ = std::thread([this] {
    while (std::optional<Accepted> accepted = jobs_.pop()) {
      sink_.deliver(failures_.for_programs(
          run_disk_job(*store_, files_, clock_, accepted->id, std::move(accepted->job))));
    }
  });
}

DiskThread::~DiskThread() {
  jobs_.close();
  thread_.join();
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
