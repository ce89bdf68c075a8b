// Budgets of instances and their children; budget.h has the rule.
#include <algorithm>

#include "application/lifecycle/child_programs.h"
#include "base/check.h"
#include "base/planted_fault.h"
#include "base/readable.h"
#include "base/split_limit.h"

namespace quire::lifecycle {
namespace {

// The part of a child's budget that stays lent after its end, until its last output was taken.
constexpr Budget kOwnPlace{.child_count = 1};

// Whether at most half of the part is left.
template <typename T>
bool is_half_used(T left, T part) {
  return left <= part / 2;
}

// The bytes of its linear memory, or those that are charged for it before there is one.
std::uint64_t memory_bytes_of(const InstanceRecord& record) {
  const std::uint64_t bytes = record.instance == nullptr ? 0 : record.instance->memory_bytes();
  return std::max(bytes, record.family.first_memory_bytes);
}

}  // namespace

// Processor time that children used counts as the instance's own. So do pages that its contexts get
// back after a suspension, because they stay reserved for it.
Budget ChildPrograms::own_use(const InstanceRecord& record) const {
  const control::InstanceStatistics used = control_.statistics(record.id);
  return {.memory_bytes = 0,
          .cpu_ns = record.end.cpu_ns,
          .token_count = used.metered_token_count,
          .page_count = used.page_count + used.page_count_away,
          .child_count = 0,
          .http_call_count = record.state->http.call_count(),
          .http_exchange_count = record.state->http.open_count(),
          .held_result_bytes = record.state->futures.held_bytes(),
          .pending_bytes = control_.pending(record.id).bytes};
}

// Counts its own limits alone, not those of the instance on whose budget it draws.
Budget ChildPrograms::unshared_left(const InstanceRecord& record) const {
  Budget left = budget_of(record.limits);
  left -= record.family.lent;
  left -= record.family.spent;
  left -= own_use(record);
  return left;
}

Budget ChildPrograms::left_of(const InstanceRecord& record) const {
  Budget left = unshared_left(record);
  const auto found = children_.find(record.id);
  if (found == children_.end()) return left;
  Budget above = left_of(parent_record(record));
  if (record.family.is_drawing) {  // It has its part of the divided amounts for itself.
    above -= divided_part(above);
    above += divided_part(left);
    return minimum(left, above);
  }
  left.child_count = std::min(left.child_count, above.child_count);
  return left;
}

Budget ChildPrograms::charge_of(const Child& child, const InstanceRecord& record) const {
  const FamilyBudget& family = record.family;
  Budget charge = child.lent;
  charge.child_count = 1 + family.lent.child_count;
  if (!family.is_drawing) return charge;
  charge.memory_bytes = memory_bytes_of(record) + family.lent.memory_bytes;
  charge.http_call_count =
      record.state->http.call_count() + family.lent.http_call_count + family.spent.http_call_count;
  charge.http_exchange_count = record.state->http.open_count() + family.lent.http_exchange_count;
  return charge;
}

void ChildPrograms::set_lent(Child& child, InstanceRecord& parent, const Budget& lent) {
  parent.family.lent -= child.lent;
  child.lent = lent;
  parent.family.lent += child.lent;
}

// Charges the ancestors too, as far as the charge of one changes.
void ChildPrograms::recharge(const InstanceRecord& record) {
  const InstanceRecord* each = &record;
  for (auto found = children_.find(each->id); found != children_.end() && found->second.lives;
       found = children_.find(each->id)) {
    const Budget charge = charge_of(found->second, *each);
    if (charge == found->second.lent) return;
    InstanceRecord& parent = parent_record(*each);
    set_lent(found->second, parent, charge);
    each = &parent;
  }
}

void ChildPrograms::give_back(Child& child, InstanceRecord& parent) {
  child.lives = false;
  set_lent(child, parent, kOwnPlace);
}

Result<void> ChildPrograms::starts(InstanceRecord& record, std::uint64_t first_memory_bytes) {
  FamilyBudget& family = record.family;
  if (!family.is_drawing || first_memory_bytes <= family.first_memory_bytes) return {};
  const InstanceRecord& parent = parent_record(record);
  const std::uint64_t left = left_of(parent).memory_bytes + family.first_memory_bytes;
  if (first_memory_bytes > left) {
    return Error(ErrorCode::QuotaExceeded,
                 "children_memory_bytes_max: the module begins with " +
                     std::to_string(first_memory_bytes) + " bytes, " + std::to_string(left) +
                     " of " + std::to_string(parent.limits.children_memory_bytes_max) +
                     " are left (--limit children_memory_bytes_max)");
  }
  family.first_memory_bytes = first_memory_bytes;
  charge(record);
  return {};
}

void ChildPrograms::charge(InstanceRecord& record) {
  if (record.family.is_drawing) host_.reserve_memory(record, memory_bytes_of(record));
  recharge(record);
}

void ChildPrograms::make_room(InstanceRecord& record) {
  if (!record.family.is_drawing && record.family.drawing.empty()) return;
  if (is_short(record)) divide(record);
  tell_running(record);
}

std::string ChildPrograms::why_no_memory(const InstanceRecord& record) const {
  const FamilyBudget& family = record.family;
  if (!family.is_drawing || family.memory_bytes_told >= record.limits.memory_bytes_max) return "";
  const InstanceRecord& parent = parent_record(record);
  if (host_.tenant_memory_left(record) < left_of(parent).memory_bytes) {
    return "memory_bytes_max of its tenant: the program holds " +
           readable_bytes(memory_bytes_of(record)) + ", and its tenant has no more for it";
  }
  return "children_memory_bytes_max: the program holds " + readable_bytes(memory_bytes_of(record)) +
         " and wants more than is left of the " +
         readable_bytes(parent.limits.children_memory_bytes_max) +
         " of all children of its parent (--limit children_memory_bytes_max)";
}

bool ChildPrograms::is_short(const InstanceRecord& record) const {
  const Budget left = unshared_left(record);
  const Budget& part = record.family.part;
  return is_half_used(left.token_count, part.token_count) ||
         is_half_used(left.page_count, part.page_count) ||
         is_half_used(left.held_result_bytes, part.held_result_bytes) ||
         is_half_used(left.pending_bytes, part.pending_bytes);
}

// Divides among all that draw on one budget, from the instance that has it.
void ChildPrograms::divide(InstanceRecord& member) {
  InstanceRecord* head = &member;
  while (head->family.is_drawing) head = &parent_record(*head);
  note_needed(*head);
  share_out(*head);
}

void ChildPrograms::note_needed(InstanceRecord& record) {
  Budget needed = own_use(record);
  needed += record.family.spent;
  needed += record.family.lent;
  for (const InstanceId id : record.family.drawing) {
    InstanceRecord& child = *host_.find(id);
    note_needed(child);
    needed -= children_.at(id).lent;
    needed += child.family.needed;
  }
  record.family.needed = divided_part(needed);
}

// Requires: its own limits are set, and note_needed() was called.
void ChildPrograms::share_out(InstanceRecord& record) {
  const Budget all = budget_of(record.limits);
  Budget unused = all;
  unused -= record.family.needed;
  record.family.part = equal_part(all, unused, record.family.drawing.size());
  // Small results may be held beyond the limit, so what is needed can be more than there is.
  Budget room = all;
  for (const InstanceId id : record.family.drawing) {
    InstanceRecord& child = *host_.find(id);
    Budget given = child.family.needed;
    given += record.family.part;
    given = minimum(given, divided_part(room));
    room -= given;
    set_divided(child.limits, given);
    Child& lent_to = children_.at(id);
    Budget lent = lent_to.lent;
    lent -= divided_part(lent);
    lent += given;
    set_lent(lent_to, record, lent);
    share_out(child);
  }
  tell_limits(record);
}

// Passes on the limits of what a guest takes while it runs.
void ChildPrograms::tell_running(InstanceRecord& record) {
  tell_limits(record);
  if (!record.family.is_drawing || record.instance == nullptr) return;
  const std::uint64_t room =
      std::min(left_of(parent_record(record)).memory_bytes, host_.tenant_memory_left(record));
  const std::uint64_t most = record.limits.memory_bytes_max;
  const std::uint64_t held = memory_bytes_of(record);
  const std::uint64_t bytes = held >= most || room >= most - held ? most : held + room;
  if (bytes == record.family.memory_bytes_told) return;
  record.family.memory_bytes_told = bytes;
  record.instance->set_memory_max(bytes);
}

// Passes on the limits that the instance's own use is held to, without what it lent.
void ChildPrograms::tell_limits(const InstanceRecord& record) {
  const Budget all = budget_of(record.limits);
  Budget own = all;
  if (!is_planted(Fault::BudgetNotLent)) own -= record.family.lent;
  own -= record.family.spent;
  Budget most = own;
  if (record.family.is_drawing) {
    most = own_use(record);
    most += left_of(record);
  }
  const auto split = [&](auto Budget::* of) {
    const auto least = std::min(own.*of, most.*of);
    return SplitLimit{least, all.*of - own.*of, own.*of - least};
  };
  control::InstanceLimits limits = record.limits.control;
  limits.page_count_max = own.page_count;
  limits.childrens_page_count = all.page_count - own.page_count;
  limits.token_count_max = own.token_count;
  limits.childrens_token_count = all.token_count - own.token_count;
  control_.set_limits(record.id, limits);
  record.state->http.set_own(split(&Budget::http_call_count), split(&Budget::http_exchange_count));
  const auto lent = [&](auto Budget::* of) { return SplitLimit{own.*of, all.*of - own.*of}; };
  record.state->set_own(lent(&Budget::held_result_bytes), lent(&Budget::pending_bytes));
  // So that a call that asks for more is refused at once, and not what uses the pages later.
  record.state->handles.set_limit(hostcalls::HandleKind::Page, lent(&Budget::page_count));
}

}  // namespace quire::lifecycle
