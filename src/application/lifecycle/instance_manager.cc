#include "application/lifecycle/instance_manager.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

#include "application/hostcalls/calls.h"
#include "application/lifecycle/child_programs.h"
#include "application/lifecycle/instance_record.h"
#include "application/lifecycle/program_store.h"
#include "base/check.h"
#include "base/file.h"

namespace quire::lifecycle {
namespace {

constexpr std::uint32_t kSliceTicks = 2;            // 1 to 2 ms.
constexpr std::uint32_t kBackgroundSliceTicks = 1;  // So that a bump of the epoch ends it at once.
constexpr std::size_t kQueuedLaunchCountMax = 1u << 16;
constexpr std::uint64_t kProgramBytesMax = 64u << 20;  // The runtime's own limit is lower.
// wasmtime's words when the limiter of a store refuses to grow a memory.
constexpr std::string_view kMemoryLimitTrap = "forcing trap when growing memory";

// What a shell would see; a guest that finished gives its own.
std::int32_t exit_code_of(EndKind kind) {
  switch (kind) {
    case EndKind::Finished:
      return 0;
    case EndKind::NotStarted:
      return 126;
    case EndKind::Trapped:
      return 134;
    case EndKind::Killed:
      return 137;
    case EndKind::LimitExceeded:
      return 152;
  }
  return 1;
}

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) / 1e9);
  return text;
}

std::string forgotten(ProgramId program) {
  return "no program " + std::to_string(static_cast<std::uint32_t>(program)) +
         ": there never was, or others were used since and it was forgotten";
}

}  // namespace

const char* end_kind_name(EndKind kind) {
  switch (kind) {
    case EndKind::Finished:
      return "finished";
    case EndKind::Trapped:
      return "trapped";
    case EndKind::LimitExceeded:
      return "limit-exceeded";
    case EndKind::Killed:
      return "killed";
    case EndKind::NotStarted:
      return "not-started";
  }
  return "unknown";
}

struct InstanceManager::Implementation final : ChildHost {
  explicit Implementation(const ManagerParts& given)
      : parts(given),
        children(*this, given.control),
        host{given.control, given.clock,          given.wall_clock, given.random, broker,
             children,      given.wall_offset_ns, given.walk,       given.http},
        programs(given.runtime, given.wakeup) {}

  // For what concerns children.
  InstanceRecord* find(InstanceId id) override;
  Result<ProgramId> find_program(const std::string& name) override;
  Result<InstanceId> launch(LaunchRequest request, ClientSink& client) override;
  void kill(InstanceRecord& record, std::string reason) override {
    stop(record, EndKind::Killed, std::move(reason));
  }
  void wake_if_over(InstanceRecord& record) override;
  void client_ready(InstanceRecord& record) override { mark_undelivered(record); }

  void start(InstanceRecord& record);
  void start_queued();
  void run(InstanceRecord& record, std::uint32_t slice_ticks);
  void after_run(InstanceRecord& record, sandbox::RunState state);
  bool over_cpu_limit(InstanceRecord& record);
  void end_trapped(InstanceRecord& record);
  void end(InstanceRecord& record, EndKind kind, std::string message, std::string limit = "");
  // From outside, while it does not run.
  void stop(InstanceRecord& record, EndKind kind, std::string reason, std::string limit = "");
  void set_timer(InstanceRecord& record, std::optional<std::uint64_t> deadline_ns);
  bool take_http_events(net::HttpClient& http);
  void mark_undelivered(InstanceRecord& record);
  bool deliver(InstanceRecord& record);
  void remove_from(std::deque<InstanceId>& queue, InstanceId id);

  const ManagerParts parts;
  hostcalls::MessageBroker broker;
  ChildPrograms children;
  const hostcalls::HostParts host;
  ProgramStore programs;
  std::unordered_map<InstanceId, std::unique_ptr<InstanceRecord>> records;
  std::uint64_t next_id = 1;
  std::uint32_t slot_count = 0;  // Instances that hold a slot of the runtime.
  std::deque<InstanceId> queued, ready, background;
  std::set<std::pair<std::uint64_t, InstanceId>> timers;
  std::set<std::pair<std::uint64_t, InstanceId>> wall_ends;  // Of wall_ns_max.
  std::map<std::string, ProgramId> names;                    // Programs that others may launch.
  std::vector<InstanceId> undelivered;
};

