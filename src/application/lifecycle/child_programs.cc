#include "application/lifecycle/child_programs.h"

#include <algorithm>
#include <utility>

#include "application/hostcalls/answer_encoding.h"
#include "application/lifecycle/tenant_meter.h"
#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::lifecycle {
namespace {

// Adds the tokens of a child and of its children to those of the parent's children.
void add_tokens(service::End& parent, const service::End& child) {
  parent.children_asked_token_count += child.asked_token_count + child.children_asked_token_count;
  parent.children_computed_token_count +=
      child.computed_token_count + child.children_computed_token_count;
  parent.children_found_token_count += child.found_token_count + child.children_found_token_count;
  parent.children_opened_token_count +=
      child.opened_token_count + child.children_opened_token_count;
}

// Why no message of a child that has ended will come, in one line.
std::string why_silent(const service::End& end) {
  switch (end.kind) {
    case EndKind::Finished:
      return "the child has ended and said all";
    case EndKind::NotStarted:
      return "the child was not started: " + end.message;
    case EndKind::Trapped:
    case EndKind::LimitExceeded:
    case EndKind::Killed:
      break;
  }
  return "the child has ended and said all; it did not finish: " +
         end.message.substr(0, end.message.find('\n'));
}

}  // namespace

Result<control::InstanceId> ChildPrograms::launch_child(control::InstanceId parent_id,
                                                        hostcalls::ChildLaunch launch) {
  InstanceRecord& parent = *host_.find(parent_id);
  LaunchRequest request;
  request.program = parent.program;
  if (!launch.program.empty()) {
    request.program = TRY(host_.find_program(launch.program, parent.tenant));
  }
  const std::uint64_t first_memory_bytes = TRY(host_.first_memory_bytes(request.program));
  recharge(parent);  // It may have grown since it began to run.
  const ChildBudget budget = TRY(child_budget(
      parent.limits, left_of(parent),
      {.share_percent = launch.share_percent, .first_memory_bytes = first_memory_bytes}));
  const bool is_drawing = launch.share_percent == 0;
  request.tenant = parent.tenant;
  request.caller = parent.caller;
  request.arguments = std::move(launch.arguments);
  request.limits = budget.limits;
  request.limits.guest.has_file_client = false;
  if (is_drawing) request.drawn_memory_bytes = first_memory_bytes;
  request.history = {.burst_ns = std::max(parent.history.burst_ns, parent.first_bursts_ns),
                     .owed_ns = parent.history.owed_ns};
  SeededRandom* const seeded = parent.state->identity.seeded.get();
  if (seeded != nullptr) request.seed = seeded->next();
  const InstanceId id = TRY(host_.launch_child(std::move(request), *this));
  Child& child = children_[id];
  child = {.parent = parent_id, .handle = launch.handle, .lent = budget.lent};
  parent.family.lent += child.lent;
  const InstanceRecord& record = *host_.find(id);
  if (record.stage == Stage::Ended) {  // It had a place at once, but could not be started.
    note_not_started(record, parent);
    give_back(child, parent);
  } else if (is_drawing) {
    parent.family.drawing.push_back(id);
  }
  recharge(parent);
  divide(parent);
  tell_running(parent);
  return id;
}

void ChildPrograms::note_not_started(const InstanceRecord& child, InstanceRecord& parent) {
  if (child.end.kind != EndKind::NotStarted || parent.stage == Stage::Ended) return;
  const std::string text = "child " + std::to_string(parent.state->host.numbers.of(child.id)) +
                           " was not started: " + child.end.message;
  (void)parent.state->session.log(LogLevel::Warning, text).ok();
  host_.client_ready(parent);
}

InstanceRecord& ChildPrograms::parent_record(const InstanceRecord& record) const {
  InstanceRecord* parent = host_.find(children_.at(record.id).parent);
  QUIRE_CHECK(parent != nullptr, "CP1");
  return *parent;
}

void ChildPrograms::kill_child(control::InstanceId id, const std::string& reason) {
  InstanceRecord* child = host_.find(id);
  if (child == nullptr) return;
  if (child->stage != Stage::Ended) host_.kill(*child, reason);
  host_.client_ready(*child);  // What it said last may wait for room that is no longer asked for.
}

