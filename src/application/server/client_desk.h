#pragma once
// ClientDesk serves the clients of WebSockets: it turns their requests into launches, messages and
// ends, and what instances say into frames for the client that is attached to each.
//
// Owns     who is attached to which instance, the instances' secret names, and the times at which
//          one without a client is stopped.
// Thread   engine thread only.
// Errors   of a request become its reply; nothing here fails.
//
// Invariants, all checked by verify():
//   CD1  An instance is among those of its client's connection, and of no other.
//   CD2  An instance without a client has a deadline, unless it is detached and still runs.
//   CD3  Names are unique and lead to their instances.
//   CD4  Every deadline is that of one instance.
//   CD5  A reply that waits for room is one to a client that is there.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "application/server/adapter_desk.h"
#include "application/server/gateway_parts.h"
#include "application/server/outlet.h"
#include "application/server/parked_requests.h"
#include "application/server/program_names.h"
#include "application/server/server_limits.h"
#include "application/server/server_snapshot.h"
#include "service/listener.h"

namespace quire::server {

class ClientDesk final : public service::Listener {
 public:
  // All of it outlives the desk.
  ClientDesk(const GatewayParts& parts, Outlet& outlet, ProgramNames& programs,
             const SocketLimits& sockets, const ServiceLimits& limits,
             const RequestCounts& requests, access::TenantRates& rates, AdapterDesk& adapters);
  ~ClientDesk() override;

  // A request of a client, or the word that it is gone.
  void handle(Inbound& inbound);
  // Does what is due without a request. True if anything was done.
  bool turn();
  std::optional<std::uint64_t> next_timer_ns() const;
  bool heard(lifecycle::InstanceId instance, const service::Said& said) override;

  // At a shutdown, in this order.
  void refuse_launches();
  void stop_all(const char* reason);  // From here on output without a client is discarded.
  void discard_all();

  // The figures for a status and for the metrics. If `instance_count` is given, they include the
  // usage of tenants and of so many instances.
  ServerSnapshot snapshot(std::optional<std::size_t> instance_count) const;

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
  // A reply, or none if it comes later.
  using Outcome = std::optional<wire::ReplyBody>;

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
  Outcome answer(Client& client, std::uint64_t id, wire::AddAdapter& request);
  Outcome answer(Client& client, std::uint64_t id, wire::UploadAdapter& request);
  Outcome answer(Client& client, std::uint64_t id, wire::RemoveAdapter& request);
  Outcome answer(Client& client, std::uint64_t id, wire::ListAdapters& request);
  Outcome adapter_arrived(Client& client, UploadedAdapter& adapter);
  // Replies to the request once the adapter is loaded, if its client is still there.
  AdapterDesk::Then reply_later(const Client& client, std::uint64_t id);
  Outcome status_of_tenant(const service::Principal& caller, bool has_detail);
  Outcome program_arrived(Client& client, ProgramBytes& program);

  Outcome park(ParkedRequest request);
  wire::InstanceReply reply_about(const Instance& instance) const;
  wire::ReplyBody launch(Client& client, lifecycle::ProgramId program, const Digest& digest,
                         wire::Launch& request);
  bool serve_waiting();
  bool serve_file_replies();
  Outcome attach(Client& client, Instance& instance, bool takes);
  // Detaches the client that the instance has. It learns that `by` has attached.
  void take(Instance& instance, const service::Principal& by);
  void flush_notices(Client& client);
  void reply_to_file(lifecycle::InstanceId instance, wire::ReplyBody reply);

  // For which tenant the request launches. NotFound, PermissionDenied.
  Result<control::TenantId> tenant_of(const service::Principal& caller,
                                      const wire::Launch& request) const;
  Client& client_of(const ConnectionHandle& connection);
  void client_gone(const ConnectionHandle& connection);
  // The client's instance with that number, or why there is none.
  Result<Instance*> find(const Client& client, std::uint64_t number);
  // The same, and one that the caller may see. A program or a request that launched it is its
  // client otherwise: NotSupported.
  Result<Instance*> find_instance(const Client& client, std::uint64_t number);
  Result<Instance*> find_named(const Client& client, const std::string& name);
  // The reason for the end of the instance that the client may stop, of whatever kind.
  Result<const char*> reason_to_stop(const Client& client, std::uint64_t number) const;
  void add_clients(service::StatusDetail& detail) const;
  Instance& instance_of(lifecycle::InstanceId id);
  void part(Instance& instance, bool is_detached);
  void set_deadline(Instance& instance, std::optional<std::uint64_t> deadline_ns);
  bool fire_deadlines();
  void discard(Instance& instance);

  void tell(Instance& instance, const service::Message& said);
  void tell(Instance& instance, const service::LogLine& said);
  void tell(Instance& instance, const service::SentPart& said);
  void tell(Instance& instance, const service::DroppedFile& said);
  void tell(Instance&, const service::ResponsePart&) {}  // No request launched the instance.
  void tell(Instance& instance, const service::Ended& said);
  void tell_operator(const Instance& instance, const service::End& end) const;
  void forget(Instance& instance);
  bool may_tell(Instance& instance);
  bool offer_again();

  const GatewayParts parts_;
  Outlet& outlet_;
  ProgramNames& names_of_programs_;
  const SocketLimits sockets_;
  const ServiceLimits limits_;
  ParkedRequests parked_;
  const RequestCounts& requests_;  // To endpoints; a status reports them.
  access::TenantRates& rates_;
  AdapterDesk& adapters_;
  const std::uint64_t begun_ns_;
  std::unordered_map<ConnectionId, std::unique_ptr<Client>> clients_;
  std::unordered_map<lifecycle::InstanceId, std::unique_ptr<Instance>> instances_;
  std::unordered_map<std::string, lifecycle::InstanceId> names_;
  std::set<std::pair<std::uint64_t, lifecycle::InstanceId>> deadlines_;
  // How many compilations the manager had done when all that wait were last looked at.
  std::uint64_t served_compilations_ = 0;
  // The reply to a part of a file, until its program has room for another; at most one an instance.
  struct FileReply {
    ConnectionId connection{};
    std::uint64_t request = 0;
  };
  std::unordered_map<lifecycle::InstanceId, FileReply> file_replies_;
  RefusedPeers refusing_;
  LaunchCounts launches_;
  bool takes_launches_ = true;
  bool is_stopping_ = false;
};

}  // namespace quire::server
