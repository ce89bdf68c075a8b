#pragma once
// The clients of a simulated world: direct ones, as the command line is, and peers, which come
// through the gateway as if over sockets. Each launches programs, speaks to them, listens or does
// not, leaves and comes back, by chance.
//
// Thread   the world's.
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "application/lifecycle/instance_manager.h"
#include "application/server/gateway.h"
#include "simulation/scripted_guest.h"
#include "simulation/town.h"

namespace quire::simulation {

struct Programs {
  std::vector<lifecycle::ProgramId> by_role;
};

class DirectClient final : public service::Listener {
 public:
  DirectClient(Town& town, lifecycle::InstanceManager& manager, const Programs& programs,
               std::uint64_t number, std::uint64_t seed);

  // The next thing that it does. Requires: !is_done().
  void act();
  bool is_done() const { return actions_left_ == 0; }
  std::uint64_t next_ns() const { return next_ns_; }
  void close();  // Takes whatever comes from here on, and does nothing more.
  void leave();  // Likewise, and says of each program that it has gone.
  void abort_all();

  bool heard(lifecycle::InstanceId instance, const service::Said& said) override;

 private:
  bool takes(lifecycle::InstanceId instance);
  void hear(lifecycle::InstanceId instance, const service::Message& said);
  void hear(lifecycle::InstanceId instance, const service::LogLine& said);
  void hear(lifecycle::InstanceId instance, const service::SentPart& said);
  void hear(lifecycle::InstanceId instance, const service::DroppedFile& said);
  void hear(lifecycle::InstanceId, const service::ResponsePart&);
  void hear(lifecycle::InstanceId instance, const service::Ended& said);
  void launch();
  void send_file(lifecycle::InstanceId to);
  void set_taking(bool takes);

  Town& town_;
  lifecycle::InstanceManager& manager_;
  const Programs& programs_;
  const std::uint64_t number_;
  Dice dice_;
  std::uint32_t actions_left_ = 0;
  std::uint64_t next_ns_ = 0;
  bool is_taking_ = true;
  std::set<lifecycle::InstanceId> refused_;
  std::vector<lifecycle::InstanceId> own_;
  lifecycle::InstanceId file_to_{};  // The file that it is sending.
  std::uint64_t file_bytes_ = 0;
  std::uint64_t file_offset_ = 0;
};

// All connections of the world. A peer that leaves loses what it was sent and did not take.
class Peers {
 public:
  Peers(Town& town, server::Link& link, std::uint64_t seed);

  void act();
  bool is_done() const { return actions_left_ == 0; }
  std::uint64_t next_ns() const { return next_ns_; }
  void close();
  void abort_all();

  void see(server::Outbound& outbound);  // What the engine put out, into the sockets.
  // Everybody is gone.
  void check_over() const;

 private:
  struct Peer {
    server::ConnectionHandle connection;
    std::map<std::uint64_t, wire::RequestBody> asked;  // Without a reply so far.
    std::set<InstanceNumber> instances;                // As the replies say.
    std::deque<std::uint64_t> unwritten;               // Charges.
    bool is_gone = false;
  };
  Peer& some_peer();
  InstanceNumber some_instance(const Peer& peer);
  wire::RequestBody some_request(const Peer& peer);
  void ask(Peer& peer, wire::RequestBody body);
  void leave(Peer& peer);
  void take(Peer& peer);
  void see_reply(Peer& peer, const wire::Reply& reply);

  Town& town_;
  server::Link& link_;
  Dice dice_;
  std::uint32_t actions_left_ = 0;
  std::uint64_t next_ns_ = 0;
  std::map<server::ConnectionId, Peer> peers_;
  std::vector<std::string> names_;  // Of instances, to attach to.
  std::uint64_t next_connection_ = 1;
  std::uint64_t next_request_ = 1;
};

}  // namespace quire::simulation
