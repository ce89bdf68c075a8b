#pragma once
// JobTurns keeps what instances ask of another thread: some of it is there, the rest waits here.
// Tenants take turns, so that one that asks in a loop delays itself alone; what one tenant asked
// goes in the order in which it asked.
//
// Owns     every job until it is done, and the work of those that wait. Each counts as one of its
//          instance's jobs until then, also when nobody wants its answer any more.
// Thread   engine thread only.
//
// Invariants, all checked by verify():
//   J1  A job of an instance that lives is named once in by_owner_, and no other is.
//   J2  A job that waits is in the queue of its tenant, one that runs in none; no queue is empty.
//   J3  The jobs and bytes that an instance counts are those that it has here (see count_of()).
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "control/api/tenant_turns.h"
#include "control/objects/instance.h"

namespace quire::control {

template <typename Work>
class JobTurns {
 public:
  struct Turn {
    std::uint64_t id = 0;
    Work work;
  };
  struct Owner {
    InstanceId instance{};
    FutureId future = kNoFuture;  // kNoFuture: the answer is not wanted.
  };

  // `argument_bytes`: as of the command; its instance counts them as long as the job.
  void add(Instance& instance, FutureId future, std::uint32_t argument_bytes, Work work) {
    const std::uint64_t id = ++last_id_;
    jobs_.emplace(id, Job{.instance = &instance,
                          .future = future,
                          .tenant = instance.tenant,
                          .argument_bytes = argument_bytes,
                          .work = std::move(work)});
    by_owner_.insert({instance.id, future, id});
    waiting_[instance.tenant].insert(id);
    ++instance.unfinished.job_count;
    instance.unfinished.argument_bytes += argument_bytes;
  }

  // The next tenant's first job, which runs from now on. Empty: none waits.
  std::optional<Turn> take_next() {
    if (waiting_.empty()) return std::nullopt;
    const auto turn = next_tenant(waiting_, last_turn_);
    last_turn_ = turn->first;
    const std::uint64_t id = *turn->second.begin();
    Job& job = jobs_.at(id);
    leave_queue(id, job.tenant);
    ++running_count_;
    Turn next{.id = id, .work = std::move(*job.work)};
    job.work.reset();
    return next;
  }

  // A job that ran is done.
  Owner finish(std::uint64_t id) {
    const auto found = jobs_.find(id);
    QUIRE_CHECK(found != jobs_.end() && !found->second.work, "a job that did not run is done");
    --running_count_;
    const Job& job = found->second;
    const Owner owner{.instance = job.instance == nullptr ? InstanceId{} : job.instance->id,
                      .future = job.is_wanted ? job.future : kNoFuture};
    if (job.instance != nullptr) by_owner_.erase({owner.instance, job.future, id});
    erase(found);
    return owner;
  }

  // The answer is not wanted any more. A waiting job is taken back, unless its work must be done
  // all the same.
  template <typename HasEffect>
  void forget(InstanceId instance, FutureId future, HasEffect has_effect) {
    if (future == kNoFuture) return;
    const auto name = by_owner_.lower_bound({instance, future, 0});
    if (name == by_owner_.end() || std::get<0>(*name) != instance || std::get<1>(*name) != future) {
      return;
    }
    const auto found = jobs_.find(std::get<2>(*name));
    Job& job = found->second;
    job.is_wanted = false;
    if (!job.work || has_effect(*job.work)) return;
    leave_queue(found->first, job.tenant);
    by_owner_.erase(name);
    erase(found);
  }

  // The instance ends: waiting jobs are taken back, and running ones have no owner.
  void forget_all(InstanceId instance) {
    auto name = by_owner_.lower_bound({instance, FutureId{}, 0});
    while (name != by_owner_.end() && std::get<0>(*name) == instance) {
      const auto found = jobs_.find(std::get<2>(*name));
      Job& job = found->second;
      name = by_owner_.erase(name);
      if (job.work) {
        leave_queue(found->first, job.tenant);
        erase(found);
        continue;
      }
      uncount(job);
      job.instance = nullptr;
      job.is_wanted = false;
    }
  }

  std::size_t running_count() const { return running_count_; }
  bool idle() const { return jobs_.empty(); }

  PendingCommands count_of(InstanceId instance) const {
    PendingCommands pending;
    for (const auto& [id, job] : jobs_) {
      if (job.instance == nullptr || job.instance->id != instance) continue;
      ++pending.count;
      pending.bytes += job.argument_bytes;
    }
    return pending;
  }

  void verify() const {
    std::size_t named_count = 0;
    std::size_t queued_count = 0;
    for (const auto& [id, job] : jobs_) {
      QUIRE_CHECK(job.instance != nullptr || !job.work, "J2");
      queued_count += job.work.has_value();
      if (job.work) QUIRE_CHECK(waiting_.at(job.tenant).contains(id), "J2");
      if (job.instance == nullptr) continue;
      ++named_count;
      QUIRE_CHECK(by_owner_.contains({job.instance->id, job.future, id}), "J1");
    }
    QUIRE_CHECK(by_owner_.size() == named_count, "J1");
    for (const auto& [tenant, queue] : waiting_) {
      QUIRE_CHECK(!queue.empty() && queue.size() <= queued_count, "J2");
      queued_count -= queue.size();
    }
    QUIRE_CHECK(queued_count == 0, "J2");
  }

 private:
  struct Job {
    Instance* instance = nullptr;  // Null: it has ended.
    FutureId future = kNoFuture;
    TenantId tenant{};
    std::uint32_t argument_bytes = 0;
    bool is_wanted = true;
    std::optional<Work> work;  // Empty: it runs.
  };
  using Jobs = std::unordered_map<std::uint64_t, Job>;

  void leave_queue(std::uint64_t id, TenantId tenant) {
    const auto queue = waiting_.find(tenant);
    queue->second.erase(id);
    if (queue->second.empty()) waiting_.erase(queue);
  }
  static void uncount(const Job& job) {
    --job.instance->unfinished.job_count;
    job.instance->unfinished.argument_bytes -= job.argument_bytes;
  }
  void erase(typename Jobs::iterator job) {
    if (job->second.instance != nullptr) uncount(job->second);
    jobs_.erase(job);
  }

  Jobs jobs_;  // By order of asking.
  std::set<std::tuple<InstanceId, FutureId, std::uint64_t>> by_owner_;
  std::map<TenantId, std::set<std::uint64_t>> waiting_;
  TenantId last_turn_{};
  std::uint64_t last_id_ = 0;
  std::size_t running_count_ = 0;
};

}  // namespace quire::control
