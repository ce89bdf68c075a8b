#pragma once
// Gateway is the engine's end of the server: it turns requests into launches, messages and ends,
// and what instances say into frames for the client that is attached to each.
//
// Owns     who is attached to which instance, the instances' secret names, and the times at which
//          one without a client is stopped.
// Thread   engine thread, except request_shutdown().
// Errors   of a request become its reply; nothing here fails.
//
// Invariants, all checked by verify():
//   W1  An instance is among those of its client's connection, and of no other.
//   W2  An instance without a client has a deadline, unless it is detached and still runs.
//   W3  Names are unique and lead to their instances.
//   W4  Every deadline is that of one instance.
//   W5  Only an instance with a client has a reply that waits for room.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "application/lifecycle/engine_loop.h"
#include "application/lifecycle/instance_manager.h"
#include "application/server/link.h"
#include "application/server/server_limits.h"
#include "base/clock.h"
#include "base/random.h"
#include "control/api/control_port.h"

namespace quire::server {

// What main() builds and passes in; all of it outlives the gateway.
struct GatewayParts {
  lifecycle::InstanceManager& manager;
  lifecycle::EngineLoop& loop;
  control::ControlPort& control;
  Link& link;
  const Clock& clock;
  RandomSource& random;
  // Lines for the operator.
  std::function<void(const std::string&)> tell;
};

class Gateway final : public lifecycle::FrontDoor, public service::Listener {
 public:
  Gateway(const GatewayParts& parts, const SocketLimits& sockets, const ServiceLimits& limits);
  ~Gateway() override;

  // A loaded program that clients, and programs, may launch by this name, which is the operator's.
  // AlreadyExists.
  Result<void> name_program(const std::string& name, lifecycle::ProgramId program,
                            const Digest& digest);

  // Any thread, also a second time: then what still runs is stopped at once. Takes no more
  // launches, tells the clients, gives the instances `grace` to end, stops the rest and then the
  // loop.
  void request_shutdown();

  bool take_requests() override;
  void hand_out() override;
  std::optional<std::uint64_t> next_timer_ns() const override;

  bool heard(lifecycle::InstanceId instance, const service::Said& said) override;

  // For tests: what is held for connections and instances.
  struct Counts {
    std::size_t connections = 0, instances = 0, waiting = 0, deadlines = 0, file_replies = 0;
    bool operator==(const Counts&) const = default;
  };
  Counts counts() const;
  void verify() const;

 private:
  struct Client;
  struct Instance;
  struct Waiting;
  struct NamedProgram {
    Digest digest{};
    bool is_operators = false;
  };
  // A reply, or none where it comes later.
  using Outcome = std::optional<wire::ReplyBody>;

  void handle(Inbound& inbound);
  Outcome answer(Client& client, std::uint64_t id, wire::FindProgram& request);
  Outcome answer(Client& client, std::uint64_t id, wire::Upload& request);
  Outcome answer(Client& client, std::uint64_t id, wire::NameProgram& request);
  Outcome answer(Client& client, std::uint64_t id, wire::Launch& request);
  Outcome answer(Client& client, std::uint64_t id, wire::Send& request);
  Outcome answer(Client& client, std::uint64_t id, wire::CloseInput& request);
  Outcome answer(Client& client, std::uint64_t id, wire::SendFile& request);
  Outcome answer(Client& client, std::uint64_t id, wire::Attach& request);
  Outcome answer(Client& client, std::uint64_t id, wire::Detach& request);
  Outcome answer(Client& client, std::uint64_t id, wire::Abort& request);
  Outcome answer(Client& client, std::uint64_t id, wire::List& request);
  Outcome answer(Client& client, std::uint64_t id, wire::Status& request);
  Outcome program_arrived(Client& client, ProgramBytes& program);

  Result<Digest> digest_of(const wire::ProgramName& program) const;
  Result<lifecycle::InstanceLimits> limits_of(control::TenantId tenant,
                                              const wire::LaunchLimits& wanted) const;
  Outcome park(Waiting waiting);
  wire::InstanceReply reply_about(const Instance& instance) const;
  wire::ReplyBody launch(Client& client, lifecycle::ProgramId program, const Digest& digest,
                         wire::Launch& request);
  bool serve_waiting();
  bool serve_file_replies();
  void reply_to_file(lifecycle::InstanceId instance, wire::ReplyBody reply);

  Client& client_of(const ConnectionHandle& connection);
  void client_gone(const ConnectionHandle& connection);
  // The client's instance with that number, or why there is none.
  Result<Instance*> find(const Client& client, std::uint64_t number);
  Instance& instance_of(lifecycle::InstanceId id);
  void part(Instance& instance, bool is_detached);
  void set_deadline(Instance& instance, std::optional<std::uint64_t> deadline_ns);
  bool fire_deadlines();
  void discard(Instance& instance);

  void tell(Instance& instance, const service::Message& said);
  void tell(Instance& instance, const service::LogLine& said);
  void tell(Instance& instance, const service::SentPart& said);
  void tell(Instance& instance, const service::DroppedFile& said);
  void tell(Instance& instance, const service::Ended& said);
  void forget(Instance& instance);
  bool has_room(Client& client) const;
  // Whether a frame for the instance goes out now; if not, it is offered again when one does.
  bool may_tell(Instance& instance);
  void push(Client& client, wire::ServerFrame frame,
            std::optional<std::uint64_t> request_bytes = std::nullopt);
  void push_control(Outbound outbound);
  bool offer_again();

  bool turn_shutdown();
  void stop_all(const char* reason);

  const GatewayParts parts_;
  const SocketLimits sockets_;
  const ServiceLimits limits_;
  const std::uint64_t begun_ns_;
  std::map<std::string, NamedProgram> programs_;  // By name.
  std::unordered_map<ConnectionId, std::unique_ptr<Client>> clients_;
  std::unordered_map<lifecycle::InstanceId, std::unique_ptr<Instance>> instances_;
  std::unordered_map<std::string, lifecycle::InstanceId> names_;
  std::set<std::pair<std::uint64_t, lifecycle::InstanceId>> deadlines_;
  std::list<Waiting> waiting_;  // In the order in which they came.
  std::uint64_t served_compilations_ =
      0;  // Of the manager's, after which all of them were looked at.
  // The reply to a part of a file, until its program has room for another; at most one an instance.
  std::unordered_map<lifecycle::InstanceId, std::uint64_t> file_replies_;  // Ids of requests.
  std::set<ConnectionId> refusing_;  // Whose sockets take no more, while an instance has more.
  std::uint64_t launched_count_ = 0;
  std::uint64_t refused_count_ = 0;
  bool has_pushed_ = false;

  enum class Stage : std::uint8_t { Serving, Draining, Stopping, Closed };
  Stage stage_ = Stage::Serving;
  std::uint64_t stage_deadline_ns_ = 0;
  std::atomic<std::uint32_t> shutdown_requests_{0};
};

}  // namespace quire::server
