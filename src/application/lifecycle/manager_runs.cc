// Guests that start, run and wait, and what wakes them.
#include <algorithm>
#include <utility>

#include "application/lifecycle/manager_implementation.h"
#include "base/check.h"
#include "base/readable.h"

namespace quire::lifecycle {
namespace {

constexpr std::uint32_t kSliceTicks = 2;  // 1 to 2 ms.
// Up to 1 ms: what the device completes meanwhile waits for so long.
constexpr std::uint32_t kBackgroundSliceTicks = 1;
// One that has run so much longer than it has waited, or runs so long from wait to wait, only
// computes, however often it waits.
constexpr std::uint64_t kOwedNsMax = 2'000'000;
constexpr std::uint64_t kBurstNsMax = 800'000;

// A token that was drawn, or what a guest draws one from.
bool gives_next_token(const control::Answer& answer) {
  if (!answer.body.ok()) return false;
  const control::AnswerBody& body = answer.body.value();
  return std::holds_alternative<control::NextDistribution>(body) ||
         std::holds_alternative<control::Draws>(body) ||
         std::holds_alternative<control::Values>(body);
}

// At least 1, because 0 says that there was none.
std::uint64_t since_launch(const InstanceRecord& record, std::uint64_t now_ns) {
  return std::max<std::uint64_t>(now_ns - record.launched_ns, 1);
}

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) / 1e9);
  return text;
}

}  // namespace

void InstanceManager::Implementation::set_timer(InstanceRecord& record,
                                                std::optional<std::uint64_t> deadline_ns) {
  if (record.timer_ns == deadline_ns) return;
  if (record.timer_ns) timers.erase({*record.timer_ns, record.id});
  if (deadline_ns) timers.emplace(*deadline_ns, record.id);
  record.timer_ns = deadline_ns;
}

// The program is compiled, and there is a place.
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
  const Result<void> room = children.starts(record, entry->program->first_memory_bytes());
  if (!room.ok()) {
    end(record, EndKind::NotStarted, std::string(room.error().message()));
    return;
  }
  if (const std::uint64_t first = entry->program->first_memory_bytes();
      first > memory.bytes_max()) {
    end(record, EndKind::NotStarted,
        "program_memory_bytes_max: the program begins with " + readable_bytes(first) +
            ", and the server has " + readable_bytes(memory.bytes_max()) + " for all programs");
    return;
  }
  Result<std::unique_ptr<sandbox::Instance>> instance = parts.runtime.instantiate(
      entry->program, record.state.get(), {.memory_bytes_max = record.limits.memory_bytes_max});
  if (!instance.ok()) {
    end(record, EndKind::NotStarted, std::string(instance.error().message()));
    return;
  }
  record.instance = std::move(instance).take();
  record.state->script = entry->program->script();
  ++slot_count;
  charge_memory(record);
  figures.queue_ns.observe(parts.clock.now_ns() - record.launched_ns);
  parts.control.start_instance(record.id, record.tenant, record.limits.control);
  if (const FirstRuns* others = first_runs_with(record)) {
    record.history.owed_ns += std::min(others->over_ns(parts.clock.now_ns()), 2 * kOwedNsMax);
  }
  make_ready(record);
}

void InstanceManager::Implementation::make_ready(InstanceRecord& record) {
  if (record.history.owed_ns > kOwedNsMax || record.history.burst_ns > kBurstNsMax) {
    record.stage = Stage::Background;
    background.push(record.tenant, record.id,
                    std::max(record.history.owed_ns, record.history.burst_ns));
  } else {
    record.stage = Stage::Ready;
    ready.push(record.tenant, record.id, record.history.burst_ns);
  }
}

// In turn, but a launch whose program still compiles lets later ones pass.
void InstanceManager::Implementation::start_queued() {
  std::vector<LaunchQueue::Waiter> compiling;
  const auto may_start = [this](const LaunchQueue::Waiter& each) {
    return admission.has_place(each.tenant) && has_memory_for(each.tenant, find(each.id)->program);
  };
  while (const std::optional<InstanceId> next = queued.pop(may_start)) {
    InstanceRecord& record = *find(*next);
    const ProgramStore::Entry* program = programs.find(record.program);
    if (program != nullptr && program->compiling()) {
      compiling.push_back({.tenant = record.tenant, .id = record.id});
    } else {
      queued.started(record.tenant);
      admission.begin(record.tenant);
      start(record);
    }
  }
  queued.put_back(compiling);
}

void InstanceManager::Implementation::wake_if_over(InstanceRecord& record) {
  if (record.stage != Stage::Waiting || !record.state->wait_over()) return;
  set_timer(record, std::nullopt);
  const std::uint64_t waited_ns = parts.clock.now_ns() - record.waiting_since_ns;
  record.history.owed_ns -= std::min(record.history.owed_ns, waited_ns);
  make_ready(record);
}

void InstanceManager::Implementation::run(InstanceRecord& record, std::uint32_t slice_ticks) {
  children.make_room(record);
  if (record.state->futures.waiting()) record.instance->finish_wait(record.state->end_wait());
  report(parts.walk, WalkStop::Sandbox);
  const std::uint64_t start_ns = parts.cpu_clock.now_ns();
  const sandbox::RunState state = record.instance->resume(slice_ticks);
  // The steady clock would charge the program for other processes, and for a machine that stood.
  const std::uint64_t used_ns = parts.cpu_clock.now_ns() - start_ns;
  record.end.cpu_ns += used_ns;
  record.cpu_ns_since_wait += used_ns;
  record.history.owed_ns += used_ns;
  const hostcalls::Outbox& outbox = record.state->outbox;
  if (record.end.first_message_ns == 0 && outbox.message_count() > 0) {
    record.end.first_message_ns = since_launch(record, parts.clock.now_ns());
  }
  if (!outbox.empty()) mark_undelivered(record);
  children.unblock(record);
  children.charge(record);
  charge_memory(record);
  const InstanceRecord* exceeded = children.charge_cpu(record, used_ns);
  after_run(record, state);
  if (exceeded != nullptr && record.stage != Stage::Ended) {
    stop(record, EndKind::LimitExceeded,
         "cpu_ns_max: the program and the one that launched it, instance " +
             std::to_string(static_cast<std::uint64_t>(exceeded->id)) + ", ran longer than " +
             seconds(exceeded->limits.cpu_ns_max) + " together",
         "cpu_ns_max");
  }
  enforce_memory();
}

