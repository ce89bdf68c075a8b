#include "main/verbs/serve/server_settings.h"

#include <algorithm>
#include <chrono>

#include "application/net/http_grant.h"
#include "base/clock.h"
#include "base/folder.h"
#include "main/verbs/shared/environment.h"
#include "main/verbs/shared/instance_limits.h"

namespace quire {
namespace {

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

access::TenantRateLimits tenant_rates(const std::vector<cli::TenantOptions>& tenants) {
  access::TenantRateLimits rates;
  for (const cli::TenantOptions& each : tenants) {
    const access::RateLimits limits{each.requests_per_minute, each.launches_per_minute,
                                    each.tokens_per_minute};
    if (limits != access::RateLimits()) rates.emplace(control::TenantId{each.tenant}, limits);
  }
  return rates;
}

Result<void> check_names(const cli::AllowedNames& allowed) {
  for (const std::string& each : allowed.hosts) {
    Result<void> is_host = server::check_host_name(each);
    if (!is_host.ok()) return std::move(is_host).take_error().while_("--allow-host");
  }
  for (const std::string& each : allowed.origins) {
    Result<void> is_origin = server::check_origin(each);
    if (!is_origin.ok()) return std::move(is_origin).take_error().while_("--allow-origin");
  }
  return {};
}

}  // namespace

std::uint64_t grace_ns(const cli::ServeOptions& options) {
  return static_cast<std::uint64_t>(milliseconds(options.grace_seconds).count()) * kMillisecond;
}

void share_bytes(const std::vector<cli::TenantOptions>& tenants, server::SocketLimits& sockets) {
  for (const cli::TenantOptions& each : tenants) {
    const control::TenantId tenant{each.tenant};
    if (each.upload_bytes_max) sockets.upload_shares[tenant] = *each.upload_bytes_max;
    if (each.partial_frame_bytes_max) {
      sockets.partial_frame_shares[tenant] = *each.partial_frame_bytes_max;
    }
  }
}

void share_adapters(const std::vector<cli::TenantOptions>& tenants,
                    control::AdapterRegistry& adapters) {
  for (const cli::TenantOptions& each : tenants) {
    control::AdapterQuota quota;
    if (each.adapter_count_max) {
      quota.count_max = static_cast<std::uint32_t>(*each.adapter_count_max);
    }
    quota.bytes_max = each.adapter_bytes_max;
    if (each.adapter_rank_max) quota.rank_max = static_cast<std::uint32_t>(*each.adapter_rank_max);
    if (quota != control::AdapterQuota()) adapters.set_quota(control::TenantId{each.tenant}, quota);
  }
}

Result<void> check_adapters_folder(const cli::ServeOptions& options) {
  if (options.adapters_folder.empty()) return {};
  Result<Folder> folder = Folder::open(options.adapters_folder);
  if (!folder.ok()) return std::move(folder).take_error().while_("--adapters");
  return {};
}

void name_tenants(const std::vector<cli::TenantOptions>& tenants,
                  lifecycle::InstanceManager& manager) {
  for (const cli::TenantOptions& each : tenants) {
    manager.name_tenant(
        control::TenantId{each.tenant}, each.weight,
        {.instance_count_max = each.instance_count_max.value_or(lifecycle::kNoLimit),
         .memory_bytes_max = each.memory_bytes_max.value_or(lifecycle::kNoLimit),
         .page_count_max = each.page_count_max.value_or(lifecycle::kNoLimit),
         .http_exchange_count_max = each.http_exchange_count_max.value_or(lifecycle::kNoLimit),
         .snapshot_bytes_max = each.snapshot_bytes_max});
  }
}

Result<server::TenantInstances> tenant_instances(const std::vector<cli::TenantOptions>& tenants,
                                                 const lifecycle::InstanceLimits& others) {
  server::TenantInstances own;
  for (const cli::TenantOptions& each : tenants) {
    if (each.limits.empty() && each.allow_http.empty()) continue;
    lifecycle::InstanceLimits limits = others;
    set_limits(limits, each.limits);
    if (!each.allow_http.empty()) {
      Result<std::vector<net::HttpGrant>> grants =
          net::parse_http_grants(each.allow_http, each.tenant);
      if (!grants.ok()) {
        return std::move(grants).take_error().while_("--tenant " + std::to_string(each.tenant) +
                                                     "=allow-http");
      }
      limits.guest.http_grants = std::move(grants).take();
    }
    own.emplace(control::TenantId{each.tenant}, std::move(limits));
  }
  return own;
}

Result<server::Environments> environments(const cli::ServeOptions& options) {
  server::Environments all;
  all.of_operators = TRY(read_environment(options.instance.env));
  for (const cli::TenantOptions& each : options.tenants) {
    if (each.env.empty()) continue;
    all.of_tenants[control::TenantId{each.tenant}] =
        TRY(read_environment(each.env, "--tenant " + std::to_string(each.tenant) + "=env"));
  }
  return all;
}

std::uint64_t memory_bytes_max(const server::TenantInstances& tenants,
                               const lifecycle::InstanceLimits& others) {
  std::uint64_t most = others.memory_bytes_max;
  for (const auto& [tenant, limits] : tenants) most = std::max(most, limits.memory_bytes_max);
  return most;
}

server::ServerOptions server_options(const cli::ServeOptions& options, wire::Endpoint listen,
                                     const server::SocketLimits& sockets, LaunchSettings launches,
                                     server::EndpointTable endpoints,
                                     std::optional<access::KeyRing> keys) {
  server::ServerOptions server;
  server.listen = std::move(listen);
  server.sockets = sockets;
  server.service.grace = milliseconds(options.grace_seconds);
  server.service.keep = milliseconds(options.keep_seconds);
  server.service.tenant_instances = std::move(launches.tenants);
  server.service.environments = std::move(launches.environments);
  server.service.tenant_rates = tenant_rates(options.tenants);
  server.service.instance = std::move(launches.limits);
  server.endpoints = std::move(endpoints);
  server.allowed_origins = options.allowed.origins;
  server.allowed_hosts = options.allowed.hosts;
  server.keys = std::move(keys);
  server.tls = tls_files(options);
  return server;
}

sandbox::CompileLimits compile_limits(const cli::ServeOptions& options) {
  constexpr std::uint32_t kWallShare = 4;  // The rest of the time is for who wants the cores too.
  sandbox::CompileLimits limits;
  limits.memory_bytes_max = options.compile.memory_bytes_max;
  limits.cpu_seconds_max = options.compile.seconds_max;
  limits.requires_wall = options.compile.sandbox == cli::CompileSandbox::Require;
  limits.is_of_one_module = !options.keys_file.empty();  // Clients do not trust one another.
  limits.wall_max = std::chrono::seconds(std::uint64_t{options.compile.seconds_max} * kWallShare);
  return limits;
}

std::optional<server::TlsFiles> tls_files(const cli::ServeOptions& options) {
  if (options.tls.certificate.empty()) return std::nullopt;
  return server::TlsFiles{options.tls.certificate, options.tls.key};
}

Result<wire::Endpoint> listen_address(const cli::ServeOptions& options) {
  Result<wire::Endpoint> listen = wire::parse_endpoint(options.listen);
  if (!listen.ok()) return std::move(listen).take_error().while_("--listen");
  Result<void> may_listen = server::check_exposure(listen.value(), !options.keys_file.empty());
  if (!may_listen.ok()) return std::move(may_listen).take_error().while_("--listen");
  TRY(check_names(options.allowed));
  return listen;
}

}  // namespace quire
