#include "simulation/clients.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace quire::simulation {

using lifecycle::InstanceId;

namespace {

constexpr std::uint64_t kPauseNsMax = 20'000'000;
constexpr std::uint64_t kDeadlineNsMax = kSecond;

}  // namespace

// ---- As the command line.

DirectClient::DirectClient(Town& town, lifecycle::InstanceManager& manager,
                           const Programs& programs, std::uint64_t number, std::uint64_t seed)
    : town_(town),
      manager_(manager),
      programs_(programs),
      number_(number),
      dice_(seed),
      actions_left_(town.knobs.client_action_count) {}

void DirectClient::launch() {
  const std::uint32_t roles = town_.knobs.scenario == Scenario::Conversation ? 4 : kRoleCount;
  const auto role = static_cast<std::size_t>(
      roles == kRoleCount ? dice_.below(kRoleCount)
                          : static_cast<std::uint32_t>(Role::Messenger) + dice_.below(roles));
  lifecycle::LaunchRequest request;
  request.program = programs_.by_role[role];
  request.tenant = control::TenantId{1 + dice_.below(town_.knobs.tenant_count)};
  request.arguments = {std::to_string(dice_.next())};
  request.limits = town_.knobs.limits;
  // Promises nothing: an order among equals, and some are over before they begin.
  if (dice_.one_in(3)) request.deadline_in_ns = 1 + dice_.time_ns(kDeadlineNsMax);
  const Result<InstanceId> launched = manager_.launch(std::move(request), *this);
  if (!launched.ok()) {
    town_.trace.note({"client", number_}, "refused",
                     static_cast<std::int64_t>(launched.error().code()));
    const bool is_full = town_.knobs.scenario == Scenario::Thrift &&
                         launched.error().code() == ErrorCode::Unavailable;
    if (!is_full) {
      town_.findings.add("a launch is refused: " + std::string(launched.error().message()));
    }
    return;
  }
  town_.trace.note({"client", number_}, "launch", static_cast<std::int64_t>(launched.value()));
  own_.push_back(launched.value());
}

void DirectClient::act() {
  --actions_left_;
  next_ns_ = town_.clock.now_ns() + dice_.time_ns(kPauseNsMax);
  if (own_.empty() || dice_.one_in(3)) return launch();
  const InstanceId some = own_[dice_.below(own_.size())];
  const std::uint32_t draw = dice_.below(100);
  town_.trace.note({"client", number_}, "act", draw);
  if (draw < 20) {
    send_file(some);
  } else if (draw < 60) {
    std::uint64_t& count = town_.residents[number(some)].told_count;
    if (manager_.send_to(some, "client " + std::to_string(count)).ok()) ++count;
  } else if (draw < 70) {
    set_taking(!is_taking_);
  } else if (draw < 76) {
    (void)manager_.close_input(some).ok();  // It may have ended.
  } else if (draw < 84) {
    (void)manager_.client_left(some, "the client left").ok();
  } else if (draw < 94) {
    (void)manager_.client_back(some).ok();
  } else {
    (void)manager_.kill(some, "by its client").ok();
  }
}

// The next part of its file, which goes to one instance after the other.
void DirectClient::send_file(InstanceId to) {
  if (file_bytes_ == file_offset_) {
    file_offset_ = 0;
    file_bytes_ = dice_.between(1, 4) * std::uint64_t{200};
    file_to_ = to;
  }
  const std::uint64_t bytes = std::min<std::uint64_t>(file_bytes_ - file_offset_, 150);
  const Result<void> sent =
      manager_.send_file_to(file_to_, {.name = "file",
                                       .media_type = "text/plain",
                                       .file_bytes = file_bytes_,
                                       .offset = file_offset_,
                                       .bytes = file_part(file_offset_, bytes)});
  if (sent.ok()) {
    file_offset_ += bytes;
  } else if (sent.error().code() != ErrorCode::QuotaExceeded) {
    file_offset_ = file_bytes_;  // Given up: the program has ended, or hears nothing more.
  }
}

void DirectClient::set_taking(bool takes) {
  is_taking_ = takes;
  if (!takes) return;
  for (const InstanceId each : std::exchange(refused_, {})) manager_.client_ready(each);
}

void DirectClient::close() {
  actions_left_ = 0;
  set_taking(true);
}

void DirectClient::leave() {
  for (const InstanceId each : own_) {
    (void)manager_.client_left(each, "the client left").ok();  // It may have ended.
  }
  close();
}

