// Tenants, and the figures of them and their instances.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "application/lifecycle/manager_implementation.h"
#include "base/check.h"

namespace quire::lifecycle {
namespace {

using hostcalls::LimitUse;

// The limits that an operator sets, and their use.
std::vector<LimitUse> bounds_of(const TenantMeter::Tenant& tenant, std::uint64_t page_count) {
  const TenantLimits& limits = tenant.limits;
  return {{"instance_count_max", limits.instance_count_max, tenant.instance_count},
          {"memory_bytes_max", limits.memory_bytes_max, tenant.memory_bytes_reserved},
          {"page_count_max", limits.page_count_max, page_count},
          {"http.exchange_count_max", limits.http_exchange_count_max,
           tenant.gauge.http_exchange_count}};
}

// Figures without a limit: of instances that live, and of those that ended.
struct TenantSums {
  std::uint64_t page_count = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t held_bytes = 0;
  std::uint64_t charged_bytes = 0;
  InstanceUse use;
};

std::vector<LimitUse> figures_of(const TenantMeter::Tenant& tenant, const TenantSums& sums) {
  InstanceUse use = tenant.ended;
  use += sums.use;
  std::vector<LimitUse> figures = bounds_of(tenant, sums.page_count);
  const std::pair<const char*, std::uint64_t> counts[] = {
      {"memory_bytes", sums.memory_bytes},
      {"held_bytes", sums.held_bytes},
      {"program_memory_bytes", sums.charged_bytes},
      {"cpu_ns", use.cpu_ns},
      {"wall_ns", use.wall_ns},
      {"token_count", use.token_count},
      {"http.call_count", use.http_call_count},
      {"output_bytes", use.output_bytes},
      {"launched_count", tenant.launched_count},
      {"refused_count", tenant.refused_count}};
  for (const auto& [name, count] : counts) figures.push_back({name, kNoLimit, count});
  return figures;
}

// Zero without adapters, so that each tenant has the same figures.
std::vector<LimitUse> adapter_figures(const control::AdapterCatalog* adapters,
                                      control::TenantId tenant) {
  control::AdapterCount use;
  control::AdapterQuota quota;
  if (adapters != nullptr) {
    use = adapters->count_of(tenant);
    quota = adapters->quota_of(tenant);
  }
  return {{"adapter_count_max", quota.count_max ? std::uint64_t{*quota.count_max} : kNoLimit,
           use.count},
          {"adapter_bytes_max", quota.bytes_max.value_or(kNoLimit), use.bytes}};
}

void count_stage(Usage& usage, Stage stage) {
  switch (stage) {
    case Stage::Queued:
      ++usage.queued_count;
      break;
    case Stage::Ready:
      ++usage.ready_count;
      break;
    case Stage::Background:
      ++usage.background_count;
      break;
    case Stage::Waiting:
      ++usage.parked_count;
      break;
    case Stage::Ended:
      ++usage.ended_count;
      break;
  }
}

}  // namespace

// The use of an ended instance is all that it ever used.
InstanceUse InstanceManager::Implementation::use_of(const InstanceRecord& record) const {
  const bool has_ended = record.stage == Stage::Ended;
  const control::InstanceStatistics used =
      has_ended ? record.figures.statistics : parts.control.statistics(record.id);
  const std::uint64_t until_ns = has_ended ? record.ended_ns : parts.clock.now_ns();
  return {.cpu_ns = record.end.cpu_ns,
          .wall_ns = until_ns - record.launched_ns,
          .token_count = used.metered_token_count,
          .http_call_count = record.state->http.call_count(),
          .output_bytes = record.state->output.bytes()};
}

void InstanceManager::Implementation::account(const InstanceRecord& record,
                                              const UsageAmounts& amounts) const {
  if (parts.usage == nullptr || record.caller == nullptr) return;
  parts.usage->add(record.tenant, *record.caller, amounts);
}

void InstanceManager::Implementation::account_end(const InstanceRecord& record) const {
  const control::InstanceStatistics& used = record.figures.statistics;
  account(record, {.tokens_in = used.prompt_token_count,
                   .tokens_out = used.generated_token_count,
                   .wall_ns = record.end.duration_ns});
}

void InstanceManager::Implementation::reserve_memory(InstanceRecord& record, std::uint64_t bytes) {
  tenants.resize(record.tenant, record.family.memory_bytes_reserved, bytes);
  record.family.memory_bytes_reserved = bytes;
}

std::uint64_t InstanceManager::Implementation::tenant_memory_left(const InstanceRecord& record) {
  return tenants.memory_bytes_left(record.tenant);
}

// O(1): programs may ask in a loop.
std::vector<LimitUse> InstanceManager::Implementation::tenant_limits(const InstanceRecord& record) {
  std::vector<LimitUse> all = bounds_of(tenants.tenants().at(record.tenant),
                                        parts.control.statistics(record.id).tenant_page_count);
  for (LimitUse& each : broker.limits(record.tenant)) all.push_back(std::move(each));
  return all;
}

InstanceUsage InstanceManager::Implementation::usage_of(const InstanceRecord& record) const {
  InstanceUsage usage;
  usage.number = parts.numbers.of(record.id);
  usage.parent = parts.numbers.of(children.parent_of(record.id).value_or(InstanceId{}));
  usage.tenant = record.tenant;
  usage.stage = record.stage;
  if (const ProgramStore::Entry* program = programs.find(record.program)) {
    usage.program = program->digest;
  }
  std::vector<LimitUse> all = children.figures(record);
  for (LimitUse& each : all) {
    if (each.name != "memory_bytes_max" || record.instance == nullptr) continue;
    each.used = record.instance->memory_bytes();
  }
  for (LimitUse& each : hostcalls::own_limits(*record.state)) all.push_back(std::move(each));
  for (LimitUse& each : all) {
    if (each.used.value_or(0) > 0) usage.figures.push_back(std::move(each));
  }
  return usage;
}

void InstanceManager::name_tenant(control::TenantId tenant, std::uint32_t weight,
                                  const TenantLimits& limits) {
  QUIRE_CHECK(weight > 0, "a tenant without a share");
  Implementation& self = *implementation_;
  self.tenants.name(tenant, limits);
  self.weights[tenant] = weight;
  self.queued.set_weight(tenant, weight);
  self.memory.set_weight(tenant, weight);
  if (limits.instance_count_max != kNoLimit) {
    self.admission.set_share(tenant, limits.instance_count_max);
  }
  if (self.parts.http != nullptr && limits.http_exchange_count_max != kNoLimit) {
    self.parts.http->slots().set_share(tenant, limits.http_exchange_count_max);
  }
  self.share_among_tenants();
  self.parts.control.set_tenant(
      tenant, {.weight = weight,
               .page_count_max = static_cast<std::uint32_t>(
                   std::min<std::uint64_t>(limits.page_count_max, control::kNoPageCountMax)),
               .snapshot_bytes_max = limits.snapshot_bytes_max});
}

const RunFigures& InstanceManager::run_figures() const {
  return implementation_->figures;
}

bool InstanceManager::is_full() const {
  const Implementation& self = *implementation_;
  const Admission& admission = self.admission;
  if (admission.instance_count() + admission.waiting_count() >= admission.limits().total()) {
    return true;
  }
  if (admission.instance_count() < admission.limits().instance_count_max) return false;
  const std::uint64_t now_ns = self.parts.clock.now_ns();
  return std::ranges::any_of(self.queued.firsts(), [&](const LaunchQueue::Waiter& each) {
    const InstanceRecord& record = *self.records.at(each.id);
    return now_ns - record.launched_ns > kPlaceWaitNsMax &&
           admission.instance_count(each.tenant) < admission.place_share_of(each.tenant);
  });
}

std::uint64_t InstanceManager::tenant_token_count(control::TenantId tenant) const {
  const Implementation& self = *implementation_;
  const auto found = self.tenants.tenants().find(tenant);
  if (found == self.tenants.tenants().end()) return 0;
  std::uint64_t count = found->second.ended.token_count;
  for (const auto& [id, record] : self.records) {
    if (record->tenant != tenant || record->stage == Stage::Ended) continue;
    count += self.parts.control.statistics(id).metered_token_count;
  }
  return count;
}

bool InstanceManager::is_named(control::TenantId tenant) const {
  return implementation_->weights.contains(tenant);
}

Usage InstanceManager::usage(std::size_t instance_count_max,
                             std::optional<control::TenantId> tenant) const {
  const Implementation& self = *implementation_;
  Usage usage;
  usage.program_memory_bytes = self.memory.bytes();
  usage.program_memory_bytes_max = self.memory.bytes_max();
  std::map<control::TenantId, TenantSums> sums;
  std::vector<InstanceId> ids;
  const auto is_left_out = [&](control::TenantId each) { return tenant && *tenant != each; };
  for (const auto& [id, record] : self.records) {
    if (is_left_out(record->tenant)) continue;
    ids.push_back(id);
    TenantSums& sum = sums[record->tenant];
    sum.held_bytes += record->state->held_bytes();  // Of one that has ended, what it said.
    sum.charged_bytes += self.memory.bytes_of(id);
    if (record->stage != Stage::Ended) {
      sum.use += self.use_of(*record);
      sum.page_count += self.parts.control.statistics(id).page_count;
      if (record->instance != nullptr) sum.memory_bytes += record->instance->memory_bytes();
    }
    count_stage(usage, record->stage);
  }
  for (const auto& [id, meter] : self.tenants.tenants()) {
    if (is_left_out(id)) continue;
    const auto weight = self.weights.find(id);
    std::vector<LimitUse> figures = figures_of(meter, sums[id]);
    for (LimitUse& each : self.broker.limits(id)) {
      if (each.used) figures.push_back(std::move(each));
    }
    for (LimitUse& each : adapter_figures(self.parts.adapters, id)) {
      figures.push_back(std::move(each));
    }
    usage.tenants.push_back(
        {id, weight == self.weights.end() ? 1 : weight->second, std::move(figures)});
  }
  std::sort(ids.begin(), ids.end());
  usage.left_out_count = ids.size() - std::min(ids.size(), instance_count_max);
  ids.resize(ids.size() - usage.left_out_count);
  for (const InstanceId id : ids) {
    usage.instances.push_back(self.usage_of(*self.records.at(id)));
  }
  return usage;
}

void InstanceManager::Implementation::verify_tenants() const {
  tenants.verify();
  memory.verify();
  std::uint64_t charged_bytes = 0;
  for (const auto& [id, record] : records) {
    charged_bytes += memory.bytes_of(id);
  }
  QUIRE_CHECK(memory.bytes() == charged_bytes, "M6");
  for (const auto& [id, tenant] : tenants.tenants()) {
    std::uint64_t instance_count = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t exchange_count = 0;
    for (const auto& [instance, record] : records) {
      if (record->tenant != id) continue;
      ++instance_count;
      if (record->stage != Stage::Ended) memory_bytes += record->family.memory_bytes_reserved;
      exchange_count += record->state->http.open_count();
    }
    QUIRE_CHECK(tenant.instance_count == instance_count, "M5");
    QUIRE_CHECK(tenant.memory_bytes_reserved == memory_bytes, "M5");
    QUIRE_CHECK(tenant.gauge.http_exchange_count == exchange_count, "M5");
    QUIRE_CHECK(admission.waiting_count(id) == queued.size_of(id), "M4");
  }
}

}  // namespace quire::lifecycle
