#pragma once
// Controller is the front of the control layer: stop 5 of the walk.
//
// It finds the instance of each command and issues it (issue/issuer.h); operations that wait for no
// other go to the Scheduler of their replica.
//
// Owns     tenants, the replicas with a Scheduler for each, and the jobs of helpers. Instances,
//          objects and operations are the OperationTable's.
// Thread   engine thread only; see CompletionInbox for the outcomes of other threads.
// Errors   every error is the answer to a command's future. Nothing that a guest sends stops the
//          process.
//
// dispatch() must be called at least once a second while idle() is false and it returns false. An
// operation that waits for a page gives up after ControllerOptions::page_wait_ns_max. It does so in
// the first turn after a tenth of that time without progress: while other operations go on, it
// waits for the pages that they give back.
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/wakeup.h"
#include "base/walk.h"
#include "control/api/control_port.h"
#include "control/api/tier_statistics.h"
#include "control/controller/completion_inbox.h"
#include "control/controller/issue/issuer.h"
#include "control/controller/served_model.h"
#include "control/controller/store_jobs.h"
#include "control/controller/text_jobs.h"
#include "control/scheduler/scheduler.h"
#include "control/steps/matcher_jobs.h"

namespace quire::control {

struct ControllerOptions {
  DispatchPolicy dispatch{};
  std::uint32_t prefill_row_budget = 0;    // Of a batch that also decodes; 0: measured.
  std::uint64_t aging_ns = 1'000'000'000;  // As of BatchOrder.
  std::uint64_t page_wait_ns_max = 10'000'000'000;
  std::uint32_t rowless_count_max = 32;        // As of the scheduler.
  std::uint64_t answer_bytes_max = 64u << 20;  // Likewise.
  EvictionPolicyKind eviction = EvictionPolicyKind::Default;
  WhenFull when_full = WhenFull::Suspend;
  // Misses of look-ups that each model remembers with their reasons; 0: none, and nothing is spent
  // on them (docs/internals/paged_kv.md). A program may ask for its own if the scope is its own
  // domain.
  std::uint32_t miss_count_max = 0;
  MissScope miss_scope = MissScope::Everything;
  bool shares_prefixes = true;  // False: nothing is looked up; for comparisons.
  Digest sharing_secret{};      // Keys the sharing domain of each tenant, and the trie.
  Digest nonce{};               // New with each start, so that no opaque name comes again.
  store::Disk* disk = nullptr;  // Null: snapshots are not-supported.
  store::SnapshotShares* snapshots = nullptr;  // Those of its store. Null: nothing is shared out.
  // Where pages go that the device has no room for: of all models, each of which has an equal part.
  // What is the device's is not asked for here.
  PageTierOptions tiers{};
  CostOptions costs{};           // When they come back from there.
  std::uint32_t hash_bits = 64;  // Fewer only in tests.
  Helpers helpers{};
  WalkSink* walk = nullptr;
};

class Controller final : public ControlPort, private OperationRunner {
 public:
  Controller(std::vector<ServedModel> models, const ControllerOptions& options,
             CompletionInbox& inbox, AnswerSink& answers, Wakeup& wakeup, const Clock& clock);
  ~Controller() override;

  const std::vector<ModelDescription>& models() const override { return descriptions_; }
  void set_tenant(TenantId tenant, const TenantOptions& options) override;
  void set_several_tenants(bool are_several) override;
  void start_instance(InstanceId instance, TenantId tenant, const InstanceLimits& limits) override;
  void set_limits(InstanceId instance, const InstanceLimits& limits) override;
  void end_instance(InstanceId instance) override;
  void submit(Command command) override;
  bool poll() override;
  bool dispatch() override;
  std::optional<std::uint64_t> next_dispatch_in_ns() const override;
  bool idle() const override;
  ControlStatistics statistics() const override;
  ControlHistograms histograms() const override;
  InstanceStatistics statistics(InstanceId instance) const override;
  std::optional<std::vector<InstanceMiss>> misses(InstanceId instance) const override;
  PendingCommands pending(InstanceId instance) const override;
  TierStatistics tier_statistics() const;

  // Walks everything and stops the process on the first broken invariant; for tests.
  void verify() const;
  // For tests: the state of a model's pages.
  const PageCache& pages(ModelIndex model) const;
  const PageTiers& page_tiers(ModelIndex model) const;
  // For the operator alone: reasons can disclose the content of other tenants.
  const MissLog& miss_log(ModelIndex model) const;

 private:
  void run(Operation& operation) override;
  void drain() { table_.run_ready(); }
  bool is_device_busy() const;
  Instance* find_instance(InstanceId id) const;
  // Drops the objects of the instance that no name points to any more.
  void drop_objects(Instance& instance);
  void verify_weights(const Replica& replica) const;
  void verify_replica(const Replica& replica) const;
  // Takes all that the instance has for other instances, now.
  void lose(Instance& instance, Error error);

  const ControllerOptions options_;
  CompletionInbox& inbox_;
  Dispatcher dispatcher_;
  OperationTable table_;
  std::vector<ServedModel> models_;
  std::vector<ModelDescription> descriptions_;
  MatcherJobs matcher_jobs_;
  std::vector<std::unique_ptr<Replica>> replicas_;      // By model.
  std::vector<std::unique_ptr<Scheduler>> schedulers_;  // Of each replica.
  TextJobs jobs_;
  StoreJobs store_jobs_;
  Issuer issuer_;
  std::unordered_map<std::uint64_t, Instance*> by_id_;
  struct Tenant {
    TenantPages pages;
    bool is_named = false;  // By the operator: stays when its last instance has ended.
  };
  std::unordered_map<std::uint32_t, Tenant> tenants_;  // References stay valid.
  std::size_t turn_ = 0;                               // Index of who may dispatch first.
  std::uint64_t next_order_ = 0;
  std::uint64_t lost_instance_count_ = 0;
};

std::unique_ptr<Controller> make_controller(std::vector<ServedModel> models,
                                            const ControllerOptions& options,
                                            CompletionInbox& inbox, AnswerSink& answers,
                                            Wakeup& wakeup, const Clock& clock);

}  // namespace quire::control