void ChildPrograms::drop_child(control::InstanceId id) {
  kill_child(id, "its parent dropped it");
  const auto found = children_.find(id);
  if (found == children_.end()) return;
  InstanceRecord& parent = *host_.find(found->second.parent);
  set_lent(found->second, parent, {});
  recharge(parent);
  tell_running(parent);
}

Result<void> ChildPrograms::send_child(control::InstanceId id, std::string message) {
  InstanceRecord* child = host_.find(id);
  if (child == nullptr || child->stage == Stage::Ended) {
    return Error(ErrorCode::NotFound, "the child has ended");
  }
  TRY(child->state->push_message(std::move(message)));
  host_.wake_if_over(*child);
  return {};
}

std::optional<InstanceId> ChildPrograms::parent_of(InstanceId id) const {
  const auto found = children_.find(id);
  return found == children_.end() ? std::nullopt : std::optional(found->second.parent);
}

std::vector<hostcalls::LimitUse> ChildPrograms::limits(control::InstanceId id) {
  const InstanceRecord& record = *host_.find(id);
  std::vector<hostcalls::LimitUse> all = figures(record);
  for (hostcalls::LimitUse& each : host_.tenant_limits(record)) {
    if (each.maximum == kNoLimit) continue;
    each.name = "tenant." + each.name;
    all.push_back(std::move(each));
  }
  return all;
}

std::vector<hostcalls::LimitUse> ChildPrograms::figures(const InstanceRecord& record) const {
  const control::InstanceStatistics used =
      record.stage == Stage::Ended ? record.figures.statistics : control_.statistics(record.id);
  const std::uint64_t wall_ns =
      (record.stage == Stage::Ended ? record.ended_ns : clock_.now_ns()) - record.launched_ns;
  const InstanceLimits& limits = record.limits;
  const Budget& spent = record.family.spent;
  return {
      {"memory_bytes_max", limits.memory_bytes_max, 0},
      {"cpu_ns_max", limits.cpu_ns_max, record.end.cpu_ns + spent.cpu_ns},
      {"cpu_ns_between_waits_max", limits.cpu_ns_between_waits_max, record.cpu_ns_since_wait},
      {"cpu_ns_uncut_max", sandbox::kUncutNsMax, {}},
      {"wall_ns_max", limits.wall_ns_max == 0 ? kNoLimit : limits.wall_ns_max, wall_ns},
      {"page_count_max", limits.control.page_count_max,
       std::uint64_t{used.page_count} + used.page_count_away + record.family.lent.page_count},
      {"token_count_max", limits.control.token_count_max,
       used.metered_token_count + record.family.lent.token_count + spent.token_count},
      {"child_count_max", limits.child_count_max, record.family.lent.child_count},
      {"http.call_count_max", limits.guest.http.call_count_max,
       std::uint64_t{record.state->http.call_count()} + record.family.lent.http_call_count +
           spent.http_call_count},
      {"http.exchange_count_max", limits.guest.http.exchange_count_max,
       std::uint64_t{record.state->http.open_count()} + record.family.lent.http_exchange_count},
      {"children_memory_bytes_max", limits.children_memory_bytes_max,
       record.family.lent.memory_bytes},
  };
}

const InstanceRecord* ChildPrograms::charge_cpu(InstanceRecord& record, std::uint64_t ns) {
  const InstanceRecord* exceeded = nullptr;
  InstanceRecord* ancestor = &record;
  while (true) {
    const auto found = children_.find(ancestor->id);
    if (found == children_.end()) return exceeded;
    ancestor = host_.find(found->second.parent);
    QUIRE_CHECK(ancestor != nullptr, "CP1");
    ancestor->family.spent.cpu_ns += ns;
    ancestor->history.owed_ns += ns;
    if (ancestor->stage == Stage::Waiting) ancestor->waiting_since_ns += ns;
    const std::uint64_t used = ancestor->end.cpu_ns + ancestor->family.spent.cpu_ns;
    if (exceeded == nullptr && used > ancestor->limits.cpu_ns_max) exceeded = ancestor;
  }
}

void ChildPrograms::first_run_over(const InstanceRecord& record) {
  std::uint64_t& all_ns = host_.find(children_.at(record.id).parent)->first_bursts_ns;
  all_ns = (all_ns + record.cpu_ns_since_wait) / 2;
}