InstanceRecord* InstanceManager::Implementation::find(InstanceId id) {
  const auto found = records.find(id);
  return found == records.end() ? nullptr : found->second.get();
}

void InstanceManager::Implementation::remove_from(std::deque<InstanceId>& queue, InstanceId id) {
  queue.erase(std::find(queue.begin(), queue.end(), id));
}

void InstanceManager::Implementation::mark_undelivered(InstanceRecord& record) {
  if (record.undelivered) return;
  record.undelivered = true;
  undelivered.push_back(record.id);
}

void InstanceManager::Implementation::set_timer(InstanceRecord& record,
                                                std::optional<std::uint64_t> deadline_ns) {
  if (record.timer_ns == deadline_ns) return;
  if (record.timer_ns) timers.erase({*record.timer_ns, record.id});
  if (deadline_ns) timers.emplace(*deadline_ns, record.id);
  record.timer_ns = deadline_ns;
}

// The program is compiled and a slot is free.
void InstanceManager::Implementation::start(InstanceRecord& record) {
  const ProgramStore::Entry* entry = programs.find(record.program);
  if (entry == nullptr) {
    end(record, EndKind::NotStarted, forgotten(record.program));
    return;
  }
  if (entry->error) {
    end(record, EndKind::NotStarted, std::string(entry->error->message()));
    return;
  }
  Result<std::unique_ptr<sandbox::Instance>> instance = parts.runtime.instantiate(
      entry->program, record.state.get(), {.memory_bytes_max = record.limits.memory_bytes_max});
  if (!instance.ok()) {
    end(record, EndKind::NotStarted, std::string(instance.error().message()));
    return;
  }
  record.instance = std::move(instance).take();
  ++slot_count;
  parts.control.start_instance(record.id, record.tenant, record.limits.control);
  record.stage = Stage::Ready;
  ready.push_back(record.id);
}

// In order, but a launch whose program still compiles lets later ones pass.
void InstanceManager::Implementation::start_queued() {
  std::vector<InstanceId> compiling;
  while (!queued.empty() && slot_count < parts.runtime.instance_count_max()) {
    const InstanceId id = queued.front();
    queued.pop_front();
    InstanceRecord& record = *find(id);
    const ProgramStore::Entry* program = programs.find(record.program);
    if (program != nullptr && program->compiling()) {
      compiling.push_back(id);
    } else {
      start(record);
    }
  }
  queued.insert(queued.begin(), compiling.begin(), compiling.end());
}

void InstanceManager::Implementation::wake_if_over(InstanceRecord& record) {
  if (record.stage != Stage::Waiting || !record.state->wait_over()) return;
  set_timer(record, std::nullopt);
  record.stage = Stage::Ready;
  ready.push_back(record.id);
}

void InstanceManager::Implementation::run(InstanceRecord& record, std::uint32_t slice_ticks) {
  if (record.state->futures.waiting()) record.instance->finish_wait(record.state->end_wait());
  report(parts.walk, WalkStop::Sandbox);
  const std::uint64_t start_ns = parts.clock.now_ns();
  const sandbox::RunState state = record.instance->resume(slice_ticks);
  const std::uint64_t used_ns = parts.clock.now_ns() - start_ns;
  record.end.cpu_ns += used_ns;
  record.cpu_ns_since_wait += used_ns;
  hostcalls::SessionBox& session = record.state->session;
  if (record.end.first_message_ns == 0 && !session.outbox().empty()) {
    record.end.first_message_ns = start_ns + used_ns;
  }
  if (!session.outbox().empty() || !session.lines().empty() || record.state->files.front()) {
    mark_undelivered(record);
  }
  children.unblock(record);
  const InstanceRecord* exceeded = children.charge_cpu(record, used_ns);
  after_run(record, state);
  if (exceeded != nullptr && record.stage != Stage::Ended) {
    stop(record, EndKind::LimitExceeded,
         "cpu_ns_max: the program and the one that launched it, instance " +
             std::to_string(static_cast<std::uint64_t>(exceeded->id)) + ", ran longer than " +
             seconds(exceeded->limits.cpu_ns_max) + " together",
         "cpu_ns_max");
  }
}

