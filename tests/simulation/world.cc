#include "simulation/world.h"

#include <algorithm>
#include <span>
#include <utility>

#include "application/hostcalls/calls.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "simulation/servers.h"
#include "support/verifying.h"

namespace quire::simulation {
namespace {

// Processor time of worlds whose machine stands still: it goes on in no run.
const ManualClock kStandingClock;

constexpr std::uint64_t kJumpNsMax = 20 * kSecond;
constexpr std::uint64_t kWallJumpMsMax = 100'000'000;
constexpr std::uint32_t kIdleCountMax = 30;  // Seconds: longer than anything here waits.
constexpr std::uint64_t kNoteCountMax = 2'000'000;
constexpr std::uint64_t kFirstCleaner = std::uint64_t{1} << 40;  // An instance's number.

lifecycle::AdmissionLimits admission_of(const Knobs& knobs) {
  return {.instance_count_max = knobs.instance_slot_count,
          .waiting_launch_count_max = knobs.waiting_launch_count_max};
}

}  // namespace

// In the order in which they are looked at where several are due at once.
struct World::Due {
  enum class Kind : std::uint8_t {
    Device,
    Disk,
    Helper,
    Direct,
    Peers,
    Operator,
    Flood,
    TenantFlood,
    Adapters,
    Nothing
  };
  Kind kind = Kind::Nothing;
  std::size_t index = 0;
  std::uint64_t at_ns = 0;
};

World::World(const WorldOptions& options)
    : options_(options),
      knobs_(options_.knobs),
      seeds_(options.seed),
      dice_(seeds_.next()),
      trace_(clock_, options.output),
      town_(trace_, findings_, clock_, knobs_, seeds_.next()),
      adapters_(town_, options.seed),
      random_(seeds_.next()),
      inbox_(wakeup_),
      control_(answers_, trace_, findings_),
      controller_(make_controller()),
      http_(clock_),
      runtime_(hostcalls::host_functions(), knobs_.instance_slot_count),
      tenant_flood_(town_, manager_, options.seed),
      manager_({.runtime = runtime_,
                .control = control_,
                .answers = answers_,
                .clock = clock_,
                .cpu_clock = knobs_.trouble.is_short ? kStandingClock : clock_,
                .wall_clock = wall_clock_,
                .random = random_,
                .wakeup = wakeup_,
                .http = &http_,
                .adapters = adapters_.registry(),
                .admission = admission_of(knobs_),
                .program_memory_bytes_max = knobs_.trouble.program_memory_bytes_max}),
      loop_(manager_, control_, clock_, wakeup_),
      sockets_{.unwritten_bytes_max = 8192},
      service_{.grace = std::chrono::milliseconds(100),
               .keep = std::chrono::milliseconds(300),
               .instance = knobs_.limits},
      link_(sockets_, service_, admission_of(knobs_).total(), wakeup_),
      operator_(town_, link_, server::engine_turn_ns_max(service_), options.seed),
      flood_(town_, link_, options.seed),
      gateway_({.manager = manager_,
                .loop = loop_,
                .control = control_,
                .link = link_,
                .clock = clock_,
                .random = random_,
                .tell = [this](const server::LogEvent& event) { operator_.told(event); }},
               sockets_, service_),
      peers_(town_, link_, seeds_.next()) {
  link_.wake_io = [] {};
  loop_.set_door(&gateway_);
  add_servers(http_);
  add_programs();
  tenant_flood_.begin(runtime_);
  for (std::uint32_t tenant = 0; tenant <= knobs_.tenant_count; ++tenant) {
    const auto weight = static_cast<std::uint32_t>(dice_.between(1, 4));
    manager_.name_tenant(control::TenantId{tenant}, weight, knobs_.tenant_limits);
  }
  for (std::uint32_t number = 0; number < knobs_.direct_count; ++number) {
    direct_.push_back(
        std::make_unique<DirectClient>(town_, manager_, programs_, number, seeds_.next()));
  }
}

World::~World() = default;

// With all that is below it.
std::unique_ptr<control::Controller> World::make_controller() {
  for (std::uint32_t model = 0; model < knobs_.model_count; ++model) {
    devices_.push_back(
        std::make_unique<Device>(knobs_, model, seeds_.next(), clock_, trace_, inbox_));
  }
  if (knobs_.has_disk) {
    disk_.emplace(knobs_, seeds_.next(), clock_, wall_clock_, trace_, inbox_);
  }
  if (knobs_.has_helper) helper_.emplace(seeds_.next(), clock_, trace_);
  std::unique_ptr<control::Controller> controller = control::make_controller(
      served_models(), controller_options(), inbox_, control_, wakeup_, clock_);
  control_.set_control(*controller);
  return controller;
}

std::vector<control::ServedModel> World::served_models() {
  std::vector<control::ServedModel> models;
  for (const auto& device : devices_) {
    models.push_back({.backend = device.get(),
                      .codec = &texts_.codec,
                      .grammars = &texts_.grammars,
                      .adapters = adapters_.registry()});
  }
  return models;
}

control::ControllerOptions World::controller_options() {
  control::ControllerOptions options = knobs_.control;
  const std::uint64_t page_bytes = devices_.front()->capabilities().page_bytes;
  options.disk = disk_ ? &*disk_ : nullptr;
  const TierKnobs& tiers = knobs_.tiers;
  options.tiers.host_bytes_max = page_bytes * tiers.host_page_count * knobs_.model_count;
  options.tiers.disk_page_count_max = tiers.disk_page_count * knobs_.model_count;
  if (helper_) options.helpers = {.texts = &*helper_, .grammars = &*helper_};
  return options;
}

void World::add_programs() {
  for (std::uint32_t index = 0; index < kRoleCount; ++index) {
    const auto role = static_cast<Role>(index);
    const std::string name = role_name(role);
    runtime_.add_program(name,
                         [this, role] { return std::make_unique<ScriptedGuest>(town_, role); });
    const auto bytes = std::as_bytes(std::span(name));
    const Result<lifecycle::ProgramId> program = manager_.load_program(bytes);
    QUIRE_CHECK(program.ok(), "a program of the fake runtime");
    QUIRE_CHECK(gateway_.name_program(name, program.value(), sha256(bytes)).ok(), "a new name");
    programs_.by_role.push_back(program.value());
  }
}

const char* cancellation_name(Cancellation cancellation) {
  switch (cancellation) {
    case Cancellation::StopAll:
      return "all are stopped";
    case Cancellation::StopOldest:
      return "the oldest one is stopped";
    case Cancellation::ClientsAbort:
      return "clients abort all that they launched";
    case Cancellation::ClientsGone:
      return "all clients leave";
    case Cancellation::FuturesDropped:
      return "all futures are dropped";
  }
  return "unknown";
}

// ---- What happens.

void World::run() {
  while (stage_ != Stage::Over && !findings_.any()) {
    const bool has_worked = loop_.step();
    if (has_worked) idle_count_ = 0;
    take_frames();
    if (std::exchange(has_changed_, false) || has_worked) verify();
    if (trace_.event_count() > kNoteCountMax) findings_.add("it never ends");
    const std::optional<Due> due = next_due();
    if (due && due->at_ns <= clock_.now_ns()) {
      happen(*due);
    } else if (!has_worked && !rest()) {
      break;
    }
  }
  if (!findings_.any()) check_over();
}

// Moves the engine's output into the sockets.
void World::take_frames() {
  while (std::optional<server::Outbound> outbound = link_.frames.try_pop()) {
    if (!flood_.takes(*outbound)) peers_.see(*outbound);
  }
}

std::optional<World::Due> World::next_due() {
  std::optional<Due> first;
  const auto look = [&](Due::Kind kind, std::size_t index, std::optional<std::uint64_t> at_ns) {
    if (at_ns && (!first || *at_ns < first->at_ns)) first = Due{kind, index, *at_ns};
  };
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    look(Due::Kind::Device, index, devices_[index]->due_ns());
  }
  if (disk_) look(Due::Kind::Disk, 0, disk_->due_ns());
  if (helper_) look(Due::Kind::Helper, 0, helper_->due_ns());
  for (std::size_t index = 0; index < direct_.size(); ++index) {
    if (!direct_[index]->is_done()) look(Due::Kind::Direct, index, direct_[index]->next_ns());
  }
  if (!peers_.is_done()) look(Due::Kind::Peers, 0, peers_.next_ns());
  if (!operator_.is_done()) look(Due::Kind::Operator, 0, operator_.next_ns());
  if (!flood_.is_done()) look(Due::Kind::Flood, 0, flood_.next_ns());
  if (!tenant_flood_.is_done()) look(Due::Kind::TenantFlood, 0, tenant_flood_.next_ns());
  if (!adapters_.is_done()) look(Due::Kind::Adapters, 0, adapters_.next_ns());
  return first;
}

