#include "main/commands/server_keys.h"

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

Result<std::unique_ptr<KeyReload>> KeyReload::create(std::string file, server::TellOperator tell) {
  Interrupt interrupt = TRY(Interrupt::create({SIGHUP}));
  return std::unique_ptr<KeyReload>(
      new KeyReload(std::move(interrupt), std::move(file), std::move(tell)));
}

Result<SignalWatch> KeyReload::watch(server::Server& server) {
  return SignalWatch::create(interrupt_, [this, &server] { reload(server); });
}

void KeyReload::reload(server::Server& server) const {
  Result<access::KeyRing> ring = access::read_key_file(file_);
  if (!ring.ok()) {
    tell_({"keys_kept", server::Severity::Error,
           "SIGHUP: the keys stay as they were: " + std::string(ring.error().message())});
    return;
  }
  const std::size_t count = ring.value().entries().size();
  server.replace_keys(std::move(ring).take());
  tell_({"keys_reloaded",
         server::Severity::Info,
         "SIGHUP: " + std::to_string(count) + (count == 1 ? " key" : " keys") + " of " + file_,
         {{"keys", std::uint64_t{count}}}});
}

}  // namespace quire
