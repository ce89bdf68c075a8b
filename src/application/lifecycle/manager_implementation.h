#pragma once
// The inner parts of InstanceManager, for its own .cc files:
// - instance_manager.cc: the calls of a client,
// - manager_programs.cc: programs,
// - manager_runs.cc: guests that run and wait,
// - manager_memory.cc: what they have of the server's memory,
// - manager_ends.cc: ends, and output to clients,
// - manager_usage.cc: tenants and their figures.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "application/hostcalls/calls.h"
#include "application/lifecycle/child_programs.h"
#include "application/lifecycle/feedback_queue.h"
#include "application/lifecycle/instance_manager.h"
#include "application/lifecycle/instance_record.h"
#include "application/lifecycle/launch_queue.h"
#include "application/lifecycle/output_shares.h"
#include "application/lifecycle/program_store.h"
#include "application/lifecycle/run_figures.h"
#include "application/lifecycle/tenant_meter.h"

namespace quire::lifecycle {

// One that never waited counts in the background as if it had run so much more.
inline constexpr std::uint64_t kUnknownRunNs = 4'000'000;

struct InstanceManager::Implementation final : ChildHost {
  explicit Implementation(const ManagerParts& given)
      : parts(given),
        children(*this, given.control, given.clock),
        host{given.control, given.clock,    given.wall_clock,     given.random,
             broker,        children,       given.wall_offset_ns, given.walk,
             given.http,    given.adapters, given.numbers},
        programs(given.runtime, given.wakeup),
        admission(bounded(given.admission, given.runtime)),
        memory(given.program_memory_bytes_max) {}

  // For what concerns children.
  InstanceRecord* find(InstanceId id) override;
  Result<ProgramId> find_program(const std::string& name, control::TenantId tenant) override;
  Result<InstanceId> launch_child(LaunchRequest request, Listener& client) override {
    return launch(std::move(request), client, Admission::Wait::MustNot);
  }
  void kill(InstanceRecord& record, std::string reason) override {
    stop(record, EndKind::Killed, std::move(reason));
  }
  void wake_if_over(InstanceRecord& record) override;
  void client_ready(InstanceRecord& record) override { mark_undelivered(record); }
  Result<std::uint64_t> first_memory_bytes(ProgramId program) override;
  void reserve_memory(InstanceRecord& record, std::uint64_t bytes) override;
  std::uint64_t tenant_memory_left(const InstanceRecord& record) override;
  std::vector<hostcalls::LimitUse> tenant_limits(const InstanceRecord& record) override;

  // Each instance that has a place also has a slot of the runtime.
  static AdmissionLimits bounded(AdmissionLimits limits, const sandbox::WasmRuntime& runtime) {
    limits.instance_count_max = std::min(limits.instance_count_max, runtime.instance_count_max());
    return limits;
  }
  Result<InstanceId> launch(LaunchRequest request, Listener& client, Admission::Wait wait);
  // QuotaExceeded, TooLarge, Unavailable: why it may not come in.
  Result<void> check_launch(const LaunchRequest& request, Admission::Wait wait);
  // Sets in all shared parts whether there is more than one tenant.
  void share_among_tenants();
  void start(InstanceRecord& record);
  void start_queued();
  void make_ready(InstanceRecord& record);
  void run(InstanceRecord& record, std::uint32_t slice_ticks);
  void after_run(InstanceRecord& record, sandbox::RunState state);
  // Before `children` knows it, too.
  bool is_child(const InstanceRecord& record) const { return record.client == &children; }
  FirstRuns* first_runs_with(const InstanceRecord& record);
  // The instance waits for the first time, or ends before it did: so the next ones like it may run,
  // too.
  void first_run_over(const InstanceRecord& record);
  bool over_cpu_limit(InstanceRecord& record);
  // An instance of the program begins with so much; 0: the program is unknown, or still compiles.
  std::uint64_t first_memory_of(ProgramId program) const;
  bool has_memory_for(control::TenantId tenant, ProgramId program) const;
  // After the instance ran, or something came to it or left it.
  void charge_memory(InstanceRecord& record);
  // While programs have more memory than the server has for them, ends those that lose it.
  void enforce_memory();
  void end_trapped(InstanceRecord& record);
  void end(InstanceRecord& record, EndKind kind, std::string message, std::string limit = "");
  // From outside, while it does not run.
  void stop(InstanceRecord& record, EndKind kind, std::string reason, std::string limit = "");
  void set_timer(InstanceRecord& record, std::optional<std::uint64_t> deadline_ns);
  bool take_http_events(net::HttpClient& http);
  InstanceUse use_of(const InstanceRecord& record) const;
  void account(const InstanceRecord& record, const UsageAmounts& amounts) const;
  void account_end(const InstanceRecord& record) const;
  InstanceUsage usage_of(const InstanceRecord& record) const;
  void verify_tenants() const;
  void mark_undelivered(InstanceRecord& record);
  struct Delivered {
    bool any = false;        // Something was handed over.
    bool must_wait = false;  // There is more, for which it must wait.
  };
  Delivered deliver(InstanceRecord& record);
  // Whether it may put out more now; what it says then is charged.
  bool may_put_out(const InstanceRecord& record);
  bool shares_output(const InstanceRecord& record) const;

  const ManagerParts parts;
  hostcalls::MessageBroker broker;
  ChildPrograms children;
  const hostcalls::HostParts host;
  ProgramStore programs;
  Admission admission;
  ProgramMemory memory;
  bool knows_several = false;  // Tenants that have a key, or will have.
  TenantMeter tenants;         // Before the records, whose tables count there.
  std::map<control::TenantId, std::uint32_t> weights;
  std::unordered_map<InstanceId, std::unique_ptr<InstanceRecord>> records;
  RunFigures figures;
  std::uint64_t next_id = 1;
  std::uint32_t slot_count = 0;  // Instances that hold a slot of the runtime.
  LaunchQueue queued;
  // By what each runs from wait to wait: who does a little for each token goes before who computes
  // for as long as it may.
  FeedbackQueue ready{100'000, 2};
  FeedbackQueue background{kUnknownRunNs, 4};  // By what each ran since its last wait.
  std::set<std::pair<std::uint64_t, InstanceId>> timers;
  std::set<std::pair<std::uint64_t, InstanceId>> wall_ends;  // By wall_ns_max.
  // Names of programs to launch: those for all tenants, and those of one.
  std::map<std::string, ProgramId> names;
  std::map<std::pair<control::TenantId, std::string>, ProgramId> tenant_names;
  InstanceManager::ProgramPath path_of;  // Of names that nothing has yet; may be empty.
  std::vector<InstanceId> undelivered;
  struct Output {
    OutputShares shares;
    std::optional<std::uint64_t> next_ns;  // When an undelivered one that must wait may go on.
  } output;
};

// Why there is no such program.
std::string forgotten(ProgramId program);

}  // namespace quire::lifecycle