void DirectClient::abort_all() {
  for (const InstanceId each : own_) (void)manager_.kill(each, "by its client").ok();
}

bool DirectClient::takes(InstanceId instance) {
  if (!is_taking_) refused_.insert(instance);
  return is_taking_;
}

bool DirectClient::heard(InstanceId instance, const service::Said& said) {
  if (!takes(instance)) return false;
  std::visit([&](const auto& each) { hear(instance, each); }, said);
  return true;
}

void DirectClient::hear(InstanceId instance, const service::Message& said) {
  town_.trace.note({"client", number_}, "hears", static_cast<std::int64_t>(instance), said.bytes);
  town_.heard(number(instance), std::string(said.bytes));
}

void DirectClient::hear(InstanceId, const service::LogLine& said) {
  town_.trace.note({"client", number_}, "log", static_cast<std::int64_t>(said.level), said.text);
}

void DirectClient::hear(InstanceId instance, const service::SentPart& said) {
  town_.trace.note({"client", number_}, "file", static_cast<std::int64_t>(instance), said.bytes);
  town_.heard_part(number(instance), said.file, said.offset, said.bytes);
}

void DirectClient::hear(InstanceId instance, const service::DroppedFile&) {
  town_.trace.note({"client", number_}, "file", static_cast<std::int64_t>(instance), "");
}

void DirectClient::hear(InstanceId, const service::ResponsePart&) {}

void DirectClient::hear(InstanceId instance, const service::Ended& said) {
  const service::End& end = said.end;
  town_.trace.note({"client", number_}, "ended", static_cast<std::int64_t>(instance), end.message);
  town_.ended(number(instance), static_cast<std::uint8_t>(end.kind), end.exit_code, end.result);
  const Resident& resident = town_.residents[number(instance)];
  if (resident.heard_count == resident.said_count) return;
  town_.findings.add("instance " + std::to_string(number(instance)) + " said " +
                     std::to_string(resident.said_count) + " messages, its client heard " +
                     std::to_string(resident.heard_count));
}

// ---- Through the gateway.

Peers::Peers(Town& town, server::Link& link, std::uint64_t seed)
    : town_(town),
      link_(link),
      dice_(seed),
      actions_left_(town.knobs.peer_count * town.knobs.client_action_count) {}

Peers::Peer& Peers::some_peer() {
  if (peers_.empty() || (peers_.size() < town_.knobs.peer_count && dice_.one_in(3))) {
    const server::ConnectionId id{next_connection_++};
    Peer& peer = peers_[id];
    peer.connection = std::make_shared<server::Connection>(id);
    peer.connection->caller = service::operator_without_keys();
    return peer;
  }
  auto at = peers_.begin();
  std::advance(at, dice_.below(peers_.size()));
  return at->second;
}

InstanceNumber Peers::some_instance(const Peer& peer) {
  if (peer.instances.empty() || dice_.one_in(10)) return dice_.below(30);
  auto at = peer.instances.begin();
  std::advance(at, dice_.below(peer.instances.size()));
  return *at;
}

void Peers::act() {
  --actions_left_;
  next_ns_ = town_.clock.now_ns() + dice_.time_ns(kPauseNsMax);
  Peer& peer = some_peer();
  if (peer.is_gone) return;
  const std::uint32_t draw = dice_.below(100);
  town_.trace.note({"peer", static_cast<std::uint64_t>(peer.connection->id)}, "act", draw);
  if (draw < 6) {
    leave(peer);
  } else if (draw < 30) {
    take(peer);
  } else {
    ask(peer, some_request(peer));
  }
}

wire::RequestBody Peers::some_request(const Peer& peer) {
  const std::uint32_t draw = dice_.below(100);
  if (draw < 40) {
    wire::Launch launch;
    launch.program.name = role_name(static_cast<Role>(dice_.below(kRoleCount)));
    launch.arguments = {std::to_string(dice_.next())};
    launch.detached = dice_.one_in(4);
    return launch;
  }
  if (draw < 52 && !names_.empty()) return wire::Attach{names_[dice_.below(names_.size())]};
  const InstanceNumber instance = some_instance(peer);
  if (draw < 58) return wire::Detach{instance};
  if (draw < 61) return wire::Abort{instance};
  if (draw < 64) return wire::CloseInput{instance};
  if (draw < 67) return wire::List{};
  if (draw < 70) return wire::Status{};
  const std::uint64_t told = town_.residents[instance].told_count++;
  return wire::Send{instance, "client " + std::to_string(told)};
}

