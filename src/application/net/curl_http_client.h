#pragma once
// CurlHttpClient is the HttpClient over libcurl: one thread with a curl_multi, and a LookupPool.
//
// libcurl gets the addresses to connect to and never looks them up. It has no proxy, redirects or
// cookies, and only http and https. Every connection is new, so that no request travels on a socket
// that was opened under another program's grants. Before it opens a socket the address is checked
// once more, and once it is connected the peer's.
//
// Owns     the net thread (started with the first exchange), its sockets, the lookups.
// Thread   engine thread; the callbacks of libcurl run on the net thread.
#include <functional>
#include <memory>
#include <string>

#include "application/net/http_client.h"
#include "application/net/resolver.h"
#include "base/clock.h"
#include "base/wakeup.h"

namespace quire::net {

struct CurlHttpParts {
  const Clock& clock;  // Monotonic.
  Wakeup& wakeup;      // Notified when there are events.
  std::shared_ptr<Resolver> resolver = std::make_shared<SystemResolver>();
  AddressPolicy policy = classify;
  std::string ca_file = {};  // Certificates to trust; empty: the system's.
};

class CurlHttpClient final : public HttpClient {
 public:
  explicit CurlHttpClient(CurlHttpParts parts);
  ~CurlHttpClient() override;
  CurlHttpClient(const CurlHttpClient&) = delete;
  CurlHttpClient& operator=(const CurlHttpClient&) = delete;

  Result<ExchangeId> start(HttpRequest request) override;
  void read(ExchangeId id) override;
  void write(ExchangeId id, std::string bytes) override;
  void finish(ExchangeId id) override;
  void close(ExchangeId id) override;
  std::vector<HttpEvent> take_events() override;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace quire::net
