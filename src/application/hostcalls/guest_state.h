#pragma once
// GuestState is everything that the application layer knows of one instance: its handles, futures,
// contexts' counters, session and limits. The host calls read and change it; what needs pages or
// the device they submit as Commands.
//
// Owns     the application's half of the instance. The control layer holds the other half, under
//          the same numbers (an ObjectId is the handle).
// Thread   engine thread only.
//
// Invariants, all checked by verify(), which checks those of the parts too:
//   GS1  Every context handle (reserved ones too) has a record.
//   GS2  Its queued tokens are the sum over contexts, each at least what the control layer has
//        queued once all is answered.
//   GS3  The bytes of all notes are counted as held results.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "application/hostcalls/call_counts.h"
#include "application/hostcalls/child_table.h"
#include "application/hostcalls/draw_table.h"
#include "application/hostcalls/environment.h"
#include "application/hostcalls/file_table.h"
#include "application/hostcalls/future_table.h"
#include "application/hostcalls/generation.h"
#include "application/hostcalls/guest_limits.h"
#include "application/hostcalls/handle_table.h"
#include "application/hostcalls/http_table.h"
#include "application/hostcalls/launcher.h"
#include "application/hostcalls/mailbox.h"
#include "application/hostcalls/named_models.h"
#include "application/hostcalls/outbox.h"
#include "application/hostcalls/output_meter.h"
#include "application/hostcalls/served_request.h"
#include "application/hostcalls/session_box.h"
#include "application/hostcalls/tenant_gauge.h"
#include "application/sandbox/wasm_runtime.h"
#include "base/clock.h"
#include "base/instance_numbers.h"
#include "base/lazy_deque.h"
#include "base/random.h"
#include "base/walk.h"
#include "control/api/adapter_catalog.h"
#include "control/api/control_port.h"

namespace quire::hostcalls {

// The parts of the machine that calls use; they outlive every instance.
struct HostParts {
  control::ControlPort& control;
  const Clock& clock;
  const WallClock& wall_clock;
  RandomSource& random;
  MessageBroker& broker;
  Launcher& launcher;
  std::int64_t wall_offset_ns = 0;  // Wall clock minus `clock`.
  WalkSink* walk = nullptr;
  net::HttpClient* http = nullptr;                    // Null: no program has a network.
  const control::AdapterCatalog* adapters = nullptr;  // Null: no model has the trait.
  InstanceNumbers numbers = {};
};

struct GuestIdentity {
  control::InstanceId instance{};
  control::TenantId tenant{};
  std::vector<std::string> arguments;
  GuestLimits limits;
  control::InstanceLimits control_limits;
  TenantGauge* tenant_gauge = nullptr;        // Null: the tenant is not counted.
  std::optional<RequestHead> request = {};    // The HTTP request that launched the instance.
  std::unique_ptr<SeededRandom> seeded = {};  // Null if the launch gave no seed.
  EnvironmentHandle environment = {};
};

class GuestState {
 public:
  struct ContextRecord {
    GuestHandle queue{};
    GuestHandle generation{};           // That runs on it; 0: none.
    control::ContextCounters counters;  // As of the last answer.
    std::uint64_t issued_tokens = 0;    // Ever queued.
    std::uint64_t settled_tokens = 0;   // Of those, known to be queued no more.
    std::string note = {};  // Of its snapshot, until the guest has it; held as results are.
    std::uint64_t queued_tokens() const { return issued_tokens - settled_tokens; }
  };

  GuestState(const HostParts& host, GuestIdentity identity);

  // For the lifecycle.
  void answer(control::Answer answer);
  Result<void> push_message(std::string message);
  void close_input();
  void client_left(std::string why);
  void client_back();
  bool wait_over() const { return futures.wait_over(host.clock.now_ns()); }
  std::int32_t end_wait();  // What the suspended call returns.
  // What the client is shown next; none if it has taken all. Until the next call that changes
  // something.
  std::optional<service::Said> next_said() const;
  void said_taken();  // The client took it.
  // What the host keeps for it: results, messages, parts of files and bodies, lines of its log, and
  // compiled grammars. Arguments of commands and matchers are the control layer's.
  std::uint64_t held_bytes() const;
  // The guest has ended: of what only it could have taken nothing stays, of what it said all.
  void drop_untaken();

