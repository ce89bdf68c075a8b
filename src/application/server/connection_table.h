#pragma once
// ConnectionTable knows what each connection of a server does, and says which one is closed when there are more than the
// server has places for. It is the one place that decides so.
//
//   A connection has shown a known key, or it is a stranger. A server without keys has strangers alone.
//   A newcomer gets a place. If all are taken, it gets that of the first of these that there is:
//     1. the stranger that has been between requests for longest;
//     2. the stranger that has been sending its head for longest;
//     3. the connection with a known key that has been between requests for longest.
//   A connection with a request, a WebSocket or a known key in its head is never closed. If there are only those, the
//   newcomer gets a place of the reserve: it has time for one head, and stays only with a key that may operate. In a full
//   reserve it gets the place of the stranger that came first, else of the operator that has been between requests for longest.
//   In a server with keys, the strangers of an address have a quarter of the places. One more gets the place of another one
//   of that address, by rules 1 and 2.
//
// The table has no clock: what is longest in a state is what came to it first, in the order of the calls.
//
// Owns     an entry for each connection, until it is gone and the engine has forgotten it.
// Thread   io thread only.
// Errors   none. A connection that is not there, or an operation that its state does not have, is a bug.
// Bound    ConnectionRules: each operation takes the logarithm of the number of connections.
//
// Invariants, all checked by verify():
//   CN1  At most `count_max` connections have a place, and at most `reserve_count_max` one of the reserve.
//   CN2  A connection is in the queue of its state, once, and in no other. One that is never closed is in none.
//   CN3  The queues of addresses hold exactly the strangers that have a place, and an address at most its share.
//   CN4  At most `count_max` connections were closed to make room and are known to the engine.
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/server_limits.h"

namespace quire::server {

enum class ConnectionId : std::uint64_t {};  // Never reused.

// An address of IPv6 is its first 64 bits: its owner has all that begin so. One of IPv4 is the mapped one, whole.
using ClientAddress = std::array<std::uint8_t, 16>;

// Why a connection lost its place, or got none.
enum class ShedReason : std::uint8_t {
  StrangerIdle,  // The places were taken: a stranger between requests,
  StrangerHead,  // one that was sending its head,
  KeyedIdle,     // one with a known key between requests.
  Address,       // Its address had as many strangers as it may have.
  Reserve,       // In the reserve: no key that may operate, or not in time.
  Full,          // The reserve was full of operators with requests.
};
inline constexpr std::size_t kShedReasonCount = 6;
// As /metrics has them.
inline constexpr const char* kShedReasonNames[kShedReasonCount] = {
    "stranger_idle", "stranger_head", "keyed_idle", "address", "reserve", "full"};
using ShedCounts = std::array<std::uint64_t, kShedReasonCount>;

struct ConnectionRules {
  std::uint32_t count_max = default_of<ServerLimit::ConnectionCountMax>();
  std::uint32_t reserve_count_max =
      default_of<ServerLimit::ReserveCountMax>();  // Above `count_max`.
  bool has_keys = false;

  // Rounded up; none: a server without keys.
  std::optional<std::uint32_t> address_count_max() const {
    return has_keys ? std::optional((count_max + 3) / 4) : std::nullopt;
  }
};

class ConnectionTable {
 public:
  enum class Place : std::uint8_t { Regular, Reserve, None };
  struct Arrival {
    Place place = Place::None;
    std::optional<ConnectionId> closed;  // The caller closes it, and reports it as gone.
  };
  enum class Key : std::uint8_t { None, Known, Operates };

  explicit ConnectionTable(const ConnectionRules& rules) : rules_(rules) {}

  // A connection was accepted: it is a stranger that sends a head. Without a place there is no entry of it.
  Arrival arrive(ConnectionId id, const ClientAddress& address);
  // The first byte of a further request came.
  void head_begun(ConnectionId id);
  // A head was read, and this is the key in it. False if the connection may not stay: it is in the reserve.
  bool head_read(ConnectionId id, Key key);
  // The engine has the request.
  void request_begun(ConnectionId id);
  // The server has answered the request itself, or the engine's response was written.
  void request_over(ConnectionId id);
  void upgraded(ConnectionId id);
  // A connection of the reserve had no head in time. For any other one, nothing happens.
  void head_expired(ConnectionId id);
  // The connection is closed. If the engine knows it, it keeps its place until forgotten(), unless it gave that to another.
  void gone(ConnectionId id, bool is_known_to_engine);
  void forgotten(ConnectionId id);

  // With a place, those of the reserve and those that the engine has not forgotten among them.
  std::size_t count() const { return regular_count_ + reserve_count_; }
  const ShedCounts& shed_counts() const { return shed_counts_; }
  void verify() const;

 private:
  enum class State : std::uint8_t {
    Head,       // Sends its head.
    Idle,       // Between requests.
    Busy,       // Has a request or is a WebSocket.
    Leaving,    // Closed, and known to the engine. It has a place.
    Shed,       // Closed for another one, and not gone. From here on it has no place.
    Forgetting  // Closed for another one, gone, and known to the engine.
  };
  using Queue = std::list<ConnectionId>;  // The first is the one that came first.
  struct Entry {
    ClientAddress address{};
    State state = State::Head;
    bool is_known = false;  // Has shown a known key,
    bool operates = false;  // which may operate.
    bool is_reserve = false;
    Queue* queue = nullptr;  // Null: it is never closed.
    Queue::iterator at;
    Queue* address_queue = nullptr;  // Null: it counts for no address.
    Queue::iterator address_at;

    bool has_place() const { return state != State::Shed && state != State::Forgetting; }
  };
  // The strangers of an address that have a place.
  struct AddressQueues {
    Queue idle;
    Queue head;
    std::size_t count() const { return idle.size() + head.size(); }
  };
  using Entries = std::unordered_map<ConnectionId, Entry>;

  Entry& entry_of(ConnectionId id);
  Queue* queue_of(const Entry& entry);
  void enter(ConnectionId id, Entry& entry, State state);
  void leave_queues(Entry& entry);
  void give_up_place(Entry& entry);
  ConnectionId shed(ConnectionId id, ShedReason reason);
  std::optional<ConnectionId> make_room();
  std::optional<ConnectionId> make_room_in_reserve();
  std::optional<ConnectionId> make_room_at(const ClientAddress& address);
  void count_shed(ShedReason reason) { ++shed_counts_[static_cast<std::size_t>(reason)]; }

  const ConnectionRules rules_;
  Entries entries_;
  std::map<ClientAddress, AddressQueues> addresses_;  // Ordered: strangers choose their addresses.
  Queue stranger_idle_;
  Queue stranger_head_;
  Queue keyed_idle_;
  Queue reserve_;       // Those that have shown no key that may operate,
  Queue reserve_idle_;  // and operators between requests.
  std::size_t regular_count_ = 0;
  std::size_t reserve_count_ = 0;
  std::size_t forgetting_count_ = 0;  // In the states Shed and Forgetting.
  ShedCounts shed_counts_{};
};

}  // namespace quire::server
