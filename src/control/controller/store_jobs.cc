#include "control/controller/store_jobs.h"

#include <utility>
#include <variant>

#include "base/check.h"

namespace quire::control {
namespace {

AnswerBody answer_of(store::SnapshotList list) {
  Snapshots snapshots{.all = {}, .bytes = list.tenant_bytes};
  for (store::SnapshotInfo& each : list.snapshots) {
    snapshots.all.push_back({.name = std::move(each.name),
                             .created_unix_ms = each.created_unix_ms,
                             .expires_unix_ms = each.expires_unix_ms,
                             .token_count = each.token_count,
                             .bytes = each.bytes});
  }
  return snapshots;
}

AnswerBody answer_of(store::ValuePut put) {
  return ValueVersion{put.version};
}

AnswerBody answer_of(store::StoredValue value) {
  return StoredValue{.version = value.version, .bytes = std::move(value.bytes)};
}

AnswerBody answer_of(store::KeyList list) {
  ListedKeys keys{.all = {}, .has_more = list.has_more};
  for (store::ListedKey& each : list.keys) {
    keys.all.push_back(
        {.name = std::move(each.key), .version = each.version, .value_bytes = each.value_bytes});
  }
  return keys;
}

// What says nothing but that it was done.
template <typename Other>
AnswerBody answer_of(Other) {
  return Done{};
}

}  // namespace

Result<void> StoreJobs::start(Instance& instance, FutureId future, store::DiskJob job) {
  const Job owner{.instance = instance.id, .future = future};
  if (jobs_.size() >= kOnDiskCountMax) {
    waiting_[instance.tenant].push_back({owner, std::move(job)});
  } else {
    const store::DiskJobId id = TRY(disk_.submit(std::move(job)));
    jobs_.emplace(static_cast<std::uint64_t>(id), owner);
  }
  ++instance.job_count;
  return {};
}

void StoreJobs::finish(store::DiskAnswer answer) {
  const auto found = jobs_.find(static_cast<std::uint64_t>(answer.id));
  QUIRE_CHECK(found != jobs_.end(), "an answer to nothing that was asked");
  const Job job = found->second;
  jobs_.erase(found);
  settled_.push_back(job.instance);
  if (job.future != kNoFuture) {
    Result<AnswerBody> body =
        answer.body.ok()
            ? Result<AnswerBody>(std::visit([](auto each) { return answer_of(std::move(each)); },
                                            std::move(answer.body).take()))
            : Result<AnswerBody>(std::move(answer.body).take_error());
    dispatcher_.answer(job.instance, job.future, std::move(body));
  }
  fill();
}

void StoreJobs::fill() {
  while (jobs_.size() < kOnDiskCountMax && !waiting_.empty()) {
    auto turn = waiting_.upper_bound(last_turn_);
    if (turn == waiting_.end()) turn = waiting_.begin();
    last_turn_ = turn->first;
    Waiting next = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) waiting_.erase(turn);
    Result<store::DiskJobId> id = disk_.submit(next.job);
    if (id.ok()) {
      jobs_.emplace(static_cast<std::uint64_t>(id.value()), next.owner);
      continue;
    }
    settled_.push_back(next.owner.instance);
    if (next.owner.future == kNoFuture) continue;
    dispatcher_.answer(next.owner.instance, next.owner.future, std::move(id).take_error());
  }
}

std::optional<InstanceId> StoreJobs::take_settled() {
  if (settled_.empty()) return std::nullopt;
  const InstanceId instance = settled_.front();
  settled_.pop_front();
  return instance;
}

void StoreJobs::forget(InstanceId instance, FutureId future) {
  const auto drop = [&](Job& job) {
    if (job.instance == instance && job.future == future) job.future = kNoFuture;
  };
  for (auto& [id, job] : jobs_) drop(job);
  for (auto& [tenant, queue] : waiting_) {
    for (Waiting& each : queue) drop(each.owner);
  }
}

void StoreJobs::forget_all(InstanceId instance) {
  for (auto& [id, job] : jobs_) {
    if (job.instance == instance) job.future = kNoFuture;
  }
  for (auto& [tenant, queue] : waiting_) {
    std::erase_if(queue,
                  [instance](const Waiting& each) { return each.owner.instance == instance; });
  }
  std::erase_if(waiting_, [](const auto& each) { return each.second.empty(); });
}

}  // namespace quire::control
