#include "application/lifecycle/child_programs.h"

#include <algorithm>
#include <utility>

#include "application/hostcalls/answer_encoding.h"
#include "application/lifecycle/tenant_meter.h"
#include "base/check.h"
#include "base/planted_fault.h"
#include "base/split_limit.h"

namespace quire::lifecycle {
namespace {

// The part of a child's budget that stays lent after its end, until its last output was taken.
constexpr Budget kOwnPlace{.child_count = 1};

// Adds the tokens of a child and of its children to those of the parent's children.
void add_tokens(service::End& parent, const service::End& child) {
  parent.children_asked_token_count += child.asked_token_count + child.children_asked_token_count;
  parent.children_computed_token_count +=
      child.computed_token_count + child.children_computed_token_count;
  parent.children_found_token_count += child.found_token_count + child.children_found_token_count;
  parent.children_opened_token_count +=
      child.opened_token_count + child.children_opened_token_count;
}

}  // namespace

// Processor time that children used counts as the instance's own. So do pages that its contexts get
// back after a suspension, because they stay reserved for it.
Budget ChildPrograms::left_of(const InstanceRecord& record) const {
  const control::InstanceStatistics used = control_.statistics(record.id);
  Budget left = budget_of(record.limits);
  left -= record.lent;
  left -= record.spent_by_children;
  left -= {.memory_bytes = 0,
           .cpu_ns = record.end.cpu_ns,
           .token_count = used.metered_token_count,
           .page_count = used.page_count + used.page_count_away,
           .child_count = 0,
           .http_call_count = record.state->http.call_count(),
           .http_exchange_count = record.state->http.open_count(),
           .held_result_bytes = record.state->futures.held_bytes(),
           .pending_bytes = control_.pending(record.id).bytes};
  return left;
}

// Passes on the limits that the instance's own use is held to, without what it lent.
void ChildPrograms::tell_limits(const InstanceRecord& record) {
  const Budget all = budget_of(record.limits);
  Budget own = all;
  if (!is_planted(Fault::BudgetNotLent)) own -= record.lent;
  own -= record.spent_by_children;
  const auto split = [&](auto Budget::* of) { return SplitLimit{own.*of, all.*of - own.*of}; };
  control::InstanceLimits limits = record.limits.control;
  limits.page_count_max = own.page_count;
  limits.childrens_page_count = all.page_count - own.page_count;
  limits.token_count_max = own.token_count;
  limits.childrens_token_count = all.token_count - own.token_count;
  control_.set_limits(record.id, limits);
  record.state->http.set_own(split(&Budget::http_call_count), split(&Budget::http_exchange_count));
  record.state->set_own(split(&Budget::held_result_bytes), split(&Budget::pending_bytes));
  // So that a call that asks for more is refused at once, and not what uses the pages later.
  record.state->handles.set_limit(hostcalls::HandleKind::Page, split(&Budget::page_count));
}

Result<control::InstanceId> ChildPrograms::launch_child(control::InstanceId parent_id,
                                                        hostcalls::ChildLaunch launch) {
  InstanceRecord& parent = *host_.find(parent_id);
  LaunchRequest request;
  request.program = parent.program;
  if (!launch.program.empty()) {
    request.program = TRY(host_.find_program(launch.program, parent.tenant));
  }
  const ChildBudget budget =
      TRY(child_budget(parent.limits, left_of(parent), launch.share_percent));
  request.tenant = parent.tenant;
  request.caller = parent.caller;
  request.arguments = std::move(launch.arguments);
  request.limits = budget.limits;
  request.limits.guest.has_file_client = false;
  request.history = {.burst_ns = std::max(parent.history.burst_ns, parent.first_bursts_ns),
                     .owed_ns = parent.history.owed_ns};
  SeededRandom* const seeded = parent.state->identity.seeded.get();
  if (seeded != nullptr) request.seed = seeded->next();
  const InstanceId child = TRY(host_.launch_child(std::move(request), *this));
  Child& lent_to = children_[child];
  lent_to = {.parent = parent_id, .handle = launch.handle, .lent = budget.lent};
  lent_to.lent.cpu_ns = 0;  // Charged as it is used.
  parent.lent += lent_to.lent;
  // The child had a place at once, but could not be started.
  if (host_.find(child)->stage == Stage::Ended) give_back(lent_to, parent);
  tell_limits(parent);
  return child;
}

void ChildPrograms::give_back(Child& child, InstanceRecord& parent) {
  child.lives = false;
  parent.lent -= child.lent;
  child.lent = kOwnPlace;
  parent.lent += child.lent;
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
  host_.find(found->second.parent)->lent -= std::exchange(found->second.lent, {});
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
  const Budget& spent = record.spent_by_children;
  return {
      {"memory_bytes_max", limits.memory_bytes_max, 0},
      {"cpu_ns_max", limits.cpu_ns_max, record.end.cpu_ns + spent.cpu_ns},
      {"cpu_ns_between_waits_max", limits.cpu_ns_between_waits_max, record.cpu_ns_since_wait},
      {"cpu_ns_uncut_max", sandbox::kUncutNsMax, {}},
      {"wall_ns_max", limits.wall_ns_max == 0 ? kNoLimit : limits.wall_ns_max, wall_ns},
      {"page_count_max", limits.control.page_count_max,
       std::uint64_t{used.page_count} + used.page_count_away + record.lent.page_count},
      {"token_count_max", limits.control.token_count_max,
       used.metered_token_count + record.lent.token_count + spent.token_count},
      {"child_count_max", limits.child_count_max, record.lent.child_count},
      {"http.call_count_max", limits.guest.http.call_count_max,
       std::uint64_t{record.state->http.call_count()} + record.lent.http_call_count +
           spent.http_call_count},
      {"http.exchange_count_max", limits.guest.http.exchange_count_max,
       std::uint64_t{record.state->http.open_count()} + record.lent.http_exchange_count},
      {"children_memory_bytes_max", limits.children_memory_bytes_max, record.lent.memory_bytes},
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
    ancestor->spent_by_children.cpu_ns += ns;
    ancestor->history.owed_ns += ns;
    if (ancestor->stage == Stage::Waiting) ancestor->waiting_since_ns += ns;
    const std::uint64_t used = ancestor->end.cpu_ns + ancestor->spent_by_children.cpu_ns;
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
  give_back(found->second, parent);
  parent.spent_by_children.token_count +=
      record.figures.statistics.metered_token_count + record.spent_by_children.token_count;
  parent.spent_by_children.http_call_count +=
      record.state->http.call_count() + record.spent_by_children.http_call_count;
  add_tokens(parent.end, record.end);
  tell_limits(parent);
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
  const bool taken = parent.state->children.ended(child.handle, hostcalls::encode(said.end));
  host_.wake_if_over(parent);  // Also if a future failed for want of room.
  if (!taken) return false;
  parent.lent -= child.lent;
  children_.erase(id);
  return true;
}

void ChildPrograms::verify(const std::vector<const InstanceRecord*>& instances) const {
  std::unordered_map<InstanceId, Budget> lent;
  for (const auto& [id, child] : children_) {
    const InstanceRecord* parent = host_.find(child.parent);
    const bool is_heard = parent != nullptr && parent->stage != Stage::Ended;
    QUIRE_CHECK(is_heard || !child.lives, "CP1");
    if (is_heard) lent[child.parent] += child.lent;
  }
  for (const InstanceRecord* parent : instances) {
    if (parent->stage == Stage::Ended) continue;
    QUIRE_CHECK(lent[parent->id] == parent->lent, "CP2");
  }
}

}  // namespace quire::lifecycle