bool InstanceManager::Implementation::over_cpu_limit(InstanceRecord& record) {
  if (record.cpu_ns_since_wait > record.limits.cpu_ns_between_waits_max) {
    end(record, EndKind::LimitExceeded,
        "cpu_ns_between_waits_max: the program ran " + seconds(record.cpu_ns_since_wait) +
            " without waiting, the limit is " + seconds(record.limits.cpu_ns_between_waits_max),
        "cpu_ns_between_waits_max");
    return true;
  }
  const std::uint64_t cpu_ns = record.end.cpu_ns + record.spent_by_children.cpu_ns;
  if (cpu_ns > record.limits.cpu_ns_max) {
    end(record, EndKind::LimitExceeded,
        "cpu_ns_max: the program ran " + seconds(cpu_ns) + " in all, the limit is " +
            seconds(record.limits.cpu_ns_max),
        "cpu_ns_max");
    return true;
  }
  return false;
}

void InstanceManager::Implementation::end_trapped(InstanceRecord& record) {
  std::string message = record.instance->trap_message();
  if (message.find(kMemoryLimitTrap) != std::string::npos) {
    end(record, EndKind::LimitExceeded,
        "memory_bytes_max: the program holds " + std::to_string(record.instance->memory_bytes()) +
            " bytes and wants more than its limit of " +
            std::to_string(record.limits.memory_bytes_max) + "\n" + message,
        "memory_bytes_max");
    return;
  }
  end(record, EndKind::Trapped, std::move(message));
}

void InstanceManager::Implementation::after_run(InstanceRecord& record, sandbox::RunState state) {
  switch (state) {
    case sandbox::RunState::Waiting:
      if (over_cpu_limit(record)) return;
      record.cpu_ns_since_wait = 0;
      record.stage = Stage::Waiting;
      set_timer(record, record.state->futures.next_deadline_ns());
      wake_if_over(record);
      return;
    case sandbox::RunState::Cut:
      if (over_cpu_limit(record)) return;
      record.stage = Stage::Background;
      background.push_back(record.id);
      return;
    case sandbox::RunState::Finished:
      record.end.exit_code = record.instance->exit_code();
      end(record, EndKind::Finished, "");
      return;
    case sandbox::RunState::Trapped:
      end_trapped(record);
      return;
  }
}

void InstanceManager::Implementation::end(InstanceRecord& record, EndKind kind, std::string message,
                                          std::string limit) {
  set_timer(record, std::nullopt);
  record.stage = Stage::Ended;
  record.end.kind = kind;
  if (kind != EndKind::Finished) record.end.exit_code = exit_code_of(kind);
  record.end.message = std::move(message);
  record.end.limit = std::move(limit);
  record.end.result = std::move(record.state->result);
  record.end.ended_ns = parts.clock.now_ns();
  record.state->session.flush_streams();
  record.state->http.close_all();
  record.state->mailbox.leave();
  if (record.limits.wall_ns_max > 0) {
    wall_ends.erase({record.end.launched_ns + record.limits.wall_ns_max, record.id});
  }
  const bool had_instance = record.instance != nullptr;
  if (had_instance) {
    record.instance.reset();
    --slot_count;
    record.end.statistics = parts.control.statistics(record.id);
  }
  children.instance_ended(record);
  if (had_instance) parts.control.end_instance(record.id);
  mark_undelivered(record);
}

void InstanceManager::Implementation::stop(InstanceRecord& record, EndKind kind, std::string reason,
                                           std::string limit) {
  if (record.stage == Stage::Queued) remove_from(queued, record.id);
  if (record.stage == Stage::Ready) remove_from(ready, record.id);
  if (record.stage == Stage::Background) remove_from(background, record.id);
  end(record, kind, std::move(reason), std::move(limit));
}

Result<ProgramId> InstanceManager::Implementation::find_program(const std::string& name) {
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  return Error(ErrorCode::NotFound, "no program \"" + name + "\" (there are " +
                                        std::to_string(names.size()) + " by name)");
}

