#include "application/server/server.h"

#include <utility>

#include "application/server/socket_server.h"
#include "base/check.h"

namespace quire::server {

Server::Server(const ServerParts& parts, const ServerOptions& options)
    : loop_(parts.loop),
      turn_ns_max_(engine_turn_ns_max(options.service)),
      link_(options.sockets, options.service, parts.manager.admission_limits().total(),
            parts.engine_wakeup),
      gateway_({.manager = parts.manager,
                .loop = parts.loop,
                .control = parts.control,
                .link = link_,
                .clock = parts.clock,
                .random = parts.random,
                .tell = parts.tell,
                .tells_requests = parts.tells_requests,
                .shows_errors = parts.shows_errors,
                .log_lines_dropped = parts.log_lines_dropped,
                .adapters = parts.adapters,
                .compiler_wall = parts.compiler_wall},
               options.sockets, options.service) {
  link_.clock = &parts.clock;
  link_.adapters = parts.adapters.catalog;
  if (options.keys) {
    keys_ = std::make_unique<access::KeyHolder>(*options.keys, parts.wall_clock, parts.key_uses);
    link_.have_keys_several_tenants = options.keys->has_several_tenants();
  }
}

Result<std::unique_ptr<Server>> Server::open(const ServerParts& parts, const ServerOptions& options,
                                             std::unique_ptr<EarlyServer> early) {
  TRY(check_exposure(options.listen, options.keys.has_value()));
  std::unique_ptr<Server> server(new Server(parts, options));
  if (options.tls) server->tls_ = TRY(TlsContext::open(*options.tls));
  SocketLimits sockets = options.sockets;
  sockets.program_bytes_max = parts.manager.program_bytes_max();
  sockets.engine_turn_ns_max = server->turn_ns_max_;
  server->link_.engine_turn_ns = parts.clock.now_ns();
  server->link_.is_loading = early != nullptr;  // Until set_ready().
  Descriptor listener;
  Endpoint listen = options.listen;
  if (early != nullptr) {
    listener = TRY(early->listener());
    listen = early->endpoint();
    early.reset();  // It answers what it has read; the socket goes on listening.
  }
  server->sockets_ =
      TRY(SocketServer::open(listen,
                             {options.endpoints,
                              options.allowed_origins,
                              {server->keys_.get(), options.allowed_hosts, options.tls.has_value()},
                              server->tls_.get()},
                             sockets, server->link_, parts.tell, std::move(listener)));
  parts.loop.set_door(&server->gateway_);
  return server;
}

Server::~Server() {
  loop_.set_door(nullptr);
}

void Server::replace_keys(access::KeyRing keys) {
  QUIRE_CHECK(keys_ != nullptr, "a server without keys gets none later");
  link_.have_keys_several_tenants = keys.has_several_tenants();
  keys_->replace(std::move(keys));
  sockets_->keys_changed();
}

void Server::replace_certificate(std::unique_ptr<TlsContext> tls) {
  QUIRE_CHECK(tls_ != nullptr, "a server without TLS gets none later");
  sockets_->replace_certificate(std::move(tls));
}

const Endpoint& Server::endpoint() const {
  return sockets_->endpoint();
}

}  // namespace quire::server