bool InstanceManager::Implementation::over_cpu_limit(InstanceRecord& record) {
  if (record.cpu_ns_since_wait > record.limits.cpu_ns_between_waits_max) {
    end(record, EndKind::LimitExceeded,
        "cpu_ns_between_waits_max: the program ran " + seconds(record.cpu_ns_since_wait) +
            " without waiting, the limit is " + seconds(record.limits.cpu_ns_between_waits_max),
        "cpu_ns_between_waits_max");
    return true;
  }
  const std::uint64_t cpu_ns = record.end.cpu_ns + record.family.spent.cpu_ns;
  if (cpu_ns > record.limits.cpu_ns_max) {
    end(record, EndKind::LimitExceeded,
        "cpu_ns_max: the program ran " + seconds(cpu_ns) + " in all, the limit is " +
            seconds(record.limits.cpu_ns_max),
        "cpu_ns_max");
    return true;
  }
  return false;
}

// Null of a child, which counts among its parent's, and while the device does nothing.
FirstRuns* InstanceManager::Implementation::first_runs_with(const InstanceRecord& record) {
  if (is_child(record) || parts.control.idle()) return nullptr;
  return programs.first_runs(record.program, record.tenant);
}

void InstanceManager::Implementation::first_run_over(const InstanceRecord& record) {
  if (is_child(record)) {
    children.first_run_over(record);
  } else if (FirstRuns* all = first_runs_with(record)) {
    all->charge(parts.clock.now_ns(), record.cpu_ns_since_wait);
  }
}

void InstanceManager::Implementation::after_run(InstanceRecord& record, sandbox::RunState state) {
  switch (state) {
    case sandbox::RunState::Waiting:
      if (over_cpu_limit(record)) return;
      if (!record.has_waited) first_run_over(record);
      record.history.burst_ns = record.has_waited
                                    ? (record.history.burst_ns + record.cpu_ns_since_wait) / 2
                                    : record.cpu_ns_since_wait;
      record.cpu_ns_since_wait = 0;
      record.has_waited = true;
      record.stage = Stage::Waiting;
      record.waiting_since_ns = parts.clock.now_ns();
      set_timer(record, record.state->futures.next_deadline_ns());
      wake_if_over(record);
      return;
    case sandbox::RunState::Cut:
      if (over_cpu_limit(record)) return;
      record.stage = Stage::Background;
      background.push(record.tenant, record.id,
                      record.cpu_ns_since_wait + (record.has_waited ? 0 : kUnknownRunNs));
      return;
    case sandbox::RunState::Finished:
      // An entry in any language has an exit code alone to say that it failed; the reason is what
      // the guest logged, as the SDK does with an Error that the program returns.
      record.end.exit_code = record.instance->exit_code();
      end(record, EndKind::Finished,
          record.end.exit_code == 0 ? "" : record.state->session.last_failure());
      return;
    case sandbox::RunState::Trapped:
      end_trapped(record);
      return;
    case sandbox::RunState::Overrun:
      if (over_cpu_limit(record)) return;
      end(record, EndKind::LimitExceeded, "cpu_ns_uncut_max: " + record.instance->trap_message(),
          "cpu_ns_uncut_max");
      return;
  }
}

bool InstanceManager::Implementation::take_http_events(net::HttpClient& http) {
  bool any = false;
  for (net::HttpEvent& event : http.take_events()) {
    any = true;
    InstanceRecord* record = find(InstanceId{event.owner.instance});
    if (record == nullptr || record->stage == Stage::Ended) continue;
    record->state->http.take_in(std::move(event));
    children.charge(*record);  // An exchange that is over is open no more.
    charge_memory(*record);
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
    if (record->end.first_token_ns == 0 && gives_next_token(answer)) {
      record->end.first_token_ns = since_launch(*record, self.parts.clock.now_ns());
      self.figures.first_token_ns.observe(record->end.first_token_ns);
    }
    self.children.make_room(*record);
    record->state->answer(std::move(answer));
    self.charge_memory(*record);
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
  self.enforce_memory();
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
    self.run(*self.find(self.ready.pop()), kSliceTicks);
  } while (!self.ready.empty() && self.parts.clock.now_ns() - start_ns < budget_ns);
  return true;
}

bool InstanceManager::run_background() {
  Implementation& self = *implementation_;
  if (self.background.empty()) return false;
  self.run(*self.find(self.background.pop()), kBackgroundSliceTicks);
  return true;
}

bool InstanceManager::ready() const {
  return !implementation_->ready.empty();
}

bool InstanceManager::background_ready() const {
  return !implementation_->background.empty();
}

std::optional<std::uint64_t> InstanceManager::next_timer_ns() const {
  std::optional<std::uint64_t> next = implementation_->output.next_ns;
  for (const auto* ends : {&implementation_->timers, &implementation_->wall_ends}) {
    if (!ends->empty() && (!next || ends->begin()->first < *next)) next = ends->begin()->first;
  }
  return next;
}

}  // namespace quire::lifecycle