void World::happen(const Due& due) {
  ++event_count_;
  idle_count_ = 0;
  has_changed_ = true;
  switch (due.kind) {
    case Due::Kind::Device:
      devices_[due.index]->finish_one();
      break;
    case Due::Kind::Disk:
      disk_->finish_one();
      break;
    case Due::Kind::Helper:
      helper_->finish_one();
      break;
    case Due::Kind::Direct:
      direct_[due.index]->act();
      break;
    case Due::Kind::Peers:
      peers_.act();
      break;
    case Due::Kind::Operator:
      operator_.act(gateway_);
      break;
    case Due::Kind::Flood:
      flood_.act();
      break;
    case Due::Kind::TenantFlood:
      tenant_flood_.act();
      break;
    case Due::Kind::Adapters:
      adapters_.act();
      break;
    case Due::Kind::Nothing:
      break;
  }
  misfortune();
  cancel();
}

void World::misfortune() {
  if (dice_.percent(knobs_.kill) && !control_.live().empty()) {
    auto at = control_.live().begin();
    std::advance(at, dice_.below(control_.live().size()));
    trace_.note({"operator"}, "kill", static_cast<std::int64_t>(*at));
    (void)manager_.kill(*at, "by the operator").ok();
  }
  if (dice_.percent(knobs_.trouble.clock_jump)) {
    if (dice_.one_in(2)) {
      clock_.advance_ns(dice_.time_ns(kJumpNsMax));  // The machine slept.
    } else {
      wall_clock_.set_unix_ms(dice_.next() % kWallJumpMsMax);
    }
    trace_.note({"operator"}, "clock", static_cast<std::int64_t>(wall_clock_.now_unix_ms()));
  }
}