// True if anything was handed over. A client that takes no more now is asked again when it is
// ready.
bool InstanceManager::Implementation::deliver(InstanceRecord& record) {
  bool any = false;
  hostcalls::SessionBox& session = record.state->session;
  while (!session.lines().empty()) {
    const hostcalls::LogLine& line = session.lines().front();
    if (!record.client->log(record.id, line.source, line.level, line.text)) return any;
    session.line_taken();
    any = true;
  }
  while (!session.outbox().empty()) {
    if (!record.client->message(record.id, session.outbox().front())) return any;
    session.message_taken();
    any = true;
  }
  hostcalls::FileTable& files = record.state->files;
  while (const std::optional<hostcalls::FilePart> part = files.front()) {
    if (!record.client->file(record.id, *part)) return any;
    files.front_taken();
    wake_if_over(record);  // It may have waited for room.
    any = true;
  }
  if (record.stage != Stage::Ended) return any;
  if (!record.client->ended(record.id, record.end)) return any;
  records.erase(record.id);
  return true;
}

InstanceManager::InstanceManager(const ManagerParts& parts)
    : implementation_(std::make_unique<Implementation>(parts)) {
  QUIRE_CHECK(parts.control.models().size() <= UINT8_MAX, "a handle keeps its model in 8 bits");
}

InstanceManager::~InstanceManager() = default;

Result<ProgramId> InstanceManager::load_program(std::span<const std::byte> wasm) {
  return implementation_->programs.load(wasm);
}

Result<ProgramId> InstanceManager::load_program_file(const std::string& path) {
  const std::string bytes = TRY(read_file(path, kProgramBytesMax));
  Result<ProgramId> id = load_program(std::as_bytes(std::span(bytes)));
  if (!id.ok()) return std::move(id).take_error().while_(path);
  return id;
}

Result<ProgramId> InstanceManager::request_program(std::vector<std::byte> wasm,
                                                   const Digest& digest) {
  return implementation_->programs.request(std::move(wasm), digest);
}

std::optional<ProgramId> InstanceManager::find_program(const Digest& digest) const {
  const ProgramStore& programs = implementation_->programs;
  const std::optional<ProgramId> id = programs.find(digest);
  if (!id || programs.find(*id)->error) return std::nullopt;
  return id;
}

Result<ProgramState> InstanceManager::program_state(ProgramId program) const {
  const ProgramStore::Entry* entry = implementation_->programs.find(program);
  if (entry == nullptr) return Error(ErrorCode::NotFound, forgotten(program));
  if (entry->error) return entry->error->copy();
  return entry->compiling() ? ProgramState::Compiling : ProgramState::Ready;
}

std::uint64_t InstanceManager::compiled_count() const {
  return implementation_->programs.compiled_count();
}

std::size_t InstanceManager::program_count() const {
  return implementation_->programs.count();
}

void InstanceManager::name_program(const std::string& name, ProgramId program) {
  implementation_->names[name] = program;
}

Result<InstanceId> InstanceManager::launch(LaunchRequest request, ClientSink& client) {
  return implementation_->launch(std::move(request), client);
}

Result<InstanceId> InstanceManager::Implementation::launch(LaunchRequest request,
                                                           ClientSink& client) {
  report(parts.walk, WalkStop::Lifecycle);
  if (programs.find(request.program) == nullptr) {
    return Error(ErrorCode::NotFound, forgotten(request.program));
  }
  programs.use(request.program);
  std::uint64_t argument_bytes = 0;
  for (const std::string& argument : request.arguments) argument_bytes += argument.size() + 1;
  if (argument_bytes > request.limits.guest.argument_bytes_max) {
    return Error(ErrorCode::TooLarge, "the arguments have " + std::to_string(argument_bytes) +
                                          " bytes, argument_bytes_max is " +
                                          std::to_string(request.limits.guest.argument_bytes_max));
  }
  if (queued.size() >= kQueuedLaunchCountMax) {
    return Error(ErrorCode::QuotaExceeded,
                 std::to_string(queued.size()) + " launches wait for a slot");
  }
  auto record = std::make_unique<InstanceRecord>();
  record->id = InstanceId{next_id++};
  record->program = request.program;
  record->tenant = request.tenant;
  record->limits = request.limits;
  record->client = &client;
  record->end.launched_ns = parts.clock.now_ns();
  record->state = std::make_unique<hostcalls::GuestState>(
      host, hostcalls::GuestIdentity{record->id, record->tenant, std::move(request.arguments),
                                     request.limits.guest, request.limits.control});
  const InstanceId id = record->id;
  if (record->limits.wall_ns_max > 0) {
    wall_ends.emplace(record->end.launched_ns + record->limits.wall_ns_max, id);
  }
  records.emplace(id, std::move(record));
  queued.push_back(id);
  if (queued.size() == 1) start_queued();  // Else the next step looks at them in order.
  return id;
}

