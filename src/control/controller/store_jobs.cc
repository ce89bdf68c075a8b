#include "control/controller/store_jobs.h"

#include <optional>
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

// Most jobs only answer that they are done.
template <typename Other>
AnswerBody answer_of(Other) {
  return Done{};
}

bool changes_something(const store::DiskJob& job) {
  return !std::holds_alternative<store::GetValueJob>(job) &&
         !std::holds_alternative<store::ListKeysJob>(job) &&
         !std::holds_alternative<store::ListJob>(job);
}

}  // namespace

void StoreJobs::start(Instance& instance, const Command& command, store::DiskJob job) {
  jobs_.add(instance, command.future, command.argument_bytes, std::move(job));
  fill();
}

void StoreJobs::finish(store::DiskAnswer answer) {
  const auto found = on_disk_.find(static_cast<std::uint64_t>(answer.id));
  QUIRE_CHECK(found != on_disk_.end(), "an answer to nothing that was asked");
  const JobTurns<store::DiskJob>::Owner owner = jobs_.finish(found->second);
  on_disk_.erase(found);
  if (owner.future != kNoFuture) {
    Result<AnswerBody> body =
        answer.body.ok()
            ? Result<AnswerBody>(std::visit([](auto each) { return answer_of(std::move(each)); },
                                            std::move(answer.body).take()))
            : Result<AnswerBody>(std::move(answer.body).take_error());
    dispatcher_.answer(owner.instance, owner.future, std::move(body));
  }
  fill();
}

void StoreJobs::fill() {
  while (jobs_.running_count() < kOnDiskCountMax) {
    std::optional<JobTurns<store::DiskJob>::Turn> next = jobs_.take_next();
    if (!next) return;
    Result<store::DiskJobId> id = disk_.submit(std::move(next->work));
    if (id.ok()) {
      on_disk_.emplace(static_cast<std::uint64_t>(id.value()), next->id);
      continue;
    }
    const JobTurns<store::DiskJob>::Owner owner = jobs_.finish(next->id);
    dispatcher_.answer(owner.instance, owner.future, std::move(id).take_error());
  }
}

void StoreJobs::forget(InstanceId instance, FutureId future) {
  jobs_.forget(instance, future, changes_something);
}

void StoreJobs::forget_all(InstanceId instance) {
  jobs_.forget_all(instance);
}

}  // namespace quire::control