void World::cancel() {
  if (options_.cancel_at != event_count_) return;
  trace_.note({"world"}, cancellation_name(options_.cancellation), 0);
  switch (options_.cancellation) {
    case Cancellation::StopAll:
      stop(true);
      if (stage_ == Stage::Busy) close();
      break;
    case Cancellation::StopOldest:
      stop(false);
      break;
    case Cancellation::ClientsAbort:
      for (const auto& each : direct_) each->abort_all();
      peers_.abort_all();
      break;
    case Cancellation::ClientsGone:
      for (const auto& each : direct_) each->leave();
      peers_.close();
      break;
    case Cancellation::FuturesDropped:
      ++town_.drop_count;
      break;
  }
}

void World::stop(bool stops_all) {
  const std::set<control::InstanceId> live = control_.live();
  for (const control::InstanceId each : live) {
    trace_.note({"operator"}, "cancel", static_cast<std::int64_t>(each));
    (void)manager_.kill(each, "by the operator").ok();  // A child may have ended with its parent.
    if (!stops_all) break;
  }
}

bool World::rest() {
  const std::optional<Due> due = next_due();
  const std::uint64_t now_ns = clock_.now_ns();
  std::uint64_t next_ns = now_ns + loop_.sleep_ns();
  if (due) next_ns = std::min(next_ns, due->at_ns);
  if (const std::optional<std::uint64_t> http_ns = http_.next_event_ns()) {
    next_ns = std::min(next_ns, std::max(*http_ns, now_ns));
  }
  const bool is_idle = !due && next_ns >= now_ns + kSecond;
  idle_count_ = is_idle ? idle_count_ + 1 : idle_count_;
  if (is_idle) {
    if (stage_ == Stage::Busy) {
      close();
      return true;
    }
    if (stage_ == Stage::Closing && manager_.live_count() == 0 && control_.idle()) {
      clean();
      return true;
    }
    if (stage_ == Stage::Cleaning && idle_count_ > 1) {
      stage_ = Stage::Over;
      return false;
    }
    if (idle_count_ > kIdleCountMax) {
      findings_.add("nothing happens any more, and this is left: " + who_is_left());
      return false;
    }
  }
  clock_.advance_ns(next_ns - now_ns);
  return true;
}

void World::close() {
  idle_count_ = 0;
  stage_ = Stage::Closing;
  town_.is_closing = true;
  for (const auto& each : direct_) each->close();
  peers_.close();
  flood_.close();
  tenant_flood_.close();
  adapters_.close();
  // The operator may shut the server down, and lose patience.
  for (std::uint32_t count = dice_.below(3); count > 0; --count) gateway_.request_shutdown();
}

// Exports outlive their programs.
void World::clean() {
  idle_count_ = 0;
  stage_ = Stage::Cleaning;
  std::uint64_t cleaner = kFirstCleaner;
  for (std::uint32_t tenant = 0; tenant <= knobs_.tenant_count; ++tenant) {
    const control::InstanceId id{cleaner++};
    control_.start_instance(id, control::TenantId{tenant}, {});
    for (const auto& [name, kept] : town_.exported) {
      control_.submit(
          {.instance = id, .future = control::kNoFuture, .body = control::UnexportPages{name}});
    }
    control_.end_instance(id);
  }
}

