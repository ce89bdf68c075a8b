#pragma once
// Link is all that the io thread (sockets) and the engine thread (gateway) share: requests one way,
// frames the other, and two words for each connection.
//
// Thread   as each member says. No push is ever refused and none blocks:
//   requests   the io thread reads a request only while its connection and the server have a slot
//              for it (SocketLimits::pending_*), and the slot is taken until the engine's answer to
//              it, Parked or a reply, was taken out of `frames`. Gone has a slot of its own.
//   frames     so answers have the slots of their requests, and replies to what was parked those
//              that ServiceLimits::waiting_request_count_max and loading_adapter_count_max count,
//              or to a part of a file, the one of its instance. An event is pushed only while its
//              connection has less than unwritten_bytes_max not taken, and is charged at least
//              kFrameOverheadBytes. An HttpAsk has the slot of its connection, which answers it
//              before there is another.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "application/server/adapter_loader.h"
#include "application/server/connection_table.h"
#include "application/server/http_router.h"
#include "application/server/server_limits.h"
#include "base/bounded_queue.h"
#include "base/clock.h"
#include "base/wakeup.h"
#include "service/principal.h"
#include "wire/frames.h"

namespace quire::server {

// The state of one connection that both threads know.
struct Connection {
  explicit Connection(ConnectionId number) : id(number) {}

  const ConnectionId id;
  // The caller of a WebSocket; null for another connection. It is set before the engine hears of
  // the connection, and never changes after that.
  service::PrincipalHandle caller;
  // Charges of the frames that the socket has taken. Added to by the io thread.
  std::atomic<std::uint64_t> written_bytes{0};
  // Set by the engine when it wants to be woken once the socket takes more; reset by the io thread.
  std::atomic<bool> engine_waits{false};

  // The io thread alone uses these: the tenant of the next request, and how many requests the
  // engine has not answered. They count as `pending_tenant`, which may be the tenant of an earlier
  // request.
  control::TenantId tenant{};
  std::uint64_t pending_count = 0;
  control::TenantId pending_tenant{};
};
using ConnectionHandle = std::shared_ptr<Connection>;

// A program whose parts are complete and have the digest that they should have.
struct ProgramBytes {
  std::uint64_t id = 0;  // Of the request with the last part.
  Digest digest{};
  std::vector<std::byte> wasm;
};

// An adapter whose parts are complete, and have the digest that they should have.
struct UploadedAdapter {
  std::uint64_t id = 0;  // Of the request with the last part.
  std::string name;
  AdapterBytes files;
};

// A request to an endpoint, with the first part of its body if that came with the head.
struct HttpRequest {
  const EndpointRule* rule = nullptr;  // Of the router, which outlives the link.
  std::optional<AdapterForm> form;     // The server itself answers, and there is no rule.
  service::PrincipalHandle caller;
  std::string method;
  std::string target;
  std::string lines;  // "name: value\n" for the program, x-request-id among them.
  std::string request_id;
  std::string body;
  bool is_body_whole = false;
  bool awaits_continue = false;
};
// The next part of the body, which an HttpAsk asked for.
struct HttpBodyPart {
  std::string bytes;
  bool is_last = false;
};

struct MetricsRequest {};  // For the page of metrics; the answer is an HttpAnswer.

struct Gone {};  // A connection has ended; the engine answers with Forget.

struct Inbound {
  ConnectionHandle connection;
  std::variant<wire::Request, ProgramBytes, UploadedAdapter, HttpRequest, HttpBodyPart,
               MetricsRequest, Gone>
      body;
  std::uint64_t bytes = 0;  // That count as pending.
};

// A connection with a request to an endpoint gets at most one HttpAsk that is not answered. It gets
// one response, which is an HttpAnswer, or a head, parts and an end.
struct HttpAsk {};  // For the next part of the body.
struct HttpResponseHead {
  std::uint32_t status = 0;
  std::string lines;
};
struct HttpResponsePart {
  std::string bytes;
};
struct HttpResponseEnd {
  bool is_whole = true;  // Else the program ended too early, and the client must see it.
};
using HttpFrame =
    std::variant<HttpAsk, HttpAnswer, HttpResponseHead, HttpResponsePart, HttpResponseEnd>;

struct Parked {};   // The reply comes later, and has no slot of the connection's then.
struct Forget {};   // The connection is no longer known here.
struct Drain {};    // No new work; `connection` is null.
struct Broadcast {  // To all; `connection` is null.
  wire::ServerFrame frame;
};

struct Outbound {
  ConnectionHandle connection;
  std::variant<wire::ServerFrame, HttpFrame, Parked, Forget, Drain, Broadcast> body;
  std::uint64_t charge = 0;  // Of a frame.
  // Of the request that this answers; none: it answers none, or one that was parked.
  std::optional<std::uint64_t> request_bytes;
};

inline constexpr std::uint64_t kFrameOverheadBytes = 256;

class Link {
 public:
  // `instance_count_max`: that the gateway may know of at once.
  Link(const SocketLimits& limits, const ServiceLimits& service, std::uint64_t instance_count_max,
       Wakeup& engine)
      : engine_wakeup(engine),
        requests(limits.pending_request_count_total_max + 2 * connections(limits) +
                 limits.connection_count_max),
        frames(limits.pending_request_count_total_max + 3 * connections(limits) +
               limits.connection_count_max + service.waiting_request_count_max +
               service.loading_adapter_count_max + instance_count_max +
               connections(limits) * (limits.unwritten_bytes_max / kFrameOverheadBytes + 1) +
               kControlCountMax) {}

  Wakeup& engine_wakeup;
  BoundedQueue<Inbound> requests;
  BoundedQueue<Outbound> frames;
  // Lets the io thread look at `frames`. Called by the engine thread; set before both run.
  std::function<void()> wake_io;
  std::atomic<std::uint64_t> connection_count{0};  // Set by the io thread, as are
  std::array<std::atomic<std::uint64_t>, kShedReasonCount>
      shed_counts{};                    // those closed to make room.
  std::atomic<bool> is_loading{false};  // There is no engine yet: all work is refused.
  std::atomic<bool> is_full{false};     // No launch would come in. Set by the engine thread.
  // The keys of the server are of more than one tenant. Set by the thread that replaces them.
  std::atomic<bool> have_keys_several_tenants{false};
  // The server knows more than one tenant, by keys or otherwise. Set by the engine thread.
  std::atomic<bool> are_several_tenants{false};
  std::atomic<std::uint64_t> engine_turn_ns{0};  // When its loop began its last turn, on `clock`.
  const Clock* clock = nullptr;                  // Null: no engine is there yet.
  // Clients may add to it; any thread. Null: no model takes adapters.
  control::AdapterCatalog* adapters = nullptr;

 private:
  static constexpr std::size_t kControlCountMax = 8;  // Drain and Broadcasts.
  // The connections with a place. Up to connection_count_max more were closed to make room, and the
  // engine has not forgotten them yet. Each of these has a Gone and a Forget, and no frames.
  static std::size_t connections(const SocketLimits& limits) {
    return limits.connection_count_max + limits.reserve_count_max;
  }
};

}  // namespace quire::server
