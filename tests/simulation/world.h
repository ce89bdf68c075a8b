#pragma once
// World: the production control layer, host calls, lifecycle and gateway, around scripted guests
// and clients, on a simulated device, disk, network and clock. One thread; one seed; one trace.
//
// Time stands still while the engine works, but for what guests compute. Between two steps of its
// loop one thing happens of those that are due: a batch completes, a job of the disk or of the
// helper is done, a client acts. When none is, the clock moves to the next.
//
// Begins busy; when its clients have done what they wanted it closes: they leave, guests begin
// nothing new, and all must end by itself. Then everything must be as it was before the first
// guest.
//
// Thread   one. Findings say what went wrong; a broken invariant of the engine stops the process.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "application/lifecycle/answer_inbox.h"
#include "application/lifecycle/engine_loop.h"
#include "application/lifecycle/instance_manager.h"
#include "application/net/fake_http_client.h"
#include "application/sandbox/fake_runtime.h"
#include "application/server/gateway.h"
#include "base/clock.h"
#include "control/controller/controller.h"
#include "simulation/adapter_operator.h"
#include "simulation/audited_control.h"
#include "simulation/clients.h"
#include "simulation/connection_flood.h"
#include "simulation/machine.h"
#include "simulation/server_operator.h"
#include "simulation/tenant_flood.h"
#include "simulation/town.h"

namespace quire::simulation {

// The ways to break off the work that is under way.
enum class Cancellation : std::uint8_t {
  StopAll,         // The operator stops all that runs,
  StopOldest,      // or the one that has run longest.
  ClientsAbort,    // Each client aborts what it launched.
  ClientsGone,     // All clients leave, and do nothing more.
  FuturesDropped,  // Each program drops all its futures when it runs next.
};
inline constexpr std::uint32_t kCancellationCount = 5;
const char* cancellation_name(Cancellation cancellation);

struct WorldOptions {
  Knobs knobs;
  std::uint64_t seed = 0;
  std::FILE* output = nullptr;               // Of the trace, line by line.
  bool verifies = true;                      // Walks everything after each step.
  std::optional<std::uint64_t> cancel_at{};  // After so many events,
  Cancellation cancellation{};               // this.
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void run();

  // Empty: nothing went wrong.
  const std::string& finding() const { return findings_.first(); }
  std::uint64_t hash() const { return trace_.hash(); }
  std::uint64_t event_count() const { return event_count_; }  // Of the outside.
  // Of all guests, by "interface.name".
  const std::map<std::string, std::uint64_t>& call_counts() const { return town_.call_counts; }
  std::uint64_t note_count() const { return trace_.event_count(); }

 private:
  enum class Stage : std::uint8_t { Busy, Closing, Cleaning, Over };
  struct Due;  // What may happen next, and when.

  std::unique_ptr<control::Controller> make_controller();
  control::ControllerOptions controller_options();
  std::vector<control::ServedModel> served_models();
  void add_programs();
  std::optional<Due> next_due();
  void happen(const Due& due);
  void misfortune();
  void cancel();
  void stop(bool stops_all);
  void take_frames();
  bool rest();  // Nothing is due now. False: it is over.
  void close();
  void clean();
  InstanceNumber root_of(control::InstanceId instance) const;
  void check_budgets();
  void check_over();
  void verify();
  std::string who_is_left() const;

  const WorldOptions options_;
  const Knobs& knobs_;
  Dice seeds_;
  Dice dice_;
  ManualClock clock_;
  ManualWallClock wall_clock_;
  Trace trace_;
  Findings findings_;
  Town town_;
  AdapterOperator adapters_;
  Wakeup wakeup_;
  SeededRandom random_;
  control::CompletionInbox inbox_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::optional<TimedDisk> disk_;
  std::optional<Helper> helper_;
  TextParts texts_;
  lifecycle::AnswerInbox answers_;
  AuditedControl control_;
  std::unique_ptr<control::Controller> controller_;
  net::FakeHttpClient http_;
  sandbox::FakeRuntime runtime_;
  Programs programs_;
  TenantFlood tenant_flood_;  // Its programs end with the manager.
  lifecycle::InstanceManager manager_;
  lifecycle::EngineLoop loop_;
  const server::SocketLimits sockets_;
  const server::ServiceLimits service_;
  server::Link link_;
  ServerOperator operator_;
  ConnectionFlood flood_;
  server::Gateway gateway_;
  std::vector<std::unique_ptr<DirectClient>> direct_;
  Peers peers_;
  Stage stage_ = Stage::Busy;
  std::uint64_t event_count_ = 0;
  bool has_changed_ = false;      // By an event, since everything was last looked at.
  std::uint32_t idle_count_ = 0;  // Ticks in a row in which nothing happened.
};

}  // namespace quire::simulation
