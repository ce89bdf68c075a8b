#include "control/controller/snapshot_jobs.h"

#include <utility>

#include "base/check.h"

namespace quire::control {

Result<void> SnapshotJobs::start(Instance& instance, FutureId future, store::DiskJob job) {
  const store::DiskJobId id = TRY(disk_.submit(std::move(job)));
  jobs_.emplace(static_cast<std::uint64_t>(id), Job{.instance = instance.id, .future = future});
  ++instance.job_count;
  return {};
}

InstanceId SnapshotJobs::finish(store::DiskAnswer answer) {
  const auto found = jobs_.find(static_cast<std::uint64_t>(answer.id));
  QUIRE_CHECK(found != jobs_.end(), "an answer to nothing that was asked");
  const Job job = found->second;
  jobs_.erase(found);
  if (job.future == kNoFuture) return job.instance;
  if (!answer.body.ok()) {
    dispatcher_.answer(job.instance, job.future, std::move(answer.body).take_error());
    return job.instance;
  }
  const store::DiskAnswerBody body = std::move(answer.body).take();
  const auto* list = std::get_if<store::SnapshotList>(&body);
  if (list == nullptr) {
    dispatcher_.answer(job.instance, job.future, AnswerBody(Done{}));
    return job.instance;
  }
  Snapshots snapshots{.all = {}, .bytes = list->tenant_bytes};
  for (const store::SnapshotInfo& each : list->snapshots) {
    snapshots.all.push_back({.name = each.name,
                             .created_unix_ms = each.created_unix_ms,
                             .expires_unix_ms = each.expires_unix_ms,
                             .token_count = each.token_count,
                             .bytes = each.bytes});
  }
  dispatcher_.answer(job.instance, job.future, AnswerBody(std::move(snapshots)));
  return job.instance;
}

void SnapshotJobs::forget(InstanceId instance, FutureId future) {
  for (auto& [id, job] : jobs_) {
    if (job.instance == instance && job.future == future) job.future = kNoFuture;
  }
}

void SnapshotJobs::forget_all(InstanceId instance) {
  for (auto& [id, job] : jobs_) {
    if (job.instance == instance) job.future = kNoFuture;
  }
}

}  // namespace quire::control
