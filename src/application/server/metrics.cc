#include "application/server/metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "application/server/metrics_text.h"
#include "base/check.h"

namespace quire::server {
namespace {

void add_about(MetricsText& page, const ServerSnapshot& snapshot) {
  page.family("quire_build_info", "gauge", "1, with the version of the server as a label.");
  page.sample({{"version", QUIRE_VERSION}}, std::uint64_t{1});
  page.family("quire_model_info", "gauge", "1, for each model that the server has.");
  for (const std::string& each : snapshot.models) {
    page.sample({{"model_name", each}}, std::uint64_t{1});
  }
  page.family("quire_uptime_seconds", "gauge", "Time since the server began.");
  page.seconds({}, snapshot.uptime_ns);
}

void add_requests(MetricsText& page, const ServerSnapshot& snapshot,
                  const lifecycle::RunFigures& runs) {
  const lifecycle::Usage& usage = *snapshot.usage;
  page.gauge(
      "quire_num_requests_running",
      "Program instances that have started and not ended: HTTP requests to endpoints, launches "
      "by clients and by programs.",
      usage.ready_count + usage.background_count + usage.parked_count);
  page.gauge("quire_num_requests_waiting",
             "Launches that wait for a place or for their program to be compiled.",
             usage.queued_count);
  page.family("quire_request_success_total", "counter",
              "Instances that have ended, by how: finished is the only success.");
  for (std::size_t i = 0; i < lifecycle::kOutcomeCount; ++i) {
    page.sample({{"finished_reason", lifecycle::kOutcomeNames[i]}}, runs.ended_counts[i]);
  }
  page.times("quire_request_queue_time_seconds", "Time from a launch to the start of the instance.",
             runs.queue_ns);
  page.times("quire_time_to_first_token_seconds",
             "Time from a launch to the first token, of instances that had one.",
             runs.first_token_ns);
  page.times("quire_e2e_request_latency_seconds", "Time from a launch to the end of the instance.",
             runs.run_ns);
  page.family("quire_instances", "gauge",
              "Instances by what they do now; ended ones have output that was not taken yet.");
  const std::pair<const char*, std::size_t> stages[] = {{"queued", usage.queued_count},
                                                        {"ready", usage.ready_count},
                                                        {"background", usage.background_count},
                                                        {"parked", usage.parked_count},
                                                        {"ended", usage.ended_count}};
  for (const auto& [stage, count] : stages) {
    page.sample({{"stage", stage}}, std::uint64_t{count});
  }
  page.gauge("quire_instances_max", "Limit of instances at once (--instances).",
             snapshot.instance_count_max);
  page.gauge("quire_instances_unattached", "Instances that clients launched and left.",
             snapshot.unattached_count);
  page.counter("quire_launches_total", "Launches by clients and HTTP requests that came in.",
               snapshot.launched_count);
  page.counter("quire_launches_refused_total", "Launches that were refused.",
               snapshot.refused_count);
  page.gauge("quire_programs", "Programs that the server knows.", snapshot.program_count);
  page.gauge("quire_connections", "Connections of clients now.", snapshot.connection_count);
  page.family(
      "quire_connections_shed_total", "counter",
      "Connections that were closed or refused because there were too many, by reason. Without a "
      "known key: stranger_idle (between requests), stranger_head (in a head), address (more than "
      "an address may have). With a known key: keyed_idle (between requests). For all: reserve "
      "(above --connections, without a key that may operate), full.");
  for (std::size_t i = 0; i < kShedReasonCount; ++i) {
    page.sample({{"reason", kShedReasonNames[i]}}, snapshot.shed_counts[i]);
  }
  page.counter("quire_log_lines_dropped_total",
               "Lines of the operator's log that were dropped because standard error did not take "
               "them.",
               snapshot.log_lines_dropped);
}

void add_sandbox(MetricsText& page, const workers::WallReport& wall) {
  page.family("quire_compile_sandbox", "gauge",
              "1, for each part of the sandbox of the process that compiles what clients upload; 0 "
              "if the machine lacks it.");
  for (const workers::Wall each : workers::kWalls) {
    page.sample({{"part", workers::name_of(each)}}, std::uint64_t{wall.stands(each) ? 1u : 0u});
  }
}

// Figures of models with recurrent layers.
void add_states(MetricsText& page, const control::StateStatistics& states) {
  page.gauge("quire_state_slots", "Slots for the states of recurrent layers.", states.slot_count);
  page.gauge("quire_states_kept", "States that can be found, each after a KV page.",
             states.kept_count);
  page.counter("quire_states_used_total", "Kept states that a context went on from.",
               states.used_count);
  page.counter("quire_states_evicted_total", "States that made way for other states.",
               states.evicted_count);
  page.counter("quire_states_saved_total", "States that were stored with a snapshot.",
               states.saved_count);
  page.counter("quire_states_loaded_total", "States that came back from the store.",
               states.loaded_count);
  page.counter("quire_replayed_tokens_total",
               "Tokens in the KV cache that were computed again, because no state was kept after "
               "them.",
               states.replayed_token_count);
}

void add_memory(MetricsText& page, const lifecycle::Usage& usage) {
  page.gauge("quire_program_memory_bytes",
             "Memory that programs have, with what the server keeps for them.",
             usage.program_memory_bytes);
  page.gauge("quire_program_memory_bytes_max", "Limit of this memory (program_memory_bytes_max).",
             usage.program_memory_bytes_max);
}

void add_snapshots(MetricsText& page, const control::StoreStatistics& store) {
  page.gauge("quire_snapshot_bytes", "Bytes of snapshots in the store.", store.snapshot_bytes);
  page.gauge("quire_snapshot_bytes_max", "Limit of these bytes (snapshot_bytes_total_max).",
             store.snapshot_bytes_max);
  page.gauge("quire_store_disk_free_bytes",
             "Bytes that the disk of the store had free at the last save.", store.disk_free_bytes);
  page.gauge("quire_store_disk_reserve_bytes", "Bytes of it that no snapshot is written into.",
             store.disk_reserve_bytes);
}

void add_model_work(MetricsText& page, const control::ControlStatistics& control,
                    const control::ControlHistograms& histograms) {
  const std::uint64_t held = control.page_count - control.page_count_free;
  page.family("quire_kv_cache_usage_perc", "gauge",
              "Share of the KV pages that instances hold, from 0 to 1.");
  page.sample({}, control.page_count == 0
                      ? 0.0
                      : static_cast<double>(held) / static_cast<double>(control.page_count));
  page.family("quire_kv_pages", "gauge",
              "KV pages by state: held by instances, cold (kept to be found again), or free.");
  page.sample({{"state", "held"}}, held);
  page.sample({{"state", "cold"}}, std::uint64_t{control.page_count_cold});
  page.sample({{"state", "free"}},
              std::uint64_t{control.page_count_free - control.page_count_cold});
  page.counter("quire_prefix_cache_queries_total",
               "Tokens of prompts that were looked up in the KV cache.",
               control.prompt_token_count);
  page.counter("quire_prefix_cache_hits_total", "Of these, tokens that were found.",
               control.found_prompt_token_count);
  page.counter(
      "quire_prompt_tokens_total",
      "Tokens that programs gave to the model, without those that go on with what was just "
      "drawn.",
      control.prompt_token_count);
  page.counter("quire_generation_tokens_total",
               "Tokens drawn, and distributions given to programs that draw themselves.",
               control.generated_token_count);
  page.counter("quire_spec_decode_num_draft_tokens_total",
               "Drafts of programs that the model computed: guesses at tokens to come.",
               control.draws.draft_count);
  page.counter("quire_spec_decode_num_accepted_tokens_total",
               "Of these, drafts that were drawn: each saved a step.",
               control.draws.accepted_draft_count);
  page.counter("quire_computed_tokens_total", "Tokens that the model computed.", control.row_count);
  page.counter("quire_num_preemptions_total",
               "Contexts that were suspended so that other contexts got their pages.",
               control.suspension_count);
  page.counter("quire_recomputed_tokens_total", "Tokens that were computed again after that.",
               control.lost_token_count);
  if (control.states.slot_count > 0) add_states(page, control.states);
  if (control.store.snapshot_bytes_max > 0) add_snapshots(page, control.store);
  page.times("quire_inter_token_latency_seconds",
             "Time from one token that the host drew for a context to the next.",
             histograms.inter_token_ns);
  page.sizes("quire_iteration_tokens", "Tokens computed by a batch.", histograms.batch_rows);
  page.times("quire_iteration_seconds", "Time of the device for a batch.", histograms.step_ns);
  page.family("quire_device_busy_seconds_total", "counter", "Time that the device computed.");
  page.seconds({}, control.device_ns);
  page.family("quire_scheduler_seconds_total", "counter", "Time that building batches took.");
  page.seconds({}, control.scheduler_ns);
}

void add_adapters(MetricsText& page, const AdapterFigures& adapters) {
  page.gauge("quire_adapters", "Adapters that are loaded, or were removed and are still in use.",
             adapters.use.count);
  page.gauge("quire_adapter_bytes", "Memory of these adapters.", adapters.use.bytes);
  page.family("quire_adapter_loads_total", "counter",
              "Adapters that clients added while the server ran, by outcome: loaded, refused.");
  page.sample({{"outcome", "loaded"}}, adapters.loaded_count);
  page.sample({{"outcome", "refused"}}, adapters.refused_count);
  page.counter("quire_adapter_removals_total", "Adapters that clients removed.",
               adapters.removed_count);
}

// By the text of the rule, the first ones by name, and the sum of the others.
std::map<std::string, EndpointFigures::Counts> labeled(const EndpointFigures& endpoints) {
  std::map<std::string, const EndpointFigures::Counts*> by_text;
  for (const auto& [rule, counts] : endpoints.counts) by_text.emplace(rule->text(), &counts);
  std::map<std::string, EndpointFigures::Counts> labeled;
  for (const auto& [text, counts] : by_text) {
    const bool has_label = labeled.size() < kLabeledEndpointCountMax;
    EndpointFigures::Counts& sum = labeled[has_label ? text : "other"];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += (*counts)[i];
  }
  return labeled;
}

void add_endpoints(MetricsText& page, const RequestCounts& requests,
                   const EndpointFigures& endpoints) {
  page.gauge("quire_http_requests_open", "HTTP requests to endpoints whose response is not whole.",
             requests.open);
  page.family("quire_http_requests_total", "counter",
              "HTTP requests to endpoints that are over, by endpoint and outcome: ok, client_error "
              "(4xx), server_error, broken (in the middle of the response), abandoned (by the "
              "client), refused (no room to launch the program).");
  for (const auto& [endpoint, counts] : labeled(endpoints)) {
    for (std::size_t i = 0; i < kRequestOutcomeCount; ++i) {
      page.sample({{"endpoint", endpoint}, {"outcome", kRequestOutcomeNames[i]}}, counts[i]);
    }
  }
  page.times("quire_http_time_to_first_byte_seconds",
             "Time from a request to an endpoint to the first byte of the response's body.",
             endpoints.first_byte_ns);
  page.times("quire_http_request_duration_seconds",
             "Time from a request to an endpoint to the end of its response.",
             endpoints.request_ns);
}

// A figure of tenants, by the name that the usage has for it.
struct TenantFamily {
  const char* figure;
  const char* name;
  const char* type;
  const char* help;
  bool is_ns = false;
};
constexpr TenantFamily kTenantFamilies[] = {
    {"instance_count_max", "quire_tenant_instances", "gauge", "Instances of the tenant now."},
    {"page_count_max", "quire_tenant_kv_pages", "gauge", "KV pages that the tenant holds."},
    {"adapter_count_max", "quire_tenant_adapters", "gauge", "Adapters of the tenant."},
    {"adapter_bytes_max", "quire_tenant_adapter_bytes", "gauge", "Memory of these adapters."},
    {"memory_bytes", "quire_tenant_memory_bytes", "gauge", "Memory of the tenant's instances."},
    {"program_memory_bytes", "quire_tenant_program_memory_bytes", "gauge",
     "This memory, and what the server keeps for them: their part of program_memory_bytes_max."},
    {"token_count", "quire_tenant_tokens_total", "counter",
     "Tokens that the tenant's programs asked for, as token_count_max counts them."},
    {"cpu_ns", "quire_tenant_cpu_seconds_total", "counter",
     "Processor time of the tenant's programs, without the model's.", true},
    {"output_bytes", "quire_tenant_output_bytes_total", "counter",
     "Messages, log and files of the tenant's programs."},
    {"http.call_count", "quire_tenant_http_calls_total", "counter",
     "HTTP requests that the tenant's programs sent."},
    {"launched_count", "quire_tenant_launches_total", "counter", "Launches of the tenant."},
    {"refused_count", "quire_tenant_launches_refused_total", "counter",
     "Launches that were refused for a limit of the tenant."}};

std::uint64_t figure_of(const lifecycle::TenantUsage& usage, std::string_view name) {
  for (const hostcalls::LimitUse& each : usage.figures) {
    if (each.name == name) return each.used.value_or(0);
  }
  QUIRE_CHECK(false, "a usage has all figures of its tenants");
  return 0;
}

void add_tenants(MetricsText& page, const std::vector<lifecycle::TenantUsage>& tenants) {
  for (const TenantFamily& family : kTenantFamilies) {
    page.family(family.name, family.type, family.help);
    const auto add = [&](std::string_view tenant, std::uint64_t value) {
      if (family.is_ns) {
        page.seconds({{"tenant", tenant}}, value);
      } else {
        page.sample({{"tenant", tenant}}, value);
      }
    };
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      const std::uint64_t value = figure_of(tenants[i], family.figure);
      if (i < kLabeledTenantCountMax) {
        add(std::to_string(static_cast<std::uint32_t>(tenants[i].tenant)), value);
      } else {
        others += value;
      }
    }
    if (tenants.size() > kLabeledTenantCountMax) add("other", others);
  }
}

}  // namespace

std::string metrics_page(const ServerSnapshot& snapshot, const EndpointFigures& endpoints,
                         const lifecycle::RunFigures& runs,
                         const control::ControlHistograms& histograms) {
  MetricsText page;
  add_about(page, snapshot);
  add_requests(page, snapshot, runs);
  add_memory(page, *snapshot.usage);
  add_sandbox(page, snapshot.compiler_wall);
  add_model_work(page, snapshot.control, histograms);
  add_adapters(page, snapshot.adapters);
  add_endpoints(page, snapshot.requests, endpoints);
  add_tenants(page, snapshot.usage->tenants);
  return page.take();
}

}  // namespace quire::server
