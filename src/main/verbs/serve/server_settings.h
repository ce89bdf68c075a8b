#pragma once
// Turns the words of `quire serve` into settings of the server, its tenants and the compiler.
#include <cstdint>
#include <optional>
#include <vector>

#include "application/access/key_ring.h"
#include "application/lifecycle/instance_manager.h"
#include "application/sandbox/compile_process.h"
#include "application/server/server.h"
#include "base/result.h"
#include "cli/options_serve.h"
#include "control/adapters/adapter_registry.h"

namespace quire {

// The address at which the server listens. Errors InvalidArgument: no address, one that other
// machines reach without keys, and names of hosts and origins that are none.
Result<wire::Endpoint> listen_address(const cli::ServeOptions& options);
// How long instances have to end after a signal asked the server to end.
std::uint64_t grace_ns(const cli::ServeOptions& options);
// None: connections are not encrypted.
std::optional<server::TlsFiles> tls_files(const cli::ServeOptions& options);

// Sets the shares of tenants in the bytes that all clients share.
void share_bytes(const std::vector<cli::TenantOptions>& tenants, server::SocketLimits& sockets);

// Sets the limits of tenants on adapters.
void share_adapters(const std::vector<cli::TenantOptions>& tenants,
                    control::AdapterRegistry& adapters);
// Before the model is loaded: the folder of --adapters is there.
Result<void> check_adapters_folder(const cli::ServeOptions& options);
// Sets the weights and limits of the tenants that have their own.
void name_tenants(const std::vector<cli::TenantOptions>& tenants,
                  lifecycle::InstanceManager& manager);
// The limits of programs of those tenants that have limits or grants of their own. InvalidArgument:
// a grant that is none.
Result<server::TenantInstances> tenant_instances(const std::vector<cli::TenantOptions>& tenants,
                                                 const lifecycle::InstanceLimits& others);
// The variables of --env and of --tenant N=env:NAME. Errors are those of read_environment().
Result<server::Environments> environments(const cli::ServeOptions& options);
// The most memory that a program of any tenant may have, in bytes: the runtime keeps so much address
// space for each.
std::uint64_t memory_bytes_max(const server::TenantInstances& tenants,
                               const lifecycle::InstanceLimits& others);
sandbox::CompileLimits compile_limits(const cli::ServeOptions& options);

// The limits and variables of launches.
struct LaunchSettings {
  lifecycle::InstanceLimits limits;  // For programs whose tenant has none of its own in `tenants`.
  server::TenantInstances tenants;
  server::Environments environments;
};
server::ServerOptions server_options(const cli::ServeOptions& options, wire::Endpoint listen,
                                     const server::SocketLimits& sockets, LaunchSettings launches,
                                     server::EndpointTable endpoints,
                                     std::optional<access::KeyRing> keys);

}  // namespace quire