// ---- What must hold.

void World::verify() {
  if (!options_.verifies) return;
  const test::Verifying verifying;
  controller_->verify();
  manager_.verify();
  gateway_.verify();
  flood_.verify();
  adapters_.verify();
  check_budgets();
}

InstanceNumber World::root_of(control::InstanceId instance) const {
  auto root = static_cast<InstanceNumber>(instance);
  for (auto at = town_.residents.find(root); at != town_.residents.end() && at->second.parent != 0;
       at = town_.residents.find(root)) {
    root = at->second.parent;
  }
  return root;
}

// A tree of instances holds and uses no more than its root may.
void World::check_budgets() {
  struct Used {
    std::uint64_t page_count = 0;
    std::uint64_t token_count = 0;
    std::uint64_t pending_bytes = 0;
  };
  std::map<InstanceNumber, Used> trees;
  for (const control::InstanceId each : control_.live()) {
    const control::InstanceStatistics statistics = control_.statistics(each);
    Used& used = trees[root_of(each)];
    used.page_count += statistics.page_count;
    used.token_count += statistics.metered_token_count;
    used.pending_bytes += control_.pending(each).bytes;
  }
  for (const auto& [instance, token_count] : control_.spent()) {
    trees[root_of(instance)].token_count += token_count;
  }
  const control::InstanceLimits& limits = knobs_.limits.control;
  for (const auto& [root, used] : trees) {
    const std::string name = "instance " + std::to_string(root) + " and its children ";
    if (used.page_count > limits.page_count_max) {
      findings_.add(name + "hold " + std::to_string(used.page_count) + " pages of " +
                    std::to_string(limits.page_count_max));
    }
    if (used.token_count > limits.token_count_max) {
      findings_.add(name + "used " + std::to_string(used.token_count) + " tokens of " +
                    std::to_string(limits.token_count_max));
    }
    if (used.pending_bytes > knobs_.limits.guest.pending_bytes_max) {
      findings_.add(name + "have commands of " + std::to_string(used.pending_bytes) +
                    " bytes pending of " + std::to_string(knobs_.limits.guest.pending_bytes_max));
    }
  }
}

void World::check_over() {
  control_.check_over();
  peers_.check_over();
  flood_.check_over();
  tenant_flood_.check_over();
  adapters_.check_over();
  operator_.check_over(gateway_);
  const control::ControlStatistics statistics = control_.statistics();
  const auto differs = [&](const char* what, std::uint64_t is, std::uint64_t was) {
    if (is == was) return;
    findings_.add(std::string("not as at first: ") + what + ": " + std::to_string(is) +
                  " instead of " + std::to_string(was));
  };
  differs("free pages", statistics.page_count_free, statistics.page_count);
  for (std::uint32_t model = 0; model < knobs_.model_count; ++model) {
    const control::PagePool& pool = controller_->pages(control::ModelIndex{model}).pool();
    for (std::uint32_t index = 0; index < knobs_.page_count; ++index) {
      const inference::PageId page{index};
      const control::PageState state = pool.state(page);
      if (state == control::PageState::Free || state == control::PageState::Cold) continue;
      trace_.note({"page", index}, "is left, in state", static_cast<std::int64_t>(state));
    }
  }
  differs("work of the control layer", control_.idle() ? 0 : 1, 0);
  differs("instances", manager_.live_count(), 0);
  check_posts(town_, http_, findings_);
  differs("HTTP exchanges", http_.live_count(), 0);
  const server::Gateway::Counts counts = gateway_.counts();
  differs("connections of the gateway", counts.connections, 0);
  differs("instances of the gateway", counts.instances, 0);
  differs("deadlines of the gateway", counts.deadlines, 0);
  for (const auto& device : devices_) device->verify();
  if (disk_ && knobs_.disk_error == 0) {
    const Result<std::vector<store::Damage>> damage = disk_->verify();
    if (!damage.ok()) findings_.add("the store: " + std::string(damage.error().message()));
    if (damage.ok()) differs("damaged pages of the store", damage.value().size(), 0);
  }
}

std::string World::who_is_left() const {
  std::string text = std::to_string(manager_.live_count()) + " instances, the control layer is " +
                     (control_.idle() ? "idle" : "at work");
  for (const control::InstanceId id : control_.live()) {
    const auto found = town_.residents.find(static_cast<InstanceNumber>(id));
    text += ", " + std::to_string(static_cast<std::uint64_t>(id));
    if (found != town_.residents.end()) text += " waits for " + found->second.waits_for;
  }
  return text;
}

}  // namespace quire::simulation
