#include "application/server/client_desk.h"

#include <algorithm>
#include <utility>

#include "application/server/client_desk_parts.h"
#include "base/check.h"
#include "base/utf8.h"

namespace quire::server {

ClientDesk::ClientDesk(const GatewayParts& parts, Outlet& outlet, ProgramNames& programs,
                       const SocketLimits& sockets, const ServiceLimits& limits,
                       const RequestCounts& requests, access::TenantRates& rates,
                       AdapterDesk& adapters)
    : parts_(parts),
      outlet_(outlet),
      names_of_programs_(programs),
      sockets_(sockets),
      limits_(limits),
      parked_(limits),
      requests_(requests),
      rates_(rates),
      adapters_(adapters),
      begun_ns_(parts.clock.now_ns()),
      refusing_(outlet) {}

ClientDesk::~ClientDesk() = default;

bool ClientDesk::turn() {
  bool any = serve_waiting();
  any |= serve_file_replies();
  any |= fire_deadlines();
  any |= offer_again();
  return any;
}

std::optional<std::uint64_t> ClientDesk::next_timer_ns() const {
  return deadlines_.empty() ? std::nullopt : std::optional(deadlines_.begin()->first);
}

void ClientDesk::handle(Inbound& inbound) {
  if (std::holds_alternative<Gone>(inbound.body)) {
    client_gone(inbound.connection);
    return;
  }
  Client& client = client_of(inbound.connection);
  std::uint64_t id = 0;
  Outcome outcome;
  if (auto* program = std::get_if<ProgramBytes>(&inbound.body)) {
    id = program->id;
    outcome = program_arrived(client, *program);
  } else if (auto* adapter = std::get_if<UploadedAdapter>(&inbound.body)) {
    id = adapter->id;
    outcome = adapter_arrived(client, *adapter);
  } else {
    auto& request = std::get<wire::Request>(inbound.body);
    id = request.id;
    outcome = std::visit([&](auto& body) { return answer(client, id, body); }, request.body);
  }
  if (outcome) {
    outlet_.push(client.peer, wire::Reply{id, std::move(*outcome)}, inbound.bytes);
  } else {
    outlet_.push_control({client.peer.connection, Parked{}, 0, inbound.bytes});
  }
}

// ---- Clients.

ClientDesk::Client& ClientDesk::client_of(const ConnectionHandle& connection) {
  std::unique_ptr<Client>& client = clients_[connection->id];
  if (client == nullptr) {
    QUIRE_CHECK(connection->caller != nullptr, "a WebSocket has a caller");
    client = std::make_unique<Client>();
    client->peer.connection = connection;
  }
  return *client;
}

void ClientDesk::client_gone(const ConnectionHandle& connection) {
  parked_.drop_of(connection->id);
  const auto found = clients_.find(connection->id);
  if (found != clients_.end()) {
    for (const lifecycle::InstanceId id : std::exchange(found->second->instances, {})) {
      Instance& instance = instance_of(id);
      part(instance, instance.is_detached);
    }
    std::erase_if(file_replies_,
                  [&](const auto& each) { return each.second.connection == connection->id; });
    clients_.erase(found);
  }
  refusing_.forget(connection->id);
  outlet_.push_control({connection, Forget{}, 0, std::nullopt});
}

bool ClientDesk::offer_again() {
  const auto peer_of = [this](ConnectionId id) -> Peer& { return clients_.at(id)->peer; };
  return refusing_.offer_again(peer_of, [this](ConnectionId connection) {
    Client& client = *clients_.at(connection);
    flush_notices(client);
    for (const lifecycle::InstanceId id : std::exchange(client.refused, {})) {
      const auto found = instances_.find(id);
      if (found == instances_.end() || found->second->client != &client) continue;
      found->second->is_refused = false;
      parts_.manager.client_ready(id);
    }
  });
}

// ---- Instances.

ClientDesk::Instance& ClientDesk::instance_of(lifecycle::InstanceId id) {
  const auto found = instances_.find(id);
  QUIRE_CHECK(found != instances_.end(), "CD1");
  return *found->second;
}

Result<ClientDesk::Instance*> ClientDesk::find(const Client& client, std::uint64_t number) {
  const lifecycle::InstanceId id = parts_.manager.numbers().id_of(number);
  if (client.instances.contains(id)) return &instance_of(id);
  return Error(ErrorCode::NotFound, "instance " + std::to_string(number) +
                                        " is not attached to this connection, or has ended");
}

namespace {

bool sees_tenant(const service::Principal& caller, control::TenantId tenant) {
  if (service::may(caller, service::Right::Operate)) return true;
  return tenant == caller.tenant && service::may(caller, service::Right::SeeTenant);
}

// One text for instances that are not there and for those that the caller may not see.
Error not_seen(const service::Principal& caller, std::uint64_t number) {
  const std::string text = "instance " + std::to_string(number);
  if (service::may(caller, service::Right::SeeTenant)) {
    return Error(ErrorCode::NotFound, text + " has ended or never was");
  }
  return Error(ErrorCode::NotFound, text +
                                        " is not attached to this connection, or has ended; to "
                                        "reach other instances of its tenant, a key needs the "
                                        "right see-tenant");
}

}  // namespace

Result<ClientDesk::Instance*> ClientDesk::find_instance(const Client& client,
                                                        std::uint64_t number) {
  const lifecycle::InstanceId id = parts_.manager.numbers().id_of(number);
  if (client.instances.contains(id)) return &instance_of(id);
  const service::Principal& caller = client.caller();
  const auto found = instances_.find(id);
  if (found != instances_.end()) {
    const bool is_there =
        !found->second->is_discarded && sees_tenant(caller, found->second->tenant);
    if (is_there) return found->second.get();
    return not_seen(caller, number);
  }
  const std::optional<control::TenantId> tenant = parts_.manager.tenant_of(id);
  if (!tenant || !sees_tenant(caller, *tenant)) return not_seen(caller, number);
  return Error(ErrorCode::NotSupported,
               "instance " + std::to_string(number) +
                   " belongs to the program or the request that launched it, which alone sends to "
                   "it and gets its output; it can be aborted");
}

Result<ClientDesk::Instance*> ClientDesk::find_named(const Client& client,
                                                     const std::string& name) {
  const auto found = names_.find(name);
  const service::Principal& caller = client.caller();
  if (found != names_.end()) {
    Instance& instance = instance_of(found->second);
    const bool is_callers =
        instance.tenant == caller.tenant || service::may(caller, service::Right::Operate);
    if (is_callers && !instance.is_discarded) return &instance;
  }
  return Error(ErrorCode::NotFound,
               "no instance has this name: it has ended, or was "
               "stopped for want of a client, or never was");
}

Result<const char*> ClientDesk::reason_to_stop(const Client& client, std::uint64_t number) const {
  const lifecycle::InstanceId id = parts_.manager.numbers().id_of(number);
  if (client.instances.contains(id)) return "aborted by its client";
  const service::Principal& caller = client.caller();
  const std::optional<control::TenantId> tenant = parts_.manager.tenant_of(id);
  if (!tenant || !sees_tenant(caller, *tenant)) return not_seen(caller, number);
  return *tenant == caller.tenant ? "aborted by a client of its tenant"
                                  : "aborted by an operator of the server";
}

void ClientDesk::add_clients(service::StatusDetail& detail) const {
  for (service::InstanceStatus& each : detail.instances) {
    const auto found = instances_.find(parts_.manager.numbers().id_of(each.instance));
    if (found == instances_.end()) {
      each.client = each.parent > 0 ? "program" : "request";
    } else if (found->second->client != nullptr) {
      each.client = "attached";
    } else {
      each.client = found->second->is_detached ? "detached" : "gone";
    }
  }
  names_of_programs_.add_names(detail.instances);
}

void ClientDesk::set_deadline(Instance& instance, std::optional<std::uint64_t> deadline_ns) {
  if (instance.deadline_ns) deadlines_.erase({*instance.deadline_ns, instance.id});
  if (deadline_ns) deadlines_.emplace(*deadline_ns, instance.id);
  instance.deadline_ns = deadline_ns;
}

// The instance has no client from here on; its connection no longer counts it.
void ClientDesk::part(Instance& instance, bool is_detached) {
  instance.client = nullptr;
  instance.is_refused = false;
  instance.is_detached = is_detached;
  const std::uint64_t now_ns = parts_.clock.now_ns();
  if (is_stopping_) {
    discard(instance);
  } else if (!is_detached) {
    set_deadline(instance, now_ns + nanoseconds_of(limits_.grace));
    // An instance that has ended needs no notice.
    (void)parts_.manager
        .client_left(instance.id, "the client is gone; the program is stopped in " +
                                      std::to_string(limits_.grace.count()) +
                                      " ms unless one attaches")
        .ok();
  } else if (parts_.manager.has_ended(instance.id)) {
    set_deadline(instance, now_ns + nanoseconds_of(limits_.keep));
  }
}

// No client will take its output.
void ClientDesk::discard(Instance& instance) {
  set_deadline(instance, std::nullopt);
  instance.is_discarded = true;
  parts_.manager.client_ready(instance.id);
}

bool ClientDesk::fire_deadlines() {
  const std::uint64_t now_ns = parts_.clock.now_ns();
  bool any = false;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    Instance& instance = instance_of(deadlines_.begin()->second);
    if (!parts_.manager.has_ended(instance.id)) {
      QUIRE_CHECK(parts_.manager.kill(instance.id, "its client is gone").ok(), "it has not ended");
    }
    discard(instance);
    any = true;
  }
  return any;
}

