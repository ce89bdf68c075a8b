#pragma once
// Outlet hands frames to connections, and knows how much each has not taken. RefusedPeers are those
// that have no room for more.
//
// Thread   engine thread only.
// Bound    link.h says why no push is refused. An event is pushed only while its connection has room.
#include <cstdint>
#include <optional>
#include <set>

#include "application/server/link.h"

namespace quire::server {

// A connection, as the engine sees it.
struct Peer {
  ConnectionHandle connection;
  std::uint64_t pushed_bytes = 0;  // Charges of all frames.
};

class Outlet {
 public:
  Outlet(Link& link, const SocketLimits& limits) : link_(link), limits_(limits) {}

  bool has_room(const Peer& peer) const {
    return peer.pushed_bytes - peer.connection->written_bytes.load() < limits_.unwritten_bytes_max;
  }
  // The engine is woken once the connection has taken some. True if it has meanwhile.
  bool wait_for_room(Peer& peer) {
    // The flag goes up before the second look, so that no change between them is lost.
    peer.connection->engine_waits.store(true);
    return has_room(peer);
  }
  void wake_engine() { link_.engine_wakeup.notify(); }

  // `request_bytes`: of the request that the frame answers, unless it was parked.
  void push(Peer& peer, wire::ServerFrame frame,
            std::optional<std::uint64_t> request_bytes = std::nullopt);
  // The same for a part of a response, which is charged with its bytes; an HttpAsk is not.
  void push(Peer& peer, HttpFrame frame, std::optional<std::uint64_t> request_bytes = std::nullopt);
  void push_control(Outbound outbound);
  // Lets the io thread look, if anything was pushed since the last call.
  void hand_out();

 private:
  Link& link_;
  const SocketLimits limits_;
  bool has_pushed_ = false;
};

// Connections whose sockets take no more, while an instance has more for them.
class RefusedPeers {
 public:
  explicit RefusedPeers(Outlet& outlet) : outlet_(outlet) {}

  // Whether an event may be pushed. If not, the peer is here until it has room, which wakes the
  // engine.
  bool may_push(Peer& peer) {
    if (outlet_.has_room(peer)) return true;
    connections_.insert(peer.connection->id);
    // If the socket took all in between, nothing else would wake us.
    if (outlet_.wait_for_room(peer)) outlet_.wake_engine();
    return false;
  }
  // Calls `offer(id)` for each that has room again, and is not here any more. `peer_of(id)` is its
  // Peer. True if there was one.
  template <typename PeerOf, typename Offer>
  bool offer_again(PeerOf peer_of, Offer offer) {
    bool any = false;
    for (auto at = connections_.begin(); at != connections_.end();) {
      Peer& peer = peer_of(*at);
      if (!outlet_.has_room(peer) && !outlet_.wait_for_room(peer)) {
        ++at;
        continue;
      }
      const ConnectionId id = *at;
      at = connections_.erase(at);
      any = true;
      offer(id);
    }
    return any;
  }
  void forget(ConnectionId id) { connections_.erase(id); }
  const std::set<ConnectionId>& connections() const { return connections_; }

 private:
  Outlet& outlet_;
  std::set<ConnectionId> connections_;
};

}  // namespace quire::server
