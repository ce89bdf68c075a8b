#pragma once
// InstanceManager holds the programs and their instances: launch, message, stop, collect. It runs
// each woken guest until it waits, and hands what the guest said to its client.
//
// Owns     programs, instances and their queues of the ready. Pages, contexts and whatever else is
//          behind a handle belong to the control layer, which is notified when an instance ends.
// Thread   engine thread only; compiling goes to a helper thread, whose results poll() takes in.
// Errors   What goes wrong inside an instance ends that instance, and its End says what; no other one
//          notices. launch() refuses only what it can say at once.
//
// Invariants, all checked by verify():
//   M1  A ready instance is in exactly one run queue, once; a waiting one is in none.
//   M2  Every timer belongs to a live instance, and no instance has a second deadline.
//   M3  At most instance_count_max() instances hold a slot of the runtime; the others queue.
//   M4  Admission counts those in the queue as waiting and all others as there.
//   M5  The TenantMeter knows each tenant's instances, and what those that did not end may grow to.
//   M6  ProgramMemory has charges of instances alone that are there.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "application/lifecycle/admission.h"
#include "application/lifecycle/answer_inbox.h"
#include "application/lifecycle/launch.h"
#include "application/lifecycle/program_memory.h"
#include "application/lifecycle/run_figures.h"
#include "application/lifecycle/tenant_meter.h"
#include "application/lifecycle/usage.h"
#include "application/lifecycle/usage_sink.h"
#include "application/net/http_client.h"
#include "application/sandbox/wasm_runtime.h"
#include "base/clock.h"
#include "base/instance_numbers.h"
#include "base/random.h"
#include "base/result.h"
#include "base/wakeup.h"
#include "base/walk.h"
#include "control/api/adapter_catalog.h"
#include "control/api/control_port.h"

namespace quire::lifecycle {

// A launch of a tenant that has less than its share finds a place sooner, or the server is full.
inline constexpr std::uint64_t kPlaceWaitNsMax = 5'000'000'000;

// The parts that main() builds and passes in; all of them outlive the manager.
struct ManagerParts {
  sandbox::WasmRuntime& runtime;
  control::ControlPort& control;
  AnswerInbox& answers;
  const Clock& clock;
  const Clock& cpu_clock;  // Processor time of the engine thread, which programs are charged.
  const WallClock& wall_clock;
  RandomSource& random;
  Wakeup& wakeup;                   // Notified when a compilation is done.
  std::int64_t wall_offset_ns = 0;  // Wall clock minus `clock`, for WASI.
  WalkSink* walk = nullptr;
  net::HttpClient* http = nullptr;                    // Null: no outbound HTTP.
  const control::AdapterCatalog* adapters = nullptr;  // Null: no model has any.
  AdmissionLimits admission = {};
  UsageSink* usage = nullptr;  // Null: the server keeps no accounts.
  InstanceNumbers numbers = {};
  std::uint64_t program_memory_bytes_max = ProgramMemory::kUnlimited;
};

class InstanceManager {
 public:
  explicit InstanceManager(const ManagerParts& parts);
  ~InstanceManager();
  InstanceManager(const InstanceManager&) = delete;
  InstanceManager& operator=(const InstanceManager&) = delete;

  // Compiles on the calling thread, or takes compiled code from the cache. The same bytes give the
  // same id.
  Result<ProgramId> load_program(std::span<const std::byte> wasm);
  Result<ProgramId> load_program_file(const std::string& path);
  // Compiles on the helper thread; launches of the program wait for it and end as NotStarted when
  // it fails. `digest` is that of the bytes. Errors: QuotaExceeded when too many wait already;
  // TooLarge beyond program_bytes_max().
  Result<ProgramId> request_program(std::vector<std::byte> wasm, const Digest& digest,
                                    control::TenantId tenant = {});
  std::uint64_t program_bytes_max() const;
  // The program with these bytes; none that is not known, failed to compile or was forgotten.
  std::optional<ProgramId> find_program(const Digest& digest) const;
  // As programs of the tenant find it. NotFound: no program was given this name.
  Result<ProgramId> find_program(const std::string& name, control::TenantId tenant) const;
  // The state of a requested program. NotFound if it was forgotten since, or the compiler's error.
  Result<ProgramState> program_state(ProgramId program) const;
  std::size_t program_count() const;
  std::uint64_t compiled_count() const;  // Requests that were done or failed, ever.

  // By that name programs may launch it, those of all tenants or of one; the last one counts, and a name for
  // one tenant goes before one for all.
  void name_program(const std::string& name, ProgramId program,
                    std::optional<control::TenantId> tenant = std::nullopt);