// ---- What instances say.

bool ClientDesk::may_tell(Instance& instance) {
  Client* client = instance.client;
  if (client == nullptr) {
    if (instance.is_detached && !instance.deadline_ns && parts_.manager.has_ended(instance.id)) {
      set_deadline(instance, parts_.clock.now_ns() + nanoseconds_of(limits_.keep));
    }
    return false;
  }
  if (refusing_.may_push(client->peer)) return true;
  if (!std::exchange(instance.is_refused, true)) client->refused.push_back(instance.id);
  return false;
}

bool ClientDesk::heard(lifecycle::InstanceId id, const service::Said& said) {
  Instance& instance = instance_of(id);
  const bool is_told = !instance.is_discarded;
  if (is_told && !may_tell(instance)) return false;
  const auto* ended = std::get_if<service::Ended>(&said);
  if (ended != nullptr) reply_to_file(id, has_ended());
  if (is_told) std::visit([&](const auto& each) { tell(instance, each); }, said);
  if (ended != nullptr) {
    tell_operator(instance, ended->end);
    forget(instance);
  }
  return true;
}

// The client of the instance has the whole message.
void ClientDesk::tell_operator(const Instance& instance, const service::End& end) const {
  const bool is_well = end.kind == service::EndKind::Finished && end.exit_code == 0;
  if (is_well || !parts_.tells_requests) return;
  LogFields fields = {{"instance", instance.number},
                      {"program", "sha256:" + hex(instance.program)},
                      {"end", end_kind_name(end.kind)},
                      {"exit_code", std::int64_t{end.exit_code}},
                      {"limit", end.limit},
                      {"duration_ms", static_cast<double>(end.duration_ns / 1000) / 1000.0},
                      {"tenant", std::uint64_t{static_cast<std::uint32_t>(instance.tenant)}}};
  add_key_name(fields, instance.key_name);
  parts_.tell({"instance_failed", Severity::Warning, "", std::move(fields)});
}