namespace {

Error no_instance(InstanceId id) {
  return Error(ErrorCode::NotFound, "instance " + std::to_string(static_cast<std::uint64_t>(id)) +
                                        " has ended or never was");
}

}  // namespace

Result<void> InstanceManager::send_to(InstanceId id, std::string message) {
  report(implementation_->parts.walk, WalkStop::Lifecycle);
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(id);
  TRY(record->state->push_message(std::move(message)));
  implementation_->wake_if_over(*record);
  return {};
}

Result<void> InstanceManager::send_file_to(InstanceId id, hostcalls::ClientFilePart part) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(id);
  TRY(record->state->files.push(std::move(part)));
  implementation_->wake_if_over(*record);
  return {};
}

bool InstanceManager::has_file_room(InstanceId id) const {
  const InstanceRecord* record = implementation_->find(id);
  return record == nullptr || record->stage == Stage::Ended || record->state->files.has_room();
}

Result<void> InstanceManager::close_input(InstanceId id) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(id);
  record->state->close_input();
  implementation_->wake_if_over(*record);
  return {};
}

Result<void> InstanceManager::client_left(InstanceId id, std::string why) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(id);
  record->state->client_left(std::move(why));
  implementation_->wake_if_over(*record);
  return {};
}

Result<void> InstanceManager::client_back(InstanceId id) {
  InstanceRecord* record = implementation_->find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(id);
  record->state->client_back();
  return {};
}

void InstanceManager::client_ready(InstanceId id) {
  InstanceRecord* record = implementation_->find(id);
  if (record != nullptr) implementation_->mark_undelivered(*record);
}

Result<void> InstanceManager::kill(InstanceId id, std::string reason) {
  Implementation& self = *implementation_;
  InstanceRecord* record = self.find(id);
  if (record == nullptr || record->stage == Stage::Ended) return no_instance(id);
  self.kill(*record, std::move(reason));
  return {};
}

bool InstanceManager::Implementation::take_http_events(net::HttpClient& http) {
  bool any = false;
  for (net::HttpEvent& event : http.take_events()) {
    any = true;
    InstanceRecord* record = find(InstanceId{event.owner.instance});
    if (record == nullptr || record->stage == Stage::Ended) continue;
    record->state->http.take_in(std::move(event));
    wake_if_over(*record);
  }
  return any;
}

bool InstanceManager::take_answers() {
  Implementation& self = *implementation_;
  bool any = self.programs.poll();
  for (control::Answer& answer : self.parts.answers.take()) {
    any = true;
    InstanceRecord* record = self.find(answer.instance);
    if (record == nullptr || record->stage == Stage::Ended) continue;
    record->state->answer(std::move(answer));
    self.wake_if_over(*record);
  }
  if (self.parts.http != nullptr) any |= self.take_http_events(*self.parts.http);
  for (const InstanceId id : self.broker.take_woken()) {
    any = true;
    if (InstanceRecord* record = self.find(id)) self.wake_if_over(*record);
  }
  for (const AnswerInbox::Loss& loss : self.parts.answers.take_losses()) {
    any = true;
    InstanceRecord* record = self.find(loss.instance);
    if (record == nullptr || record->stage == Stage::Ended) continue;
    self.stop(*record, EndKind::Killed, std::string(loss.error.message()),
              error_code_name(loss.error.code()));
  }
  if (!self.queued.empty()) self.start_queued();
  return any;
}

