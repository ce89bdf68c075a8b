#pragma once
// FakeHttpClient is the HttpClient without sockets: servers are scripts, and their time is the
// clock's that it was given. For tests, and for the simulation, where one seed gives one trace.
// Grants, addresses, redirects, limits and decompression are the real ones (Transfer).
//
// Thread   engine thread only, like everything around it there.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "application/net/http_client.h"
#include "application/net/transfer.h"
#include "base/clock.h"

namespace quire::net {

// A server's response to a request for a URL.
struct FakeResponse {
  struct Piece {
    std::uint64_t after_ns = 0;  // Counted from the piece before it.
    std::string bytes = {};
  };
  std::uint64_t after_ns = 0;  // Counted from the end of the request and its body.
  std::uint16_t status = 200;
  std::string headers = {};  // "name: value" lines.
  std::vector<Piece> body = {};
  std::string failure =
      {};  // Not empty: the connection breaks after the last piece, with this error.
};

class FakeHttpClient final : public HttpClient {
 public:
  explicit FakeHttpClient(const Clock& clock) : clock_(clock) {}

  // From now on; a URL without a response refuses connections. `url` as text_of(Url) writes it.
  void respond(const std::string& url, FakeResponse response);
  // Names that are not set have the address 9.9.9.9.
  void set_addresses(const std::string& name, std::vector<IpAddress> addresses);
  // When something happens next, of what waits for time; empty: never.
  std::optional<std::uint64_t> next_event_ns() const;

  Result<ExchangeId> start(HttpRequest request) override;
  void read(ExchangeId id) override;
  void write(ExchangeId id, std::string bytes) override;
  void finish(ExchangeId id) override;
  void close(ExchangeId id) override;
  std::vector<HttpEvent> take_events() override;

  struct Sent {
    Hop hop;
    std::string body;
  };
  // Every request that reached a server whole, in order, redirects included.
  const std::vector<Sent>& sent() const { return sent_; }

 private:
  struct Exchange {
    explicit Exchange(Transfer given) : transfer(std::move(given)) {}
    Transfer transfer;
    std::string body;                        // Of the request, as far as it has come.
    const FakeResponse* response = nullptr;  // Once the request is whole.
    std::size_t piece = 0;  // Of its body, the next; 0 before the head counts as none.
    bool has_head = false;
    std::uint64_t due_ns = 0;  // When the next step is.
  };

  void begin_hop(Exchange& exchange);
  void advance(Exchange& exchange);
  void take_request(Exchange& exchange);
  bool step(Exchange& exchange);

  const Clock& clock_;
  std::uint64_t last_id_ = 0;
  std::map<std::string, std::unique_ptr<FakeResponse>> responses_;
  std::map<std::string, std::vector<IpAddress>> addresses_;
  std::map<ExchangeId, Exchange> exchanges_;
  std::vector<Sent> sent_;
};

}  // namespace quire::net