void Peers::ask(Peer& peer, wire::RequestBody body) {
  const std::uint64_t id = next_request_++;
  peer.asked[id] = body;
  if (!link_.requests.try_push({peer.connection, wire::Request{id, std::move(body)}, 9})) {
    town_.findings.add("the link has no room for a request");
  }
}

void Peers::leave(Peer& peer) {
  if (std::exchange(peer.is_gone, true)) return;
  if (!link_.requests.try_push({peer.connection, server::Gone{}, 0})) {
    town_.findings.add("the link has no room for the word that a connection is gone");
  }
}

// The socket takes some of what is queued.
void Peers::take(Peer& peer) {
  for (std::uint32_t count = dice_.below(peer.unwritten.size() + 1); count > 0; --count) {
    peer.connection->written_bytes += peer.unwritten.front();
    peer.unwritten.pop_front();
  }
  peer.connection->engine_waits = false;
}

void Peers::close() {
  actions_left_ = 0;
  for (auto& [id, peer] : peers_) leave(peer);
}

void Peers::abort_all() {
  for (auto& [id, peer] : peers_) {
    if (peer.is_gone) continue;
    const std::set<InstanceNumber> instances = peer.instances;
    for (const InstanceNumber each : instances) ask(peer, wire::Abort{each});
  }
}

void Peers::see(server::Outbound& outbound) {
  if (outbound.connection == nullptr) return;
  const server::ConnectionId id = outbound.connection->id;
  const auto found = peers_.find(id);
  if (found == peers_.end()) {
    town_.findings.add("a frame for a connection that was forgotten");
    return;
  }
  Peer& peer = found->second;
  town_.trace.note({"peer", static_cast<std::uint64_t>(id)}, "frame",
                   static_cast<std::int64_t>(outbound.charge));
  if (std::holds_alternative<server::Forget>(outbound.body)) {
    peers_.erase(found);
    return;
  }
  auto* frame = std::get_if<wire::ServerFrame>(&outbound.body);
  if (frame == nullptr) return;
  peer.unwritten.push_back(outbound.charge);
  const auto is_attached = [&](std::uint64_t instance) {
    if (!peer.instances.contains(instance)) {
      town_.findings.add("a client hears of instance " + std::to_string(instance) +
                         ", to which it is not attached");
    }
  };
  if (const auto* reply = std::get_if<wire::Reply>(frame)) {
    see_reply(peer, *reply);
  } else if (const auto* message = std::get_if<wire::MessageEvent>(frame)) {
    is_attached(message->instance);
    town_.heard(message->instance, message->bytes);
  } else if (const auto* file = std::get_if<wire::FileEvent>(frame)) {
    is_attached(file->instance);
    town_.heard_part(file->instance, file->file, file->part.offset, file->part.bytes);
  } else if (const auto* ended = std::get_if<wire::EndedEvent>(frame)) {
    is_attached(ended->instance);
    peer.instances.erase(ended->instance);
    town_.ended(ended->instance, static_cast<std::uint8_t>(ended->end.kind), ended->end.exit_code,
                ended->end.result);
  }
}

void Peers::see_reply(Peer& peer, const wire::Reply& reply) {
  const auto asked = peer.asked.extract(reply.id);
  if (asked.empty()) {
    town_.findings.add("a reply to no request, or a second one");
    return;
  }
  if (const auto* instance = std::get_if<wire::InstanceReply>(&reply.body)) {
    for (const auto& [id, other] : peers_) {
      if (!other.is_gone && other.instances.contains(instance->instance)) {
        town_.findings.add("two clients have instance " + std::to_string(instance->instance));
      }
    }
    peer.instances.insert(instance->instance);
    names_.push_back(instance->name);
  } else if (const auto* detach = std::get_if<wire::Detach>(&asked.mapped())) {
    if (std::holds_alternative<wire::Done>(reply.body)) peer.instances.erase(detach->instance);
  } else if (const auto* list = std::get_if<wire::InstanceList>(&reply.body)) {
    std::set<InstanceNumber> listed;
    for (const wire::InstanceReply& each : list->instances) listed.insert(each.instance);
    if (listed != peer.instances)
      town_.findings.add("a client is told of other instances than its");
  }
}

void Peers::check_over() const {
  if (!peers_.empty()) town_.findings.add("a connection is gone and was not forgotten");
}

}  // namespace quire::simulation
