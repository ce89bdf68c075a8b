#pragma once
// ConnectionFlood: strangers who open connections to a server with few places, from few addresses,
// and clients with keys beside them. Some worlds have one. The table of the server says who goes;
// what it closes goes, as the sockets do it.
//
// All of it is drawn from a stream of its own, as that of the ServerOperator.
//
// Three things must hold. A client with a key gets a place while any connection has no work, keeps
// it while it has a request, and is answered. An operator gets in, if no place of the reserve is an
// operator's with work. The link has room for all.
//
// Thread   the world's.
#include <cstdint>
#include <map>
#include <string>

#include "application/server/link.h"
#include "simulation/town.h"

namespace quire::simulation {

class ConnectionFlood {
 public:
  ConnectionFlood(Town& town, server::Link& link, std::uint64_t seed);

  bool is_done() const { return actions_left_ == 0; }
  std::uint64_t next_ns() const { return next_ns_; }
  // Requires: !is_done().
  void act();
  // Whether what the engine put out is for one of its connections.
  bool takes(const server::Outbound& outbound);
  void close();
  void verify() const { table_.verify(); }
  void check_over() const;

 private:
  using Key = server::ConnectionTable::Key;
  enum class Doing : std::uint8_t { Head, Idle, Asked, Answered, Gone };
  struct Client {
    server::ConnectionHandle connection;
    Key key = Key::None;
    Doing doing = Doing::Head;
    bool has_asked = false;  // The engine knows it.
    bool has_work() const {
      return doing == Doing::Asked || doing == Doing::Answered ||
             (key != Key::None && doing == Doing::Head);
    }
  };
  using Clients = std::map<server::ConnectionId, Client>;

  void arrive(Key key);
  bool may_be_refused(Key key) const;
  void step(Clients::iterator client);
  void read_head(Clients::iterator client);
  void leave(Clients::iterator client);

  Town& town_;
  server::Link& link_;
  Dice dice_;
  const server::ConnectionRules rules_;
  server::ConnectionTable table_;
  std::uint32_t actions_left_ = 0;
  std::uint64_t next_ns_ = 0;
  Clients clients_;  // Until they are forgotten.
  std::map<server::ConnectionId, bool> in_reserve_;
  std::uint64_t next_id_;
};

}  // namespace quire::simulation
