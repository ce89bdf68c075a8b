#pragma once
// SocketServer has the sockets: it accepts connections, answers HTTP, reads frames of WebSockets
// into requests for the engine and writes what the engine says.
//
// Owns     the io thread, the listening socket, the connections and their buffers.
// Thread   open() and the destructor on the main thread; everything else happens on the io thread.
// Errors   of open(): Io when the address cannot be had. What a client does wrong ends its
//          connection at most.
// Bound    SocketLimits; link.h says why no push is refused.
#include <memory>
#include <string>
#include <vector>

#include "application/server/http_router.h"
#include "application/server/link.h"
#include "application/server/log_event.h"
#include "application/server/server_limits.h"
#include "application/server/tls_context.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace quire::server {

// HttpRoutes says what the server answers in addition to its own pages, and to which clients.
struct HttpRoutes {
  EndpointTable endpoints = {};
  std::vector<std::string> allowed_origins = {};
  AccessRules access = {};
  TlsContext* tls = nullptr;  // Null: none. Outlives the server.
};

class SocketServer {
 public:
  // Listens and accepts from here on. `tell` is called on the io thread; `link`
  // outlives the server. `listener`: a socket that listens at the endpoint already.
  static Result<std::unique_ptr<SocketServer>> open(const Endpoint& endpoint, HttpRoutes routes,
                                                    const SocketLimits& limits, Link& link,
                                                    TellOperator tell, Descriptor listener = {});
  // Closes what is open, waiting for clients for a second at most.
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  const Endpoint& endpoint() const;  // With the port that was given for port 0.
  // The listening socket once more, for a server that takes its place.
  Result<Descriptor> listener() const;
  // Any thread. The keys have changed: WebSockets whose key is gone are closed.
  void keys_changed();
  // Any thread; requires `HttpRoutes::tls`, which new connections then get from `tls`.
  void replace_certificate(std::unique_ptr<TlsContext> tls);

 private:
  class Implementation;
  explicit SocketServer(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace quire::server