  // Sets the limits that are left to the instance after it lent the rest to its children.
  void set_own(SplitLimit held_result_bytes_max, SplitLimit pending_bytes_max) {
    futures.set_held_bytes_max(held_result_bytes_max);
    pending_bytes_max_ = pending_bytes_max;
  }
  const SplitLimit& pending_bytes_max() const { return pending_bytes_max_; }

  // For the host calls.
  Result<void> check_pending(std::uint64_t bytes) const;
  Result<void> check_future_room() const;
  // A command with a future. `bytes` of arguments count as pending until the control layer is done
  // with it.
  FutureRecord& submit(control::CommandBody body, std::uint64_t bytes,
                       FuturePurpose purpose = FuturePurpose::Command);
  // The same without a future.
  void send(control::CommandBody body, std::uint64_t bytes = 0,
            control::FutureId future = control::kNoFuture);
  Result<void> check_queued_tokens(std::uint64_t count) const;
  void queue_tokens(GuestHandle context, std::uint64_t count);
  // A draw from a context: room for its command with `bytes` of arguments, its future and its token.
  Result<void> check_step(std::uint64_t bytes) const;
  void note_draw(GuestHandle context, FutureRecord& record, bool queues_token);
  // The matchers of a draw are used from now on: until `record` is answered or dropped.
  void use_matchers(FutureRecord& record, std::shared_ptr<const control::DrawExtras> extras);
  // `user` has ended, and no longer uses the matchers. Those that were dropped meanwhile go.
  void release_matchers(const control::DrawExtras& extras, GuestHandle user);
  void forget_context(GuestHandle context);
  void forget_note(ContextRecord& context);  // The guest has it, or never will.
  void serve_receivers();
  void end_future(FutureRecord& record);  // Undoes what the guest can no longer take.

  std::uint64_t queued_tokens() const { return queued_tokens_; }
  // The source of the program's random numbers: the seed of its launch, or else the host's.
  RandomSource& random() const {
    return identity.seeded == nullptr ? host.random : *identity.seeded;
  }
  const std::vector<control::ModelDescription>& models() const { return host.control.models(); }
  void verify() const;

  const HostParts& host;
  const GuestIdentity identity;
  CallCounts calls;
  HandleTable handles;
  NamedModels named_models;
  FutureTable futures;
  HttpTable http;
  OutputMeter output;
  Outbox outbox;
  SessionBox session;
  DrawTable draws;
  GenerationTable generations;
  Mailbox mailbox;
  ChildTable children;
  FileTable files;
  ServedRequest served;
  LazyDeque<GuestHandle> receivers;  // Futures of `receive`, oldest first.
  std::unordered_map<std::uint32_t, ContextRecord> contexts;
  // The script that the instance runs, if any; set before its first call.
  std::shared_ptr<const sandbox::Script> script;
  std::string last_error;
  std::string result;

 private:
  void unqueue_tokens(ContextRecord& context, std::uint64_t count);
  void settle_tokens(const FutureRecord& record, const Result<control::AnswerBody>& answer);
  void settle_covered(ContextRecord& context, const FutureRecord& record,
                      const control::AnswerBody& answer);
  void note_counters(GuestHandle context, const control::ContextCounters& counters);
  void apply(FutureRecord& record, control::AnswerBody body);
  Result<std::string> note_grammar(const FutureRecord& record, control::CompiledGrammar compiled);
  std::string note_child(const FutureRecord& record, const control::ContextCounters& counters);
  Result<std::string> note_opened(const FutureRecord& record, control::Opened opened);
  void fail_answered(FutureRecord& record, const Error& error);

  std::uint64_t queued_tokens_ = 0;
  SplitLimit pending_bytes_max_;
};

// The limits that it keeps itself; the lifecycle and the control layer keep the rest.
std::vector<LimitUse> own_limits(const GuestState& guest);

inline control::ObjectId object(GuestHandle handle) {
  return control::ObjectId{number(handle)};
}

}  // namespace quire::hostcalls