void ChildPrograms::instance_ended(InstanceRecord& record) {
  std::vector<InstanceId> own;
  for (const auto& [id, child] : children_) {
    if (child.parent == record.id) own.push_back(id);
  }
  std::sort(own.begin(), own.end());
  if (is_planted(Fault::ChildOutlivesParent)) own.clear();
  for (const InstanceId id : own) kill_child(id, "its parent has ended");

  const auto found = children_.find(record.id);
  if (found == children_.end()) return;
  InstanceRecord& parent = *host_.find(found->second.parent);
  std::erase(parent.family.drawing, record.id);
  note_not_started(record, parent);
  give_back(found->second, parent);
  parent.family.spent.token_count +=
      record.figures.statistics.metered_token_count + record.family.spent.token_count;
  parent.family.spent.http_call_count +=
      record.state->http.call_count() + record.family.spent.http_call_count;
  add_tokens(parent.end, record.end);
  recharge(parent);
  tell_running(parent);
}

void ChildPrograms::unblock(InstanceRecord& parent) {
  for (const InstanceId child : parent.state->children.take_unblocked()) {
    if (InstanceRecord* record = host_.find(child)) host_.client_ready(*record);
  }
}

bool ChildPrograms::heard(InstanceId id, const service::Said& said) {
  const Child& child = children_.at(id);
  InstanceRecord* parent = host_.find(child.parent);
  if (parent != nullptr && parent->stage != Stage::Ended) {
    return std::visit([&](const auto& each) { return hear(child, *parent, id, each); }, said);
  }
  // A parent that has ended hears nothing more.
  if (std::holds_alternative<service::Ended>(said)) children_.erase(id);
  return true;
}

bool ChildPrograms::hear(const Child& child, InstanceRecord& parent, InstanceId,
                         const service::Message& said) {
  const bool taken = parent.state->children.message(child.handle, said.bytes);
  host_.wake_if_over(parent);  // Also if nothing was taken: a future may have failed for that.
  return taken;
}

// The line goes into the log of the parent, and counts as part of what that may be.
bool ChildPrograms::hear(const Child&, InstanceRecord& parent, InstanceId id,
                         const service::LogLine& said) {
  const std::string text = "child " + std::to_string(parent.state->host.numbers.of(id)) + ": ";
  // Beyond the parent's log_bytes_max nothing is kept, as of its own lines.
  (void)parent.state->session.log(said.level, text + std::string(said.text)).ok();
  host_.client_ready(parent);
  return true;
}

bool ChildPrograms::hear(const Child& child, InstanceRecord& parent, InstanceId id,
                         const service::Ended& said) {
  const bool taken =
      parent.state->children.ended(child.handle, hostcalls::encode(said.end), why_silent(said.end));
  host_.wake_if_over(parent);  // Also if a future failed for want of room.
  if (!taken) return false;
  parent.family.lent -= child.lent;
  children_.erase(id);
  recharge(parent);
  return true;
}

void ChildPrograms::verify(const std::vector<const InstanceRecord*>& instances) const {
  std::unordered_map<InstanceId, Budget> lent;
  std::unordered_map<InstanceId, std::size_t> drawing;
  for (const auto& [id, child] : children_) {
    const InstanceRecord* parent = host_.find(child.parent);
    const bool is_heard = parent != nullptr && parent->stage != Stage::Ended;
    QUIRE_CHECK(is_heard || !child.lives, "CP1");
    if (is_heard) lent[child.parent] += child.lent;
    if (!child.lives) continue;
    const InstanceRecord& record = *host_.find(id);
    QUIRE_CHECK(child.lent == charge_of(child, record), "CP3");
    if (!record.family.is_drawing) continue;
    ++drawing[child.parent];
    QUIRE_CHECK(std::ranges::count(parent->family.drawing, id) == 1, "CP3");
  }
  for (const InstanceRecord* parent : instances) {
    if (parent->stage == Stage::Ended) continue;
    QUIRE_CHECK(lent[parent->id] == parent->family.lent, "CP2");
    QUIRE_CHECK(drawing[parent->id] == parent->family.drawing.size(), "CP3");
    const Budget all = budget_of(parent->limits);
    Budget left = all;
    left -= parent->family.lent;
    Budget sum = left;
    sum += parent->family.lent;
    QUIRE_CHECK(sum == all, "CP4");
  }
}

}  // namespace quire::lifecycle