void ClientDesk::tell(Instance& instance, const service::Message& said) {
  outlet_.push(instance.client->peer, wire::MessageEvent{instance.number, std::string(said.bytes)});
}

void ClientDesk::tell(Instance& instance, const service::LogLine& said) {
  outlet_.push(instance.client->peer,
               wire::LogEvent{instance.number, said.source, said.level, std::string(said.text)});
}

void ClientDesk::tell(Instance& instance, const service::SentPart& said) {
  outlet_.push(
      instance.client->peer,
      wire::FileEvent{instance.number, said.file,
                      wire::FilePart{std::string(said.name), std::string(said.media_type),
                                     said.file_bytes, said.offset, std::string(said.bytes)}});
}

void ClientDesk::tell(Instance& instance, const service::DroppedFile& said) {
  outlet_.push(instance.client->peer, wire::FileDroppedEvent{instance.number, said.file});
}

namespace {

constexpr std::size_t kEndMessageBytesMax = 16u << 10;

// Escapes in the frame at most double the text, so its beginning fits the frame's header.
std::string beginning_of(const std::string& message) {
  std::string text = printable_lines(message.substr(0, kEndMessageBytesMax));
  text.resize(utf8_valid_bytes(std::string_view(text).substr(0, kEndMessageBytesMax)));
  return text;
}

}  // namespace

