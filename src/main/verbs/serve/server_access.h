#pragma once
// The keys and the certificate of `quire serve`: read at the start, and read again on SIGHUP.
#include <memory>
#include <optional>
#include <string>

#include "application/server/log_event.h"
#include "application/server/server.h"
#include "base/result.h"
#include "main/verbs/serve/signal_watch.h"
#include "main/verbs/shared/interrupt.h"

namespace quire {

// The ring of the file; none without a file. NotFound says how to make one.
Result<std::optional<access::KeyRing>> read_server_keys(const std::string& file);

struct AccessFiles {
  std::string keys;                          // Empty: none.
  std::optional<server::TlsFiles> tls = {};  // None: no TLS.
};

// SIGHUP gives the server the keys and the certificate of the files as they are then. A file that
// cannot be used leaves what the server has; `tell` reports either. A server without such files
// serves on: SIGHUP also comes when a terminal closes, which must not cut requests.
class AccessReload {
 public:
  // Blocks SIGHUP for this thread and those it starts later; build it before any thread is started.
  static Result<std::unique_ptr<AccessReload>> create(AccessFiles files, server::TellOperator tell);
  // For as long as the watch lives, which the server and this outlive. Until then a SIGHUP waits.
  Result<SignalWatch> watch(server::Server& server);

 private:
  AccessReload(Interrupt interrupt, AccessFiles files, server::TellOperator tell)
      : interrupt_(std::move(interrupt)), files_(std::move(files)), tell_(std::move(tell)) {}
  void reload_keys(server::Server& server) const;
  void reload_certificate(server::Server& server) const;

  Interrupt interrupt_;
  const AccessFiles files_;
  const server::TellOperator tell_;
};

}  // namespace quire