  // Sets how to find the module of a name that was not given to a program; nothing: there is none.
  // The module is loaded on the engine's thread when it is first launched, so this is for an engine
  // that serves one user.
  using ProgramPath = std::function<std::optional<std::string>(const std::string& name)>;
  void look_for_programs(ProgramPath path_of);

  // Starts the instance at once if there is a place and its program is compiled; otherwise it waits
  // its turn. The client can use it from here on, and outlives it. Errors: NotFound for an unknown
  // program, TooLarge for arguments beyond the limit, Unavailable as Admission has it.
  Result<InstanceId> launch(LaunchRequest request, Listener& client);
  // Whether the tenant's own limits allow another instance that may grow to so many bytes.
  bool has_tenant_room(control::TenantId tenant, std::uint64_t memory_bytes_max) const;
  // Tokens that its instances asked for, ever, those that live included.
  std::uint64_t tenant_token_count(control::TenantId tenant) const;
  // Whether the server knows more than one tenant, those included that did nothing yet. Else the only one that
  // launched or was named may have all.
  void set_several_tenants(bool are_several);
  bool knows_several_tenants() const;
  // After which a launch that was Unavailable may succeed.
  std::uint64_t retry_after_ms() const;
  const AdmissionLimits& admission_limits() const;
  std::uint64_t waiting_count() const;  // Launches that did not start yet.

  // A message for the guest's `receive`. NotFound: it has ended. QuotaExceeded: its inbox is full.
  Result<void> send_to(InstanceId instance, std::string message);
  // A part of a file for the guest's `receive_file`. NotFound: it has ended. Other errors are those
  // of FileTable::push.
  Result<void> send_file_to(InstanceId instance, service::FilePart part);
  // Whether there is room for another part; also true of one that has ended.
  bool has_file_room(InstanceId instance) const;
  // The next part of the body of the request that launched it; nothing happens if it has ended.
  void push_request_body(InstanceId instance, std::string part, bool is_last);
  // Whether it may have another part of the body.
  bool wants_request_body(InstanceId instance) const;
  // The client of its request is gone: it is killed, unless it asked to go on or has finished its
  // response. True if it goes on.
  bool request_client_gone(InstanceId instance);
  // No more messages: `receive` gives `unavailable` once the inbox is empty.
  Result<void> close_input(InstanceId instance);
  // The client is away: `receive` gives `unavailable` and `why` once the inbox is empty, until
  // client_back().
  Result<void> client_left(InstanceId instance, std::string why);
  Result<void> client_back(InstanceId instance);
  // Offers the client again what it refused.
  void client_ready(InstanceId instance);
  Result<void> kill(InstanceId instance, std::string reason);

  // The parts of EngineLoop's step; each returns whether it did anything.
  bool take_answers();  // Answers, HTTP events and compiled programs in.
  bool fire_timers();
  bool run_ready(std::uint64_t budget_ns);  // Woken guests, each to its next wait.
  bool run_background();                    // One slice of one guest that was cut.
  bool deliver();                           // Messages, logs and ends out to the clients.

  bool ready() const;  // A guest could run now.
  bool background_ready() const;
  // When the next sleep or wait ends, on `clock`.
  std::optional<std::uint64_t> next_timer_ns() const;
  // By which clients and programs know instances.
  const InstanceNumbers& numbers() const;
  std::size_t live_count() const;  // Launched, and the End not yet taken.
  // Its last output may still have to be taken; also true of one that is forgotten.
  bool has_ended(InstanceId instance) const;
  // None for an instance that never was or is forgotten.
  std::optional<control::TenantId> tenant_of(InstanceId instance) const;
  // Requires: the instance has ended, and its client has not taken the End.
  const EndFigures& figures_at_end(InstanceId instance) const;
  bool compiling() const;

  // Sets an operator's limits of a tenant: its share of each device, at least 1, and what its
  // instances may have together. They hold from now on; instances keep what they have beyond that.
  void name_tenant(control::TenantId tenant, std::uint32_t weight, const TenantLimits& limits);
  bool is_named(control::TenantId tenant) const;
  // Figures of all instances that ever were.
  const RunFigures& run_figures() const;
  // Whether the server has no room. Then a launch finds neither a place nor room in the queue, or a
  // tenant with less than its share has waited for a place for kPlaceWaitNsMax.
  bool is_full() const;
  // The use of one tenant; without a tenant, the use of all, which only the operator may see. It
  // lists at most `instance_count_max` instances.
  Usage usage(std::size_t instance_count_max,
              std::optional<control::TenantId> tenant = std::nullopt) const;

  void verify() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace quire::lifecycle
