#pragma once
// Session is one connection to the server. It begins as an HttpSession, and a request may turn it into
// a WebSocketSession; either knows bytes and frames, and no programs.
//
// Owns     its socket, buffers and timers.
// Thread   io thread only.
// Errors   of the socket or the client end the session, which calls SessionHost::closed().
// <utility> goes first: Asio 1.18 uses std::exchange without including it.
#include <utility>

#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "application/server/connection_table.h"
#include "application/server/engine_pulse.h"
#include "application/server/http_router.h"
#include "application/server/link.h"
#include "application/server/server_limits.h"
#include "application/server/upload_buffer.h"
#include "transport/connection_stream.h"

namespace quire::server {

using transport::ConnectionStream;
using transport::Socket;

inline constexpr std::uint64_t kFullRetryMs = 1'000;  // After which a full server may have room.

// How the key of a connection came to its end: it is in the ring no longer, or its time is over.
enum class KeyGone : std::uint8_t { Revoked, Expired };

class Session;
using SessionHandle = std::shared_ptr<Session>;

// SessionHost is what all sessions of a server share, and what they ask of it.
class SessionHost {
 public:
  SessionHost(const SocketLimits& given, Link& to)
      : limits(given),
        link(to),
        uploads({given.upload_bytes_total_max, given.upload_idle_time_max}),
        partial_frames({given.partial_frame_bytes_total_max, {}}),
        pending_counts(given.pending_request_count_total_max + kBeyond),
        pending_bytes(given.pending_request_bytes_total_max + kBeyond) {
    for (const auto& [tenant, bytes] : given.upload_shares) uploads.set_share(tenant, bytes);
    for (const auto& [tenant, bytes] : given.partial_frame_shares) {
      partial_frames.set_share(tenant, bytes);
    }
    share_among_tenants();
  }
  virtual ~SessionHost() = default;

  // There is a slot for it, which has_slot() and the session's own limits said.
  virtual void send(Inbound inbound) = 0;
  // Has the session resumed once there are slots again.
  virtual void pause(const SessionHandle& session) = 0;
  // The connection goes on as `next`, which has its socket.
  virtual void upgraded(const SessionHandle& next) = 0;
  // A client at the other end of the socket has shown a key that was refused.
  virtual void key_refused(const RefusedKey& key, const Socket& socket) = 0;
  // Nothing more comes of the session.
  virtual void closed(const Session& session) = 0;

  // Whether the tenant may have another request that the engine has not looked at yet.
  bool has_slot(control::TenantId tenant) const {
    return pending_counts.count_of(tenant) < pending_counts.share_of(tenant, kBeyond) &&
           pending_bytes.count_of(tenant) < pending_bytes.share_of(tenant, kBeyond);
  }
  // Divides what all connections share if the server knows more than one tenant. To be called
  // before the answer matters: tenants come with keys, and by programs that were launched.
  void share_among_tenants() {
    const bool are_several = link.are_several_tenants.load(std::memory_order_relaxed);
    uploads.set_several(are_several);
    partial_frames.set_several(are_several);
    pending_counts.set_several(are_several);
    pending_bytes.set_several(are_several);
  }

  const SocketLimits limits;
  Link& link;
  // An id for a request whose client gives none. It is random, so that no two requests share one.
  virtual std::string new_request_id() = 0;

  // The readiness for a request of this path, without a query. A request for the health also asks
  // the engine's pulse.
  Readiness readiness(std::string_view path) {
    if (link.is_loading.load()) return Readiness::Loading;
    if (is_stalled(path)) return Readiness::Stalled;
    if (is_shutting_down) return Readiness::ShuttingDown;
    return link.is_full.load() ? Readiness::Full : Readiness::Ready;
  }

  bool has_expired(const service::Principal& caller) const {
    return keys != nullptr && keys->has_expired(caller);
  }

  void note_use(const service::Principal& caller) const {
    if (keys != nullptr) keys->note_use(caller);
  }

  bool is_stalled(std::string_view path) {
    for (std::size_t i = 0; i < kHealthPathCount; ++i) {
      if (path != kHealthPaths[i] || link.clock == nullptr) continue;
      return pulses[i].finds_stalled(link.engine_turn_ns.load(std::memory_order_relaxed),
                                     link.clock->now_ns(), limits.engine_turn_ns_max);
    }
    return false;
  }

  std::array<EnginePulse, kHealthPathCount> pulses;  // Of the probes of each path.
  std::optional<HttpRouter> router;                  // Since the server listens.
  std::optional<ConnectionTable> connections;  // Likewise. Sessions report to it what they do.
  boost::asio::ssl::context* tls = nullptr;    // Null: none.
  const access::KeyHolder* keys = nullptr;     // Likewise.
  bool is_shutting_down = false;
  // All connections share these limits.
  SharedBytes uploads;
  SharedBytes partial_frames;            // Large ones that are not complete.
  control::TenantShares pending_counts;  // Requests whose answers have not come back,
  control::TenantShares pending_bytes;   // and their bytes.

 private:
  // A connection that reads when its tenant has no slot any more brings one more request.
  static constexpr std::uint64_t kBeyond = std::uint64_t{1} << 40;
};

class Session {
 public:
  virtual ~Session() = default;

  virtual void start() = 0;
  virtual void resume() = 0;
  // A frame of the engine's with its charge, or one of this thread, which has none. Only an open
  // WebSocket has any.
  virtual void write(wire::ServerFrame frame, std::uint64_t charge) = 0;
  // The same for a connection whose request goes to an endpoint.
  virtual void write(HttpFrame frame, std::uint64_t charge) = 0;
  // The engine has looked at a request.
  virtual void answered(std::uint64_t request_bytes) = 0;
  // The server goes: the session closes after it has written what is queued.
  virtual void close_after_writes() = 0;
  virtual void finish() = 0;  // At once.
  // The key of its caller is gone. A request that runs is answered; the next one is refused.
  virtual void revoke(KeyGone how) = 0;

  virtual const ConnectionHandle& connection() const = 0;
  virtual bool is_open() const = 0;  // It is a WebSocket, and frames can be written.
  virtual bool is_known_to_engine() const = 0;
};

}  // namespace quire::server
