#pragma once
// EarlyServer has the server's address while the model loads: so a taken port is an error before that,
// and a probe learns that the process lives and is not ready. Server::open() takes its place at the same
// socket, so there is no moment at which nothing listens.
//
// Thread   that of SocketServer.
// Errors   of open(): those of SocketServer and TlsContext.
#include <memory>
#include <optional>
#include <string>

#include "application/server/link.h"
#include "application/server/log_event.h"
#include "application/server/socket_server.h"
#include "application/server/tls_context.h"
#include "base/wakeup.h"

namespace quire::server {

class EarlyServer {
 public:
  static Result<std::unique_ptr<EarlyServer>> open(const Endpoint& listen,
                                                   const SocketLimits& limits,
                                                   const std::optional<TlsFiles>& tls,
                                                   TellOperator tell) {
    std::unique_ptr<EarlyServer> early(new EarlyServer(limits));
    HttpRoutes routes;
    if (tls) early->tls_ = TRY(TlsContext::open(*tls));
    routes.tls = early->tls_.get();
    early->sockets_ =
        TRY(SocketServer::open(listen, std::move(routes), limits, early->link_, std::move(tell)));
    return early;
  }

  const Endpoint& endpoint() const { return sockets_->endpoint(); }
  Result<Descriptor> listener() const { return sockets_->listener(); }

 private:
  explicit EarlyServer(const SocketLimits& limits) : link_(limits, {}, 0, wakeup_) {
    link_.is_loading = true;
  }

  Wakeup wakeup_;  // Nothing is sent to an engine, so nothing waits for it.
  Link link_;
  std::unique_ptr<TlsContext> tls_;  // Null: none.
  std::unique_ptr<SocketServer> sockets_;
};

}  // namespace quire::server
