#include "main/verbs/serve/server_access.h"

#include <utility>

#include "application/access/key_file.h"

namespace quire {

Result<std::optional<access::KeyRing>> read_server_keys(const std::string& file) {
  if (file.empty()) return std::optional<access::KeyRing>();
  Result<access::KeyRing> ring = access::read_key_file(file);
  if (ring.ok()) return std::optional(std::move(ring).take());
  if (ring.error().code() == ErrorCode::NotFound) {
    return Error(ErrorCode::NotFound, "--keys: " + std::string(ring.error().message()) +
                                          "; quire keys add NAME --keys " + file + " makes it");
  }
  return std::move(ring).take_error().while_("--keys");
}

Result<std::unique_ptr<AccessReload>> AccessReload::create(AccessFiles files,
                                                           server::TellOperator tell) {
  Interrupt interrupt = TRY(Interrupt::create({SIGHUP}));
  return std::unique_ptr<AccessReload>(
      new AccessReload(std::move(interrupt), std::move(files), std::move(tell)));
}

Result<SignalWatch> AccessReload::watch(server::Server& server) {
  return SignalWatch::create(interrupt_, [this, &server] {
    if (files_.keys.empty() && !files_.tls) {
      tell_({"nothing_reloaded", server::Severity::Info,
             "SIGHUP: nothing to read again, since there is neither --keys nor --tls-certificate; "
             "the "
             "server serves on (SIGTERM ends it)"});
    }
    if (!files_.keys.empty()) reload_keys(server);
    if (files_.tls) reload_certificate(server);
  });
}

void AccessReload::reload_certificate(server::Server& server) const {
  Result<std::unique_ptr<server::TlsContext>> tls = server::TlsContext::open(*files_.tls);
  if (!tls.ok()) {
    tell_({"certificate_kept", server::Severity::Error,
           "SIGHUP: the certificate stays as it was: " + std::string(tls.error().message())});
    return;
  }
  server.replace_certificate(std::move(tls).take());
  tell_({"certificate_reloaded", server::Severity::Info,
         "SIGHUP: new connections get the certificate of " + files_.tls->certificate});
}

void AccessReload::reload_keys(server::Server& server) const {
  Result<access::KeyRing> ring = access::read_key_file(files_.keys);
  if (!ring.ok()) {
    tell_({"keys_kept", server::Severity::Error,
           "SIGHUP: the keys stay as they were: " + std::string(ring.error().message())});
    return;
  }
  const std::size_t count = ring.value().entries().size();
  server.replace_keys(std::move(ring).take());
  tell_(
      {"keys_reloaded",
       server::Severity::Info,
       "SIGHUP: " + std::to_string(count) + (count == 1 ? " key" : " keys") + " of " + files_.keys,
       {{"keys", std::uint64_t{count}}}});
}

}  // namespace quire
