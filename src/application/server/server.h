#pragma once
// Server is sockets, gateway and the link between them: open() and clients may come, until
// gateway().request_shutdown() has ended the engine's loop.
//
// Owns     the io thread and all of the connections.
// Thread   built and destroyed on the engine thread, while the loop does not run.
// Errors   PermissionDenied for an address that others can reach, without keys; Io for one that cannot be had;
//          those of TlsContext.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "application/access/key_ring.h"
#include "application/access/key_uses.h"
#include "application/server/early_server.h"
#include "application/server/engine_pulse.h"
#include "application/server/gateway.h"
#include "application/server/http_router.h"
#include "application/server/log_event.h"
#include "application/server/server_limits.h"
#include "application/server/tls_context.h"
#include "base/result.h"

namespace quire::server {

struct ServerOptions {
  Endpoint listen{"127.0.0.1", 0};
  SocketLimits sockets;
  ServiceLimits service;
  EndpointTable endpoints;
  std::vector<std::string> allowed_origins;
  std::optional<access::KeyRing> keys = {};  // None: each client is the operator.
  std::vector<std::string> allowed_hosts = {};
  std::optional<TlsFiles> tls = {};
};

// main() builds these parts and passes them in. All of them outlive the server.
struct ServerParts {
  lifecycle::InstanceManager& manager;
  lifecycle::EngineLoop& loop;
  control::ControlPort& control;
  Wakeup& engine_wakeup;
  const Clock& clock;
  RandomSource& random;
  const WallClock& wall_clock;  // By which keys expire.
  TellOperator tell;
  bool tells_requests = false;  // As of GatewayParts.
  bool shows_errors = false;    // The same.
  std::function<std::uint64_t()> log_lines_dropped = {};
  ClientAdapters adapters = {};
  workers::WallReport compiler_wall = {};
  access::KeyUses* key_uses = nullptr;  // Null: the uses of keys are not noted.
};

class Server {
 public:
  // In the place of `early`, if that has the address already; it then takes no work until set_ready().
  static Result<std::unique_ptr<Server>> open(const ServerParts& parts,
                                              const ServerOptions& options,
                                              std::unique_ptr<EarlyServer> early = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The programs have names, and the engine's loop is about to run.
  void set_ready() {
    link_.engine_turn_ns = link_.clock->now_ns();
    link_.is_loading = false;
  }
  // Any thread. A series of probes of its own asks whether the engine turns.
  bool is_live(EnginePulse& pulse) const {
    return !pulse.finds_stalled(link_.engine_turn_ns.load(std::memory_order_relaxed),
                                link_.clock->now_ns(), turn_ns_max_);
  }
  const Endpoint& endpoint() const;  // With the port that was given for port 0.
  Gateway& gateway() { return gateway_; }
  // Any thread; requires that the server has keys. From here on these are the keys.
  void replace_keys(access::KeyRing keys);
  // Any thread; requires that the server has TLS. Connections that are accepted from here on get it.
  void replace_certificate(std::unique_ptr<TlsContext> tls);

 private:
  Server(const ServerParts& parts, const ServerOptions& options);

  lifecycle::EngineLoop& loop_;
  const std::uint64_t turn_ns_max_;
  Link link_;
  Gateway gateway_;
  std::unique_ptr<access::KeyHolder> keys_;
  std::unique_ptr<TlsContext> tls_;
  std::unique_ptr<class SocketServer> sockets_;
};

}  // namespace quire::server