bool InstanceManager::fire_timers() {
  Implementation& self = *implementation_;
  const std::uint64_t now_ns = self.parts.clock.now_ns();
  bool any = false;
  while (!self.timers.empty() && self.timers.begin()->first <= now_ns) {
    InstanceRecord& record = *self.find(self.timers.begin()->second);
    self.set_timer(record, std::nullopt);
    record.state->futures.fire(now_ns);
    self.wake_if_over(record);
    if (record.stage == Stage::Waiting) {  // A sleep that it does not wait for.
      self.set_timer(record, record.state->futures.next_deadline_ns());
    }
    any = true;
  }
  while (!self.wall_ends.empty() && self.wall_ends.begin()->first <= now_ns) {
    InstanceRecord& record = *self.find(self.wall_ends.begin()->second);
    self.stop(record, EndKind::LimitExceeded,
              "wall_ns_max: the program was launched " + seconds(record.limits.wall_ns_max) +
                  " ago, which is the limit",
              "wall_ns_max");
    any = true;
  }
  return any;
}

bool InstanceManager::run_ready(std::uint64_t budget_ns) {
  Implementation& self = *implementation_;
  if (self.ready.empty()) return false;
  const std::uint64_t start_ns = self.parts.clock.now_ns();
  do {
    InstanceRecord& record = *self.find(self.ready.front());
    self.ready.pop_front();
    self.run(record, kSliceTicks);
  } while (!self.ready.empty() && self.parts.clock.now_ns() - start_ns < budget_ns);
  return true;
}

bool InstanceManager::run_background() {
  Implementation& self = *implementation_;
  if (self.background.empty()) return false;
  InstanceRecord& record = *self.find(self.background.front());
  self.background.pop_front();
  self.run(record, kBackgroundSliceTicks);
  return true;
}

bool InstanceManager::deliver() {
  Implementation& self = *implementation_;
  bool any = false;
  for (const InstanceId id : std::exchange(self.undelivered, {})) {
    InstanceRecord* record = self.find(id);
    QUIRE_CHECK(record != nullptr, "only deliver() forgets an instance");
    record->undelivered = false;
    any |= self.deliver(*record);
  }
  if (!self.queued.empty()) self.start_queued();
  return any;
}

bool InstanceManager::ready() const {
  return !implementation_->ready.empty();
}
bool InstanceManager::background_ready() const {
  return !implementation_->background.empty();
}
std::size_t InstanceManager::live_count() const {
  return implementation_->records.size();
}
bool InstanceManager::has_ended(InstanceId id) const {
  const InstanceRecord* record = implementation_->find(id);
  return record == nullptr || record->stage == Stage::Ended;
}
bool InstanceManager::compiling() const {
  return implementation_->programs.compiling();
}

std::optional<std::uint64_t> InstanceManager::next_timer_ns() const {
  std::optional<std::uint64_t> next;
  for (const auto* ends : {&implementation_->timers, &implementation_->wall_ends}) {
    if (!ends->empty() && (!next || ends->begin()->first < *next)) next = ends->begin()->first;
  }
  return next;
}

void InstanceManager::verify() const {
  const Implementation& self = *implementation_;
  std::map<InstanceId, int> queue_counts;
  for (const auto* queue : {&self.ready, &self.background, &self.queued}) {
    for (const InstanceId id : *queue) ++queue_counts[id];
  }
  std::size_t timer_count = 0;
  std::uint32_t slot_count = 0;
  for (const auto& [id, record] : self.records) {
    const bool in_queue = record->stage == Stage::Ready || record->stage == Stage::Background ||
                          record->stage == Stage::Queued;
    QUIRE_CHECK(queue_counts[id] == (in_queue ? 1 : 0), "M1");
    QUIRE_CHECK(record->state->futures.waiting() || record->stage != Stage::Waiting, "M1");
    if (record->timer_ns) {
      ++timer_count;
      QUIRE_CHECK(self.timers.contains({*record->timer_ns, id}), "M2");
      QUIRE_CHECK(record->stage == Stage::Waiting, "M2");
    }
    slot_count += record->instance != nullptr ? 1 : 0;
    record->state->verify();
  }
  self.children.verify();
  self.broker.verify();
  QUIRE_CHECK(timer_count == self.timers.size(), "M2");
  QUIRE_CHECK(slot_count == self.slot_count, "M3");
  QUIRE_CHECK(slot_count <= self.parts.runtime.instance_count_max(), "M3");
}

}  // namespace quire::lifecycle
