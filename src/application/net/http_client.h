#pragma once
// HttpClient carries requests of programs to servers and brings their responses: values in, events
// out. It resolves names, checks every address, follows redirects and holds the limits; what a
// program may ask for at all was checked before (hostcalls/net_calls.cc) and is checked again here.
//
// One exchange is one request with its redirects and its response. A whole one gives a single event
// Whole. A streamed one gives Head once; each read() gives one Chunk, each write() one Sent. So
// every request has the slot for its answer, and no push blocks.
//
// Thread   engine thread only. The Wakeup notifies of events.
// Errors   start(): Unavailable when all kExchangeCountMax exchanges are in use, or those that the
//          tenant may have (exchange_slots.h). Everything else is an event with an error; after one,
//          every event of that exchange has it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "application/net/exchange_slots.h"
#include "application/net/http_grant.h"
#include "application/net/http_limits.h"
#include "application/net/http_message.h"
#include "base/result.h"
#include "base/server_limits.h"

namespace quire::net {

// Exchanges of all programs together; each may hold a socket and about 200 KiB.
inline constexpr std::size_t kExchangeCountMax =
    default_of<ServerLimit::HttpExchangeCountTotalMax>();

// The owner of an exchange. The client only repeats it.
struct HttpOwner {
  std::uint64_t instance = 0;
  std::uint32_t handle = 0;
};

struct HttpRequest {
  HttpOwner owner;
  control::TenantId tenant{};
  Hop hop;
  std::string body;                         // Sent again where a redirect wants it.
  bool is_streamed = false;                 // The response comes in pieces.
  bool is_body_streamed = false;            // What is written follows; `body` is empty.
  std::optional<std::uint64_t> body_bytes;  // Of a streamed body, where that is known.
  std::vector<HttpGrant> grants;
  HttpLimits limits;
};

enum class HttpEventKind : std::uint8_t { Head, Chunk, Sent, Whole };

struct HttpEvent {
  HttpOwner owner;
  HttpEventKind kind = HttpEventKind::Whole;
  std::optional<Error> error;
  HttpHead head;     // Of Head and Whole.
  std::string body;  // Of Whole; of a Chunk at most kBodyChunkBytesMax, empty at the end.
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;

  virtual Result<ExchangeId> start(HttpRequest request) = 0;
  // For streamed exchanges: one read and one write at a time; the caller waits for their events.
  virtual void read(ExchangeId id) = 0;
  virtual void write(ExchangeId id, std::string bytes) = 0;
  virtual void finish(ExchangeId id) = 0;  // No more is written.
  // Ends it in whatever state. Nothing of it is delivered from now on, and its slot comes free.
  virtual void close(ExchangeId id) = 0;

  virtual std::vector<HttpEvent> take_events() = 0;
  // Exchanges that hold a slot; 0 when nothing is left of any.
  std::size_t live_count() const { return slots_.count(); }
  // The slots that all tenants share.
  ExchangeSlots& slots() { return slots_; }

 protected:
  ExchangeSlots slots_{kExchangeCountMax};
};

}  // namespace quire::net
