#include "application/server/gateway.h"

#include <algorithm>
#include <span>

#include "application/server/metrics.h"
#include "application/server/metrics_text.h"

namespace quire::server {
namespace {

constexpr int kTakeCountPerLook = 8;                    // Requests between looks at the clock.
constexpr std::uint64_t kLastOutputNs = 1'000'000'000;  // For clients to take it at a shutdown.

}  // namespace

Gateway::Gateway(const GatewayParts& parts, const SocketLimits& sockets,
                 const ServiceLimits& limits)
    : parts_(parts),
      limits_(limits),
      outlet_(parts.link, sockets),
      programs_(parts.manager, limits.program_name_count_max),
      rates_(limits.tenant_rates,
             [&manager = parts.manager](control::TenantId tenant) {
               return manager.tenant_token_count(tenant);
             }),
      adapters_(parts, limits),
      clients_(parts, outlet_, programs_, sockets, limits, requests_, rates_, adapters_),
      endpoints_(parts, outlet_, programs_, limits, requests_, rates_, adapters_,
                 [this] { return metrics(); }) {}

HttpAnswer Gateway::metrics() const {
  ServerSnapshot snapshot = clients_.snapshot(0);
  snapshot.compiler_wall = parts_.compiler_wall;
  if (parts_.log_lines_dropped) snapshot.log_lines_dropped = parts_.log_lines_dropped();
  return {.status = 200,
          .body = metrics_page(snapshot, endpoints_.figures(), parts_.manager.run_figures(),
                               parts_.control.histograms()),
          .content_type = kMetricsContentType};
}

Result<void> Gateway::name_program(const std::string& name, lifecycle::ProgramId program,
                                   const Digest& digest) {
  return programs_.name_by_operator(name, program, digest);
}

Result<void> Gateway::name_endpoint_program(const std::string& name, lifecycle::ProgramId program,
                                            const Digest& digest) {
  programs_.note_operators(digest);
  return programs_.name_replaceable(name, program, digest);
}

void Gateway::replace_program(std::string name, std::string wasm) {
  {
    const std::lock_guard lock(replacements_mutex_);
    replacements_.push_back({std::move(name), std::move(wasm)});
  }
  has_replacements_.store(true);
  parts_.link.engine_wakeup.notify();
}

bool Gateway::turn_replacements() {
  if (!has_replacements_.exchange(false)) return false;
  std::vector<Replacement> replacements;
  {
    const std::lock_guard lock(replacements_mutex_);
    replacements.swap(replacements_);
  }
  for (const Replacement& each : replacements) {
    const auto wasm = std::as_bytes(std::span(each.wasm));
    const Result<lifecycle::ProgramId> loaded = parts_.manager.load_program(wasm);
    if (!loaded.ok()) {
      parts_.tell({"program_kept",
                   Severity::Error,
                   "the program " + each.name + " stays as it was: its new module " +
                       "cannot be used: " + std::string(loaded.error().message()),
                   {{"program", each.name}}});
      continue;
    }
    programs_.replace_by_operator(each.name, loaded.value(), sha256(wasm));
    parts_.tell({"program_replaced",
                 Severity::Info,
                 "the program " + each.name +
                     " was replaced: the next request gets the new one, and those that run finish "
                     "with the old one",
                 {{"program", each.name}}});
  }
  return true;
}

void Gateway::request_shutdown() {
  shutdown_requests_.fetch_add(1);
  parts_.link.engine_wakeup.notify();
}

bool Gateway::take_requests() {
  bool any = turn_shutdown();
  any |= turn_replacements();
  parts_.manager.set_several_tenants(
      parts_.link.have_keys_several_tenants.load(std::memory_order_relaxed));
  const std::uint64_t start_ns = parts_.clock.now_ns();
  parts_.link.engine_turn_ns.store(start_ns, std::memory_order_relaxed);
  int count = 0;
  while (std::optional<Inbound> inbound = parts_.link.requests.try_pop()) {
    if (endpoints_.takes(*inbound)) {
      endpoints_.handle(*inbound);
    } else {
      clients_.handle(*inbound);
    }
    any = true;
    if (++count % kTakeCountPerLook == 0 && parts_.clock.now_ns() - start_ns > kTakeNsMax) break;
  }
  parts_.link.are_several_tenants.store(parts_.manager.knows_several_tenants(),
                                        std::memory_order_relaxed);
  parts_.link.is_full.store(parts_.manager.is_full(), std::memory_order_relaxed);
  any |= adapters_.turn(parts_.manager.knows_several_tenants());
  any |= clients_.turn();
  any |= endpoints_.turn();
  hand_out();  // Replies leave before any guest runs.
  return any;
}

std::optional<std::uint64_t> Gateway::next_timer_ns() const {
  std::optional<std::uint64_t> next = clients_.next_timer_ns();
  if (stage_ == Stage::Draining || stage_ == Stage::Stopping) {
    next = std::min(next.value_or(stage_deadline_ns_), stage_deadline_ns_);
  }
  return next;
}

bool Gateway::turn_shutdown() {
  const std::uint32_t requests = shutdown_requests_.load();
  if (requests == 0 || stage_ == Stage::Closed) return false;
  const std::uint64_t now_ns = parts_.clock.now_ns();
  const std::size_t count = parts_.manager.live_count();
  const std::string instances = std::to_string(count) + (count == 1 ? " instance" : " instances");
  if (stage_ == Stage::Serving) {
    stage_ = Stage::Draining;
    clients_.refuse_launches();
    endpoints_.refuse_launches();
    adapters_.refuse_loads();
    stage_deadline_ns_ = now_ns + nanoseconds_of(limits_.grace);
    outlet_.push_control({nullptr, Drain{}, 0, std::nullopt});
    outlet_.push_control(
        {nullptr, Broadcast{wire::ShutdownEvent{static_cast<std::uint64_t>(limits_.grace.count())}},
         0, std::nullopt});
    std::string text = "shutting down";
    if (count > 0) {
      text += ": waiting for " + instances + ", at most " + std::to_string(limits_.grace.count()) +
              " ms; a second signal stops them at once";
    }
    parts_.tell({"shutdown",
                 Severity::Info,
                 std::move(text),
                 {{"instances", std::uint64_t{count}},
                  {"grace_ms", static_cast<std::uint64_t>(limits_.grace.count())}}});
  }
  if (stage_ == Stage::Draining) {
    if (count > 0 && requests < 2 && now_ns < stage_deadline_ns_) return false;
    if (count > 0) {
      parts_.tell({"stopping",
                   Severity::Warning,
                   "stopping " + instances,
                   {{"instances", std::uint64_t{count}}}});
    }
    stage_ = Stage::Stopping;
    stage_deadline_ns_ = now_ns + kLastOutputNs;
    clients_.stop_all("the server is shutting down");
    endpoints_.stop_all("the server is shutting down");
    return true;
  }
  if (count == 0) {
    stage_ = Stage::Closed;
    parts_.loop.stop();
    return true;
  }
  if (now_ns < stage_deadline_ns_) return false;
  parts_.tell({"output_lost",
               Severity::Warning,
               "the last output of " + instances + " was not taken by their clients",
               {{"instances", std::uint64_t{count}}}});
  clients_.discard_all();
  endpoints_.discard_all();
  stage_deadline_ns_ = UINT64_MAX;
  return true;
}

}  // namespace quire::server
