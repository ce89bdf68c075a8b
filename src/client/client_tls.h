#pragma once
// ClientTls is what a client needs of TLS: whom it trusts. That is whom the system trusts, or who is in the file
// that SSL_CERT_FILE names (or the folder, SSL_CERT_DIR), as with other clients of OpenSSL.
//
// Thread   that of the connection.
// <utility> goes first: Asio 1.18 uses std::exchange without including it.
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace quire::client {

class ClientTls {
 public:
  // Internal with OpenSSL's words where it cannot be made.
  static Result<std::unique_ptr<ClientTls>> create();

  boost::asio::ssl::context& context() { return context_; }

 private:
  ClientTls() : context_(boost::asio::ssl::context::tls_client) {}

  boost::asio::ssl::context context_;
};

// Before the handshake: the certificate must be for `host`, a name or an address.
Result<void> expect_host(SSL* tls, const std::string& host);
// After a handshake that failed: what was wrong with the server's certificate, and the next step. None: nothing was.
std::optional<std::string> certificate_fault(SSL* tls);

}  // namespace quire::client
