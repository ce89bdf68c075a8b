// The verbs of clients, one function each.
#include <algorithm>
#include <array>
#include <utility>

#include "application/lifecycle/launch_limits.h"
#include "application/server/caller_gate.h"
#include "application/server/client_desk_parts.h"
#include "application/server/status_reply.h"
#include "base/check.h"
#include "base/clock.h"

namespace quire::server {
namespace {

constexpr std::size_t kNameBytes = 16;  // Random ones of an instance's name; 32 hex digits.
// When the same may succeed: a program has received some, a socket has taken some, one is compiled.
constexpr std::uint64_t kReceivedRetryMs = 20;
constexpr std::uint64_t kSocketRetryMs = 100;
constexpr std::uint64_t kCompiledRetryMs = 500;

static_assert(wire::kArgumentCountMax == hostcalls::kArgumentCountMax);

std::string instance_name(RandomSource& random) {
  std::array<std::uint8_t, kNameBytes> bytes{};
  random.fill(std::as_writable_bytes(std::span(bytes)));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name;
  for (const std::uint8_t each : bytes) {
    name += kDigits[each >> 4];
    name += kDigits[each & 15];
  }
  return name;
}

Error not_here(const Digest& program) {
  return Error(ErrorCode::NotFound,
               "the program sha256:" + hex(program) + " is not here: upload it");
}

// A client that does not read gets no second long reply.
wire::ReplyBody unread(const SocketLimits& sockets) {
  return failure(
      Error(ErrorCode::Unavailable, "unwritten_bytes_max: this connection has not taken " +
                                        std::to_string(sockets.unwritten_bytes_max) + " bytes"),
      kSocketRetryMs);
}

wire::ReplyBody reply_of(Result<void> result) {
  if (!result.ok()) return failure(result.error());
  return wire::Done{};
}

}  // namespace

wire::InstanceReply ClientDesk::reply_about(const Instance& instance) const {
  return {instance.number, instance.name, instance.program, instance.is_detached};
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::FindProgram& request) {
  const Result<Digest> digest = names_of_programs_.digest_of(client.caller(), request.program);
  if (!digest.ok()) return wire::ProgramReply{};
  wire::ProgramReply reply{digest.value(), wire::ProgramState::Unknown, 0};
  if (!names_of_programs_.may_see(client.caller(), digest.value())) return reply;
  const std::optional<lifecycle::ProgramId> program = parts_.manager.find_program(digest.value());
  if (program) {
    const Result<lifecycle::ProgramState> state = parts_.manager.program_state(*program);
    reply.state = state.ok() ? state.value() : wire::ProgramState::Compiling;
  }
  return reply;
}

// Parts are put together on the io thread (upload_buffer.h).
ClientDesk::Outcome ClientDesk::answer(Client&, std::uint64_t, wire::Upload&) {
  QUIRE_CHECK(false, "the io thread hands on complete programs");
  return std::nullopt;
}

ClientDesk::Outcome ClientDesk::program_arrived(Client& client, ProgramBytes& program) {
  if (const auto denied = denied_to(client.caller(), service::Right::Upload)) {
    return failure(*denied);
  }
  const Result<lifecycle::ProgramId> id = parts_.manager.request_program(
      std::move(program.wasm), program.digest, client.caller().tenant);
  if (!id.ok()) {
    const bool is_for_good = id.error().code() == ErrorCode::TooLarge;
    return failure(id.error(), is_for_good ? std::nullopt : std::optional(kCompiledRetryMs));
  }
  const Result<lifecycle::ProgramState> state = parts_.manager.program_state(id.value());
  if (!state.ok()) return failure(state.error());
  names_of_programs_.arrived(client.caller(), id.value(), program.digest);
  if (state.value() == lifecycle::ProgramState::Compiling) {
    return park({client.peer.connection->id,
                 client.caller().tenant,
                 program.id,
                 id.value(),
                 program.digest,
                 {}});
  }
  return wire::ProgramReply{program.digest, wire::ProgramState::Ready, 0};
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::NameProgram& request) {
  const service::Principal& caller = client.caller();
  if (const auto denied = denied_to(caller, service::Right::NamePrograms)) return failure(*denied);
  const std::optional<lifecycle::ProgramId> program = parts_.manager.find_program(request.program);
  if (!program || !names_of_programs_.may_see(caller, request.program)) {
    return failure(not_here(request.program));
  }
  return reply_of(
      names_of_programs_.name_by_client(caller, request.name, *program, request.program));
}

ClientDesk::Outcome ClientDesk::park(ParkedRequest request) {
  const Result<void> parked =
      parked_.add(std::move(request), parts_.manager.knows_several_tenants());
  if (!parked.ok()) return failure(parked.error(), kCompiledRetryMs);
  return std::nullopt;
}

// Answers the parked requests whose program is compiled, or never will be.
bool ClientDesk::serve_waiting() {
  const std::uint64_t compilations = parts_.manager.compiled_count();
  if (compilations == served_compilations_) return false;
  const std::uint64_t start_ns = parts_.clock.now_ns();
  bool any = false;
  for (auto at = parked_.begin(); at != parked_.end();) {
    if (parts_.clock.now_ns() - start_ns > kTakeNsMax) return true;
    const Result<lifecycle::ProgramState> state = parts_.manager.program_state(at->program);
    if (state.ok() && state.value() == lifecycle::ProgramState::Compiling) {
      ++at;
      continue;
    }
    ParkedRequest waiting = parked_.take(at);
    any = true;
    Client& client = *clients_.at(waiting.connection);
    wire::ReplyBody reply = wire::ProgramReply{waiting.digest, wire::ProgramState::Ready, 0};
    if (!state.ok()) {
      reply = failure(state.error());
    } else if (waiting.launch) {
      reply = launch(client, waiting.program, waiting.digest, *waiting.launch);
    }
    outlet_.push(client.peer, wire::Reply{waiting.id, std::move(reply)});
  }
  served_compilations_ = compilations;
  return any;
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t id, wire::Launch& request) {
  const service::Principal& caller = client.caller();
  if (const auto denied = denied_to(caller, service::Right::Launch)) return failure(*denied);
  Result<Digest> digest = names_of_programs_.digest_of(caller, request.program);
  if (!digest.ok()) return failure(digest.error());
  const std::optional<lifecycle::ProgramId> program = parts_.manager.find_program(digest.value());
  if (!program || !names_of_programs_.may_see(caller, digest.value())) {
    return failure(not_here(digest.value()));
  }
  const Result<lifecycle::ProgramState> state = parts_.manager.program_state(*program);
  if (state.ok() && state.value() == lifecycle::ProgramState::Compiling) {
    return park({client.peer.connection->id, caller.tenant, id, *program, digest.value(),
                 std::move(request)});
  }
  return launch(client, *program, digest.value(), request);
}

Result<control::TenantId> ClientDesk::tenant_of(const service::Principal& caller,
                                                const wire::Launch& request) const {
  const control::TenantId asked{request.tenant};
  if (request.tenant == 0 || asked == caller.tenant) return caller.tenant;
  if (!service::may(caller, service::Right::Operate)) {
    return Error(ErrorCode::PermissionDenied,
                 "the key " + caller.key_name + " launches programs of tenant " +
                     std::to_string(static_cast<std::uint32_t>(caller.tenant)) +
                     ", not of another one: leave the tenant out");
  }
  if (parts_.manager.is_named(asked)) return asked;
  return Error(ErrorCode::NotFound,
               "tenant " + std::to_string(request.tenant) +
                   " is not one of this server's: its operator names them with --tenant");
}

wire::ReplyBody ClientDesk::launch(Client& client, lifecycle::ProgramId program,
                                   const Digest& digest, wire::Launch& request) {
  const auto refuse = [&](const Error& error, std::optional<std::uint64_t> retry = std::nullopt) {
    ++launches_.refused;
    return failure(error, retry);
  };
  if (!takes_launches_) {
    return refuse(Error(ErrorCode::Unavailable, "the server is shutting down"));
  }
  const Result<control::TenantId> tenant = tenant_of(client.caller(), request);
  if (!tenant.ok()) return refuse(tenant.error());
  if (const auto late =
          rates_.take(tenant.value(), access::TenantRates::Use::Launch, parts_.clock.now_ns())) {
    return refuse(late->error, late->retry_after_ms);
  }
  const auto own = limits_.tenant_instances.find(tenant.value());
  const bool has_own = own != limits_.tenant_instances.end();
  const Result<lifecycle::InstanceLimits> limits =
      lifecycle::lowered(has_own ? own->second : limits_.instance, request.limits);
  if (!limits.ok()) return refuse(limits.error());
  lifecycle::LaunchRequest launch_request;
  launch_request.program = program;
  launch_request.tenant = tenant.value();
  launch_request.caller = client.peer.connection->caller;
  if (request.deadline_ms) {
    launch_request.deadline_in_ns =
        std::min(*request.deadline_ms, UINT64_MAX / kMillisecond) * kMillisecond;
  }
  launch_request.seed = request.seed;
  launch_request.arguments = std::move(request.arguments);
  launch_request.limits = limits.value();
  launch_request.environment =
      limits_.environments.of(tenant.value(), names_of_programs_.is_operators(digest));
  const Result<lifecycle::InstanceId> id = parts_.manager.launch(std::move(launch_request), *this);
  if (!id.ok()) {
    const bool is_full = id.error().code() == ErrorCode::Unavailable;
    return refuse(id.error(),
                  is_full ? std::optional(parts_.manager.retry_after_ms()) : std::nullopt);
  }
  ++launches_.launched;
  auto instance = std::make_unique<Instance>();
  instance->id = id.value();
  instance->number = parts_.manager.numbers().of(id.value());
  instance->name = instance_name(parts_.random);
  instance->tenant = tenant.value();
  instance->program = digest;
  instance->key_name = client.caller().key_name;
  instance->is_detached = request.detached || !request.attached;
  if (request.attached) {
    instance->client = &client;
    client.instances.insert(id.value());
  }
  names_.emplace(instance->name, id.value());
  wire::InstanceReply reply = reply_about(*instance);
  instances_.emplace(id.value(), std::move(instance));
  return reply;
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::Send& request) {
  const Result<Instance*> instance = find_instance(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  Result<void> sent = parts_.manager.send_to(instance.value()->id, std::move(request.bytes));
  if (!sent.ok() && sent.error().code() == ErrorCode::QuotaExceeded) {
    return failure(sent.error(), kReceivedRetryMs);
  }
  return reply_of(std::move(sent));
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::CloseInput& request) {
  const Result<Instance*> instance = find_instance(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  return reply_of(parts_.manager.close_input(instance.value()->id));
}

// The reply comes once there is room for another part.
ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t id, wire::SendFile& request) {
  const Result<Instance*> instance = find_instance(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  const lifecycle::InstanceId number = instance.value()->id;
  Result<void> sent = parts_.manager.send_file_to(number, std::move(request.part));
  if (!sent.ok() && sent.error().code() == ErrorCode::QuotaExceeded) {
    return failure(sent.error(), kReceivedRetryMs);
  }
  if (!sent.ok()) return failure(sent.error());
  reply_to_file(number, wire::Done{});  // There was room, or this part would not have been taken.
  if (parts_.manager.has_file_room(number)) return wire::Done{};
  file_replies_.emplace(number, FileReply{client.peer.connection->id, id});
  return std::nullopt;
}

void ClientDesk::reply_to_file(lifecycle::InstanceId instance, wire::ReplyBody reply) {
  const auto waiting = file_replies_.extract(instance);
  if (waiting.empty()) return;
  const auto& [connection, request] = waiting.mapped();
  outlet_.push(clients_.at(connection)->peer, wire::Reply{request, std::move(reply)});
}

bool ClientDesk::serve_file_replies() {
  std::vector<lifecycle::InstanceId> ready;
  for (const auto& [instance, request] : file_replies_) {
    if (parts_.manager.has_file_room(instance)) ready.push_back(instance);
  }
  for (const lifecycle::InstanceId each : ready) {
    reply_to_file(each, parts_.manager.has_ended(each) ? has_ended() : wire::Done{});
  }
  return !ready.empty();
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::Attach& request) {
  const Result<Instance*> found = request.instance > 0 ? find_instance(client, request.instance)
                                                       : find_named(client, request.name);
  if (!found.ok()) return failure(found.error());
  return attach(client, *found.value(), request.takes);
}

ClientDesk::Outcome ClientDesk::attach(Client& client, Instance& instance, bool takes) {
  if (instance.client == &client) {
    return failure(
        Error(ErrorCode::AlreadyExists, "this connection is attached to the instance already"));
  }
  if (instance.client != nullptr) {
    if (!takes) {
      return failure(Error(ErrorCode::AlreadyExists,
                           "another client is attached to the instance; an attach with \"take\" "
                           "detaches that client"));
    }
    take(instance, client.caller());
  }
  instance.client = &client;
  client.instances.insert(instance.id);
  client.notices.erase(instance.number);
  set_deadline(instance, std::nullopt);
  // An instance that has ended hears nothing any more, but its output can still be fetched.
  (void)parts_.manager.client_back(instance.id).ok();
  parts_.manager.client_ready(instance.id);
  return reply_about(instance);
}

void ClientDesk::take(Instance& instance, const service::Principal& by) {
  Client& former = *instance.client;
  former.instances.erase(instance.id);
  instance.client = nullptr;
  instance.is_refused = false;
  former.notices.emplace(instance.number, by.tenant == instance.tenant
                                              ? "another client of its tenant has attached to it"
                                              : "an operator of the server has attached to it");
  flush_notices(former);
}

// An event needs room in the socket, as those of instances do.
void ClientDesk::flush_notices(Client& client) {
  while (!client.notices.empty() && refusing_.may_push(client.peer)) {
    auto notice = client.notices.extract(client.notices.begin());
    outlet_.push(client.peer, wire::DetachedEvent{notice.key(), std::move(notice.mapped())});
  }
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::Detach& request) {
  const Result<Instance*> instance = find(client, request.instance);
  if (!instance.ok()) return failure(instance.error());
  reply_to_file(instance.value()->id, wire::Done{});
  client.instances.erase(instance.value()->id);
  part(*instance.value(), true);
  return wire::Done{};
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::Abort& request) {
  const Result<const char*> reason = reason_to_stop(client, request.instance);
  if (!reason.ok()) return failure(reason.error());
  const lifecycle::InstanceId id = parts_.manager.numbers().id_of(request.instance);
  return reply_of(parts_.manager.kill(id, reason.value()));
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::List&) {
  if (!outlet_.has_room(client.peer)) return unread(sockets_);
  wire::InstanceList list;
  for (const lifecycle::InstanceId id : client.instances) {
    if (list.instances.size() == wire::kListedInstanceCountMax) break;
    list.instances.push_back(reply_about(instance_of(id)));
  }
  list.left_out_count = client.instances.size() - list.instances.size();
  return list;
}

// ---- Adapters.

namespace {

wire::ReplyBody adapter_failure(const Error& error) {
  return failure(error, AdapterDesk::retry_after_ms(error));
}

}  // namespace

AdapterDesk::Then ClientDesk::reply_later(const Client& client, std::uint64_t id) {
  return [this, id,
          connection = client.peer.connection->id](const Result<service::AdapterStatus>& loaded) {
    const auto found = clients_.find(connection);
    if (found == clients_.end()) return;
    wire::ReplyBody reply = loaded.ok() ? wire::ReplyBody(wire::AdapterReply{loaded.value()})
                                        : adapter_failure(loaded.error());
    outlet_.push(found->second->peer, wire::Reply{id, std::move(reply)});
  };
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t id,
                                       wire::AddAdapter& request) {
  const Result<void> begun =
      adapters_.add(client.caller(), request.name, request.path, reply_later(client, id));
  if (!begun.ok()) return adapter_failure(begun.error());
  return std::nullopt;
}

// Parts are put together on the io thread (websocket_session.cc).
ClientDesk::Outcome ClientDesk::answer(Client&, std::uint64_t, wire::UploadAdapter&) {
  QUIRE_CHECK(false, "the io thread hands on complete adapters");
  return std::nullopt;
}

ClientDesk::Outcome ClientDesk::adapter_arrived(Client& client, UploadedAdapter& adapter) {
  const Result<void> begun = adapters_.add(client.caller(), adapter.name, std::move(adapter.files),
                                           reply_later(client, adapter.id));
  if (!begun.ok()) return adapter_failure(begun.error());
  return std::nullopt;
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t,
                                       wire::RemoveAdapter& request) {
  return reply_of(adapters_.remove(client.caller(), request.name));
}

ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::ListAdapters&) {
  if (!outlet_.has_room(client.peer)) return unread(sockets_);
  Result<std::vector<service::AdapterStatus>> all = adapters_.list(client.caller());
  if (!all.ok()) return failure(all.error());
  wire::AdapterList list{std::move(all).take(), 0};
  if (list.adapters.size() > wire::kListedAdapterCountMax) {
    list.left_out_count = list.adapters.size() - wire::kListedAdapterCountMax;
    list.adapters.resize(wire::kListedAdapterCountMax);
  }
  return list;
}

// The operator alone sees what all tenants hold. Any other caller sees its own tenant.
ClientDesk::Outcome ClientDesk::answer(Client& client, std::uint64_t, wire::Status& request) {
  if (request.detail && !outlet_.has_room(client.peer)) return unread(sockets_);
  if (!service::may(client.caller(), service::Right::Operate)) {
    return status_of_tenant(client.caller(), request.detail);
  }
  std::optional<std::size_t> instance_count;
  if (request.detail) instance_count = wire::kToldInstanceCountMax;
  wire::StatusReply status = status_of(snapshot(instance_count));
  if (status.detail) {
    add_clients(*status.detail);
    add_programs(names_of_programs_.seen_by(client.caller()), *status.detail);
  }
  return status;
}

ServerSnapshot ClientDesk::snapshot(std::optional<std::size_t> instance_count) const {
  ServerSnapshot snapshot;
  for (const control::ModelDescription& each : parts_.control.models()) {
    snapshot.models.push_back(each.name);
  }
  snapshot.uptime_ns = parts_.clock.now_ns() - begun_ns_;
  snapshot.connection_count = parts_.link.connection_count.load();
  for (std::size_t i = 0; i < kShedReasonCount; ++i) {
    snapshot.shed_counts[i] = parts_.link.shed_counts[i].load(std::memory_order_relaxed);
  }
  snapshot.instance_count = parts_.manager.live_count();
  snapshot.instance_count_max = parts_.manager.admission_limits().instance_count_max;
  snapshot.waiting_count = parts_.manager.waiting_count();
  snapshot.unattached_count = static_cast<std::uint64_t>(
      std::count_if(instances_.begin(), instances_.end(),
                    [](const auto& each) { return each.second->client == nullptr; }));
  snapshot.program_count = parts_.manager.program_count();
  snapshot.launched_count = launches_.launched + requests_.launched;
  snapshot.refused_count = launches_.refused + requests_.refused;
  snapshot.requests = requests_;
  snapshot.control = parts_.control.statistics();
  snapshot.adapters = adapters_.figures();
  if (instance_count) snapshot.usage = parts_.manager.usage(*instance_count);
  return snapshot;
}

// The counts of what the tenants share stay 0, because they would reveal what another tenant does.
ClientDesk::Outcome ClientDesk::status_of_tenant(const service::Principal& caller,
                                                 bool has_detail) {
  if (const auto denied = denied_to(caller, service::Right::SeeTenant)) return failure(*denied);
  const lifecycle::Usage usage =
      parts_.manager.usage(has_detail ? wire::kToldInstanceCountMax : 0, caller.tenant);
  wire::StatusReply status = status_about(usage);
  status.version = QUIRE_VERSION;
  for (const control::ModelDescription& each : parts_.control.models()) {
    status.models.push_back(each.name);
  }
  status.uptime_ms = (parts_.clock.now_ns() - begun_ns_) / 1'000'000;
  status.unattached_count = static_cast<std::uint64_t>(
      std::count_if(instances_.begin(), instances_.end(), [&](const auto& each) {
        return each.second->client == nullptr && each.second->tenant == caller.tenant;
      }));
  if (!has_detail) return status;
  status.detail = detail_of(usage);
  add_clients(*status.detail);
  add_programs(names_of_programs_.seen_by(caller), *status.detail);
  return status;
}

}  // namespace quire::server