void ClientDesk::tell(Instance& instance, const service::Ended& said) {
  wire::EndedEvent event{instance.number, said.end};
  event.end.message = beginning_of(said.end.message);
  outlet_.push(instance.client->peer, std::move(event));
}

void ClientDesk::forget(Instance& instance) {
  const lifecycle::InstanceId id = instance.id;
  set_deadline(instance, std::nullopt);
  if (instance.client != nullptr) instance.client->instances.erase(id);
  names_.erase(instance.name);
  instances_.erase(id);
}

// ---- The end.

void ClientDesk::refuse_launches() {
  takes_launches_ = false;
}

void ClientDesk::stop_all(const char* reason) {
  is_stopping_ = true;
  for (const auto& [id, instance] : instances_) {
    if (!parts_.manager.has_ended(id)) {
      QUIRE_CHECK(parts_.manager.kill(id, reason).ok(), "it has not ended");
    }
    if (instance->client == nullptr) discard(*instance);
  }
}

void ClientDesk::discard_all() {
  for (const auto& [id, instance] : instances_) discard(*instance);
}

// ---- For tests.

ClientDesk::Counts ClientDesk::counts() const {
  return {clients_.size(), instances_.size(), parked_.size(), deadlines_.size(),
          file_replies_.size()};
}

void ClientDesk::verify() const {
  parked_.verify();
  std::size_t attached = 0;
  std::size_t deadlines = 0;
  for (const auto& [id, instance] : instances_) {
    QUIRE_CHECK(names_.at(instance->name) == id, "CD3");
    if (instance->client != nullptr) {
      ++attached;
      QUIRE_CHECK(instance->client->instances.contains(id), "CD1");
      QUIRE_CHECK(!instance->deadline_ns, "CD4");
    } else if (!instance->is_discarded) {
      const bool runs_alone = instance->is_detached && !parts_.manager.has_ended(id);
      QUIRE_CHECK(instance->deadline_ns || runs_alone, "CD2");
    }
    if (instance->deadline_ns) {
      ++deadlines;
      QUIRE_CHECK(deadlines_.contains({*instance->deadline_ns, id}), "CD4");
    }
  }
  QUIRE_CHECK(deadlines == deadlines_.size(), "CD4");
  QUIRE_CHECK(names_.size() == instances_.size(), "CD3");
  for (const auto& [id, client] : clients_) {
    QUIRE_CHECK(client->peer.connection->id == id, "CD1");
    attached -= client->instances.size();
  }
  QUIRE_CHECK(attached == 0, "CD1");
  for (const auto& [id, reply] : file_replies_) {
    QUIRE_CHECK(instances_.contains(id) && clients_.contains(reply.connection), "CD5");
  }
}

}  // namespace quire::server
