#pragma once
// TlsContext is what TLS needs of a server: its certificate, its key, and which versions it speaks (1.2 and 1.3).
//
// Thread   open() on any; then the io thread's.
// Errors   of open(): InvalidArgument names the file and what OpenSSL says of it.
// <utility> goes first: Asio 1.18 uses std::exchange without including it.
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "base/result.h"

namespace quire::server {

struct TlsFiles {
  std::string certificate;  // PEM: the server's own, then those that lead to a root.
  std::string key;          // PEM, without a password.
};

class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> open(const TlsFiles& files);

  boost::asio::ssl::context& context() { return context_; }

 private:
  TlsContext() : context_(boost::asio::ssl::context::tls_server) {}
  Result<void> load(const TlsFiles& files);

  boost::asio::ssl::context context_;
};

}  // namespace quire::server
