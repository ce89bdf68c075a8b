#pragma once
// The keys of `quire serve --keys`: read at the start, and read again on SIGHUP.
#include <memory>
#include <optional>
#include <string>

#include "application/server/log_event.h"
#include "application/server/server.h"
#include "base/result.h"
#include "main/commands/interrupt.h"
#include "main/commands/signal_watch.h"

namespace quire {

// The ring of the file; none without a file. NotFound says how to make one.
Result<std::optional<access::KeyRing>> read_server_keys(const std::string& file);

// SIGHUP gives the server the keys of the file as it is then. A file that cannot be read leaves the keys as
// they are; `tell` reports either.
class KeyReload {
 public:
  // Blocks SIGHUP for this thread and those it starts later; build it before any thread is started.
  static Result<std::unique_ptr<KeyReload>> create(std::string file, server::TellOperator tell);
  // For as long as the watch lives, which the server and this outlive. Until then a SIGHUP waits.
  Result<SignalWatch> watch(server::Server& server);

 private:
  KeyReload(Interrupt interrupt, std::string file, server::TellOperator tell)
      : interrupt_(std::move(interrupt)), file_(std::move(file)), tell_(std::move(tell)) {}
  void reload(server::Server& server) const;

  Interrupt interrupt_;
  const std::string file_;
  const server::TellOperator tell_;
};

}  // namespace quire
