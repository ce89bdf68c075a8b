#include "application/server/status_reply.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/clock.h"
#include "wire/frames.h"

namespace quire::server {
namespace {

constexpr const char* kStages[] = {"queued", "ready", "background", "parked", "ended"};
static_assert(static_cast<int>(lifecycle::Stage::Ended) + 1 == std::size(kStages));

// The largest count on the wire. No count can reach a limit above it, so such a limit is left out.
constexpr std::uint64_t kCountMax = (std::uint64_t{1} << 53) - 1;

service::Figure limited(std::uint64_t used, std::uint64_t maximum) {
  service::Figure figure;
  figure.used = std::min(used, kCountMax);
  if (maximum <= kCountMax) figure.maximum = maximum;
  return figure;
}

service::Figures figures_of(const std::vector<hostcalls::LimitUse>& uses) {
  service::Figures figures;
  for (const hostcalls::LimitUse& each : uses) {
    figures[each.name] = limited(each.used.value(), each.maximum);
  }
  return figures;
}

}  // namespace

service::StatusDetail detail_of(const lifecycle::Usage& usage) {
  service::StatusDetail detail;
  detail.figures = {{"queued_count", {usage.queued_count, {}}},
                    {"ready_count", {usage.ready_count, {}}},
                    {"background_count", {usage.background_count, {}}},
                    {"parked_count", {usage.parked_count, {}}},
                    {"ended_count", {usage.ended_count, {}}}};
  for (const lifecycle::TenantUsage& each : usage.tenants) {
    if (detail.tenants.size() == wire::kToldTenantCountMax) break;
    detail.tenants.push_back(
        {static_cast<std::uint32_t>(each.tenant), each.weight, figures_of(each.figures)});
  }
  for (const lifecycle::InstanceUsage& each : usage.instances) {
    detail.instances.push_back({each.number, static_cast<std::uint32_t>(each.tenant), each.parent,
                                each.program, kStages[static_cast<std::size_t>(each.stage)],
                                figures_of(each.figures)});
  }
  detail.left_out_count = usage.left_out_count;
  return detail;
}

void add_programs(const std::map<std::string, Digest>& programs, service::StatusDetail& detail) {
  for (const auto& [name, digest] : programs) {
    if (detail.programs.size() == wire::kToldProgramCountMax) break;
    detail.programs.push_back({name, digest});
  }
  detail.left_out_program_count = programs.size() - detail.programs.size();
}

namespace {

// For the operator alone: what all tenants share.
void add_figures_of_all(const ServerSnapshot& snapshot, service::StatusDetail& detail) {
  const RequestCounts& requests = snapshot.requests;
  const control::ControlStatistics& control = snapshot.control;
  const AdapterFigures& adapters = snapshot.adapters;
  const service::Figures more = {
      {"request_count", {requests.launched, {}}},
      {"request_open_count", {requests.open, {}}},
      {"request_refused_count", {requests.refused, {}}},
      {"request_abandoned_count", {requests.abandoned, {}}},
      {"batch_count", {control.batch_count, {}}},
      {"pass_count", {control.pass_count, {}}},
      {"row_count", {control.row_count, {}}},
      {"device_ns", {control.device_ns, {}}},
      {"scheduler_ns", {control.scheduler_ns, {}}},
      {"cold_page_count", {control.page_count_cold, {}}},
      {"suspension_count", {control.suspension_count, {}}},
      {"lost_token_count", {control.lost_token_count, {}}},
      {"state_slot_count", {control.states.slot_count, {}}},
      {"kept_state_count", {control.states.kept_count, {}}},
      {"replayed_token_count", {control.states.replayed_token_count, {}}},
      {"adapter_count", {adapters.use.count, {}}},
      {"adapter_bytes", {adapters.use.bytes, {}}},
      {"adapter_loaded_count", {adapters.loaded_count, {}}},
      {"adapter_refused_count", {adapters.refused_count, {}}},
      {"adapter_removed_count", {adapters.removed_count, {}}}};
  detail.figures.insert(more.begin(), more.end());
  const control::StoreStatistics& store = control.store;
  if (store.snapshot_bytes_max > 0) {
    detail.figures["snapshot_bytes_total_max"] =
        limited(store.snapshot_bytes, store.snapshot_bytes_max);
    detail.figures["disk_free_bytes"] = limited(store.disk_free_bytes, kCountMax + 1);
    detail.figures["disk_reserve_bytes"] = limited(store.disk_reserve_bytes, kCountMax + 1);
  }
  detail.figures["program_memory_bytes_max"] =
      limited(snapshot.usage->program_memory_bytes, snapshot.usage->program_memory_bytes_max);
}

}  // namespace

service::Status status_of(const ServerSnapshot& snapshot) {
  service::Status status;
  status.version = QUIRE_VERSION;
  status.models = snapshot.models;
  status.uptime_ms = snapshot.uptime_ns / kMillisecond;
  status.connection_count = snapshot.connection_count;
  status.instance_count = snapshot.instance_count;
  status.instance_count_max = snapshot.instance_count_max;
  status.waiting_count = snapshot.waiting_count;
  status.unattached_count = snapshot.unattached_count;
  status.program_count = snapshot.program_count;
  status.launched_count = snapshot.launched_count;
  status.refused_count = snapshot.refused_count;
  status.page_count = snapshot.control.page_count;
  status.page_count_free = snapshot.control.page_count_free;
  status.computed_token_count = snapshot.control.row_count;
  status.found_token_count = snapshot.control.found_token_count;
  status.batch_count = snapshot.control.batch_count;
  if (snapshot.usage) {
    status.detail = detail_of(*snapshot.usage);
    add_figures_of_all(snapshot, *status.detail);
  }
  return status;
}

service::Status status_about(const lifecycle::Usage& usage) {
  service::Status status;
  status.waiting_count = usage.queued_count;
  for (const lifecycle::TenantUsage& tenant : usage.tenants) {
    const service::Figures figures = figures_of(tenant.figures);
    const auto used = [&](const char* name) {
      const auto found = figures.find(name);
      return found == figures.end() ? service::Figure{} : found->second;
    };
    status.instance_count = used("instance_count_max").used;
    status.instance_count_max = used("instance_count_max").maximum.value_or(0);
    status.launched_count = used("launched_count").used;
    status.refused_count = used("refused_count").used;
  }
  return status;
}

}  // namespace quire::server
