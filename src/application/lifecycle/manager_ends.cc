// How instances end, and how what they say goes out to their clients.
#include <algorithm>
#include <utility>

#include "application/lifecycle/manager_implementation.h"
#include "base/check.h"
#include "base/readable.h"

namespace quire::lifecycle {
namespace {

// The most log lines of one instance in a turn. A child's lines are written again, into its
// parent's log.
constexpr std::uint32_t kTurnLineCountMax = 256;

struct SaidBytes {
  std::uint64_t operator()(const service::Message& said) const { return said.bytes.size(); }
  std::uint64_t operator()(const service::LogLine& said) const { return said.text.size(); }
  std::uint64_t operator()(const service::SentPart& said) const { return said.bytes.size(); }
  std::uint64_t operator()(const service::ResponsePart& said) const { return said.bytes.size(); }
  std::uint64_t operator()(const service::DroppedFile&) const { return 0; }
  std::uint64_t operator()(const service::Ended&) const { return 0; }
};

// wasmtime's words when the limiter of a store refuses to grow a memory.
constexpr std::string_view kMemoryLimitTrap = "forcing trap when growing memory";

// The exit code that a shell would see; a guest that finished gives its own.
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

}  // namespace

void InstanceManager::Implementation::end_trapped(InstanceRecord& record) {
  std::string message = record.instance->trap_message();
  if (message.find(kMemoryLimitTrap) != std::string::npos) {
    const std::string why = children.why_no_memory(record);
    if (!why.empty()) {
      end(record, EndKind::LimitExceeded, why + "\n" + message, why.substr(0, why.find(':')));
      return;
    }
    end(record, EndKind::LimitExceeded,
        "memory_bytes_max: the program holds " + readable_bytes(record.instance->memory_bytes()) +
            " and wants more than its limit of " + readable_bytes(record.limits.memory_bytes_max) +
            " (--memory-max)\n" + message,
        "memory_bytes_max");
    return;
  }
  end(record, EndKind::Trapped, std::move(message));
}

void InstanceManager::Implementation::end(InstanceRecord& record, EndKind kind, std::string message,
                                          std::string limit) {
  set_timer(record, std::nullopt);
  if (!record.has_waited && record.instance != nullptr) first_run_over(record);
  record.stage = Stage::Ended;
  record.end.kind = kind;
  if (kind != EndKind::Finished) record.end.exit_code = exit_code_of(kind);
  record.end.message = std::move(message);
  record.end.limit = std::move(limit);
  record.end.result = std::move(record.state->result);
  record.ended_ns = parts.clock.now_ns();
  record.end.duration_ns = record.ended_ns - record.launched_ns;
  ++figures.ended_counts[static_cast<std::size_t>(outcome_of(record.end))];
  figures.run_ns.observe(record.end.duration_ns);
  record.figures.calls = record.state->calls;
  record.state->session.flush_streams();
  record.state->drop_untaken();
  if (record.limits.wall_ns_max > 0) {
    wall_ends.erase({record.launched_ns + record.limits.wall_ns_max, record.id});
  }
  const bool had_instance = record.instance != nullptr;
  if (had_instance) {
    record.instance.reset();
    --slot_count;
    record.figures.statistics = parts.control.statistics(record.id);
    const control::InstanceStatistics& used = record.figures.statistics;
    record.end.asked_token_count = used.asked_token_count;
    record.end.computed_token_count = used.computed_token_count;
    record.end.found_token_count = used.found_token_count;
    record.end.opened_token_count = used.opened_token_count;
    record.end.page_count_max = used.page_count_max;
  }
  charge_memory(record);
  memory.end(record.id);
  tenants.end(record.tenant, record.family.memory_bytes_reserved, use_of(record));
  account_end(record);
  children.instance_ended(record);
  if (had_instance) parts.control.end_instance(record.id);
  mark_undelivered(record);
}

void InstanceManager::Implementation::stop(InstanceRecord& record, EndKind kind, std::string reason,
                                           std::string limit) {
  if (record.stage == Stage::Queued) {
    queued.remove(record.tenant, record.id);
    admission.begin(record.tenant);
  }
  if (record.stage == Stage::Ready) ready.remove(record.tenant, record.id);
  if (record.stage == Stage::Background) background.remove(record.tenant, record.id);
  end(record, kind, std::move(reason), std::move(limit));
}

void InstanceManager::Implementation::mark_undelivered(InstanceRecord& record) {
  if (record.undelivered) return;
  record.undelivered = true;
  undelivered.push_back(record.id);
}

// Output to other programs is not limited. Output of the only tenant is not either, nor while the
// device is idle: then it delays no one.
bool InstanceManager::Implementation::shares_output(const InstanceRecord& record) const {
  return !is_child(record) && !parts.control.idle() &&
         tenants.tenants().at(record.tenant).instance_count < records.size();
}

bool InstanceManager::Implementation::may_put_out(const InstanceRecord& record) {
  if (!shares_output(record) || output.shares.may_put_out(record.tenant, parts.clock.now_ns())) {
    return true;
  }
  const std::uint64_t may_ns = output.shares.may_at_ns(record.tenant);
  output.next_ns = std::min(output.next_ns.value_or(may_ns), may_ns);
  return false;
}

// A client that takes no more now is asked again when it is ready.
InstanceManager::Implementation::Delivered InstanceManager::Implementation::deliver(
    InstanceRecord& record) {
  bool any = false;
  std::uint32_t line_count = 0;
  while (const std::optional<service::Said> said = record.state->next_said()) {
    if (std::holds_alternative<service::LogLine>(*said) && ++line_count > kTurnLineCountMax) {
      mark_undelivered(record);  // The rest goes out in the next turn.
      return {.any = any};
    }
    if (!may_put_out(record)) return {.any = any, .must_wait = true};
    const bool is_part = std::holds_alternative<service::SentPart>(*said) ||
                         std::holds_alternative<service::ResponsePart>(*said);
    const std::uint64_t bytes = std::visit(SaidBytes{}, *said);
    if (!record.client->heard(record.id, *said)) return {.any = any};
    record.state->said_taken();
    if (shares_output(record)) output.shares.charge(record.tenant, bytes);
    if (is_part) wake_if_over(record);  // It may have waited for room for another.
    any = true;
  }
  if (record.stage != Stage::Ended) return {.any = any};
  if (!record.client->heard(record.id, service::Ended{record.end})) return {.any = any};
  const control::TenantId tenant = record.tenant;
  memory.leave(record.id);
  records.erase(record.id);
  tenants.leave(tenant);
  admission.leave(tenant, parts.clock.now_ns());
  return {.any = true};
}

// An instance that had output in this turn waits after those that had none.
bool InstanceManager::deliver() {
  Implementation& self = *implementation_;
  bool any = false;
  self.output.next_ns.reset();
  std::vector<InstanceRecord*> waiting;
  std::vector<InstanceRecord*> waiting_last;
  for (const InstanceId id : std::exchange(self.undelivered, {})) {
    InstanceRecord* record = self.find(id);
    QUIRE_CHECK(record != nullptr, "only deliver() forgets an instance");
    record->undelivered = false;
    const Implementation::Delivered outcome = self.deliver(*record);
    if (InstanceRecord* rest = outcome.any ? self.find(id) : nullptr) self.charge_memory(*rest);
    any |= outcome.any;
    if (outcome.must_wait) (outcome.any ? waiting_last : waiting).push_back(record);
  }
  for (const auto* records : {&waiting, &waiting_last}) {
    for (InstanceRecord* record : *records) self.mark_undelivered(*record);
  }
  if (!self.queued.empty()) self.start_queued();
  return any;
}

const EndFigures& InstanceManager::figures_at_end(InstanceId id) const {
  const InstanceRecord* record = implementation_->find(id);
  QUIRE_CHECK(record != nullptr && record->stage == Stage::Ended,
              "it has ended and is still known");
  return record->figures;
}

std::optional<control::TenantId> InstanceManager::tenant_of(InstanceId id) const {
  const InstanceRecord* record = implementation_->find(id);
  return record == nullptr ? std::nullopt : std::optional(record->tenant);
}

bool InstanceManager::has_ended(InstanceId id) const {
  const InstanceRecord* record = implementation_->find(id);
  return record == nullptr || record->stage == Stage::Ended;
}

}  // namespace quire::lifecycle
