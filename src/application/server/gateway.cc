#include "application/server/gateway.h"

#include <algorithm>
#include <utility>

#include "application/server/gateway_parts.h"
#include "base/check.h"
#include "base/utf8.h"

namespace quire::server {
namespace {

constexpr int kTakeCountPerLook = 8;                   // Requests between looks at the clock.
constexpr std::uint64_t kLastWordsNs = 1'000'000'000;  // For clients to take them at a shutdown.

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

}  // namespace

Gateway::Gateway(const GatewayParts& parts, const SocketLimits& sockets,
                 const ServiceLimits& limits)
    : parts_(parts), sockets_(sockets), limits_(limits), begun_ns_(parts.clock.now_ns()) {}

Gateway::~Gateway() = default;

Result<void> Gateway::name_program(const std::string& name, lifecycle::ProgramId program,
                                   const Digest& digest) {
  const auto [at, is_new] = programs_.emplace(name, NamedProgram{digest, true});
  if (!is_new && at->second.digest != digest) {
    return Error(ErrorCode::AlreadyExists, "two programs are named \"" + name + "\"");
  }
  parts_.manager.name_program(name, program);
  return {};
}

void Gateway::request_shutdown() {
  shutdown_requests_.fetch_add(1);
  parts_.link.engine_wakeup.notify();
}

// ---- A turn of the loop.

bool Gateway::take_requests() {
  bool any = turn_shutdown();
  const std::uint64_t start_ns = parts_.clock.now_ns();
  int count = 0;
  while (std::optional<Inbound> inbound = parts_.link.requests.try_pop()) {
    handle(*inbound);
    any = true;
    if (++count % kTakeCountPerLook == 0 && parts_.clock.now_ns() - start_ns > kTakeNsMax) break;
  }
  any |= serve_waiting();
  any |= serve_file_replies();
  any |= fire_deadlines();
  any |= offer_again();
  hand_out();  // Replies leave before any guest runs.
  return any;
}

void Gateway::hand_out() {
  if (std::exchange(has_pushed_, false)) parts_.link.wake_io();
}

std::optional<std::uint64_t> Gateway::next_timer_ns() const {
  std::optional<std::uint64_t> next;
  if (!deadlines_.empty()) next = deadlines_.begin()->first;
  if (stage_ == Stage::Draining || stage_ == Stage::Stopping) {
    next = std::min(next.value_or(stage_deadline_ns_), stage_deadline_ns_);
  }
  return next;
}

void Gateway::handle(Inbound& inbound) {
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
  } else {
    auto& request = std::get<wire::Request>(inbound.body);
    id = request.id;
    outcome = std::visit([&](auto& body) { return answer(client, id, body); }, request.body);
  }
  if (outcome) {
    push(client, wire::Reply{id, std::move(*outcome)}, inbound.bytes);
  } else {
    push_control({client.connection, Parked{}, 0, inbound.bytes});
  }
}

// ---- Clients.

Gateway::Client& Gateway::client_of(const ConnectionHandle& connection) {
  std::unique_ptr<Client>& client = clients_[connection->id];
  if (client == nullptr) {
    client = std::make_unique<Client>();
    client->connection = connection;
  }
  return *client;
}

void Gateway::client_gone(const ConnectionHandle& connection) {
  std::erase_if(waiting_, [&](const Waiting& each) { return each.connection == connection->id; });
  const auto found = clients_.find(connection->id);
  if (found != clients_.end()) {
    for (const lifecycle::InstanceId id : std::exchange(found->second->instances, {})) {
      Instance& instance = instance_of(id);
      part(instance, instance.is_detached);
    }
    clients_.erase(found);
  }
  refusing_.erase(connection->id);
  push_control({connection, Forget{}, 0, std::nullopt});
}

bool Gateway::has_room(Client& client) const {
  return client.pushed_bytes - client.connection->written_bytes.load() <
         sockets_.unwritten_bytes_max;
}

namespace {

constexpr std::uint64_t kUsageBytes = 1024;  // About what is told of a tenant or an instance.

struct Charge {
  std::uint64_t operator()(const wire::Reply& reply) const {
    if (const auto* list = std::get_if<wire::InstanceList>(&reply.body)) {
      return list->instances.size() * kFrameOverheadBytes;
    }
    const auto* status = std::get_if<wire::StatusReply>(&reply.body);
    if (status == nullptr || !status->detail) return 0;
    return (status->detail->tenants.size() + status->detail->instances.size()) * kUsageBytes;
  }
  std::uint64_t operator()(const wire::MessageEvent& event) const { return event.bytes.size(); }
  std::uint64_t operator()(const wire::LogEvent& event) const { return event.line.size(); }
  std::uint64_t operator()(const wire::FileEvent& event) const { return event.part.bytes.size(); }
  std::uint64_t operator()(const wire::EndedEvent& event) const {
    return event.end.message.size() + event.end.result.size();
  }
  std::uint64_t operator()(const wire::FileDroppedEvent&) const { return 0; }
  std::uint64_t operator()(const wire::ShutdownEvent&) const { return 0; }
  std::uint64_t operator()(const wire::ErrorEvent&) const { return 0; }
};

}  // namespace

void Gateway::push(Client& client, wire::ServerFrame frame,
                   std::optional<std::uint64_t> request_bytes) {
  const std::uint64_t charge = kFrameOverheadBytes + std::visit(Charge{}, frame);
  client.pushed_bytes += charge;
  push_control({client.connection, std::move(frame), charge, request_bytes});
}

void Gateway::push_control(Outbound outbound) {
  QUIRE_CHECK(parts_.link.frames.try_push(std::move(outbound)), "link.h: who pushes has a slot");
  has_pushed_ = true;
}

bool Gateway::offer_again() {
  bool any = false;
  for (auto at = refusing_.begin(); at != refusing_.end();) {
    Client& client = *clients_.at(*at);
    // The flag goes up before the second look, so that no change between them is lost.
    if (!has_room(client)) client.connection->engine_waits.store(true);
    if (!has_room(client)) {
      ++at;
      continue;
    }
    at = refusing_.erase(at);
    any = true;
    for (const lifecycle::InstanceId id : std::exchange(client.refused, {})) {
      const auto found = instances_.find(id);
      if (found == instances_.end() || found->second->client != &client) continue;
      found->second->is_refused = false;
      parts_.manager.client_ready(id);
    }
  }
  return any;
}

// ---- Instances.

Gateway::Instance& Gateway::instance_of(lifecycle::InstanceId id) {
  const auto found = instances_.find(id);
  QUIRE_CHECK(found != instances_.end(), "W1");
  return *found->second;
}

Result<Gateway::Instance*> Gateway::find(const Client& client, std::uint64_t number) {
  const lifecycle::InstanceId id{number};
  if (client.instances.contains(id)) return &instance_of(id);
  return Error(ErrorCode::NotFound, "instance " + std::to_string(number) +
                                        " is not attached to this connection, or has ended");
}

void Gateway::set_deadline(Instance& instance, std::optional<std::uint64_t> deadline_ns) {
  if (instance.deadline_ns) deadlines_.erase({*instance.deadline_ns, instance.id});
  if (deadline_ns) deadlines_.emplace(*deadline_ns, instance.id);
  instance.deadline_ns = deadline_ns;
}

// The instance has no client from here on; its connection no longer counts it.
void Gateway::part(Instance& instance, bool is_detached) {
  file_replies_.erase(instance.id);
  instance.client = nullptr;
  instance.is_refused = false;
  instance.is_detached = is_detached;
  const std::uint64_t now_ns = parts_.clock.now_ns();
  if (stage_ == Stage::Stopping) {
    discard(instance);
  } else if (!is_detached) {
    set_deadline(instance, now_ns + nanoseconds(limits_.grace));
    // One that has ended needs not be told.
    (void)parts_.manager
        .client_left(instance.id, "the client is gone; the program is stopped in " +
                                      std::to_string(limits_.grace.count()) +
                                      " ms unless one attaches")
        .ok();
  } else if (parts_.manager.has_ended(instance.id)) {
    set_deadline(instance, now_ns + nanoseconds(limits_.keep));
  }
}

// Nobody will come for its words.
void Gateway::discard(Instance& instance) {
  set_deadline(instance, std::nullopt);
  instance.is_discarded = true;
  parts_.manager.client_ready(instance.id);
}

bool Gateway::fire_deadlines() {
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

bool Gateway::may_tell(Instance& instance) {
  Client* client = instance.client;
  if (client == nullptr) {
    if (instance.is_detached && !instance.deadline_ns && parts_.manager.has_ended(instance.id)) {
      set_deadline(instance, parts_.clock.now_ns() + nanoseconds(limits_.keep));
    }
    return false;
  }
  if (has_room(*client)) return true;
  if (!std::exchange(instance.is_refused, true)) client->refused.push_back(instance.id);
  refusing_.insert(client->connection->id);
  client->connection->engine_waits.store(true);
  // If the socket took all in between, nobody would wake us.
  if (has_room(*client)) parts_.link.engine_wakeup.notify();
  return false;
}

bool Gateway::heard(lifecycle::InstanceId id, const service::Said& said) {
  Instance& instance = instance_of(id);
  if (!instance.is_discarded) {
    if (!may_tell(instance)) return false;
    std::visit([&](const auto& each) { tell(instance, each); }, said);
  }
  if (std::holds_alternative<service::Ended>(said)) forget(instance);
  return true;
}

void Gateway::tell(Instance& instance, const service::Message& said) {
  push(*instance.client, wire::MessageEvent{instance.number(), std::string(said.bytes)});
}

void Gateway::tell(Instance& instance, const service::LogLine& said) {
  push(*instance.client,
       wire::LogEvent{instance.number(), said.source, said.level, std::string(said.text)});
}

void Gateway::tell(Instance& instance, const service::SentPart& said) {
  push(*instance.client,
       wire::FileEvent{instance.number(), said.file,
                       wire::FilePart{std::string(said.name), std::string(said.media_type),
                                      said.file_bytes, said.offset, std::string(said.bytes)}});
}

void Gateway::tell(Instance& instance, const service::DroppedFile& said) {
  push(*instance.client, wire::FileDroppedEvent{instance.number(), said.file});
}

namespace {

constexpr std::size_t kEndMessageBytesMax = 16u << 10;

// What is escaped in the frame takes twice as many bytes there at most, and fits its header.
std::string beginning_of(const std::string& message) {
  std::string text = printable_lines(message.substr(0, kEndMessageBytesMax));
  text.resize(utf8_valid_bytes(std::string_view(text).substr(0, kEndMessageBytesMax)));
  return text;
}

}  // namespace

void Gateway::tell(Instance& instance, const service::Ended& said) {
  reply_to_file(instance.id, has_ended());
  wire::EndedEvent event{instance.number(), said.end};
  event.end.message = beginning_of(said.end.message);
  push(*instance.client, std::move(event));
}

void Gateway::forget(Instance& instance) {
  const lifecycle::InstanceId id = instance.id;
  file_replies_.erase(id);
  set_deadline(instance, std::nullopt);
  if (instance.client != nullptr) instance.client->instances.erase(id);
  names_.erase(instance.name);
  instances_.erase(id);
}

// ---- The end.

void Gateway::stop_all(const char* reason) {
  for (const auto& [id, instance] : instances_) {
    if (!parts_.manager.has_ended(id)) {
      QUIRE_CHECK(parts_.manager.kill(id, reason).ok(), "it has not ended");
    }
    if (instance->client == nullptr) discard(*instance);
  }
}

bool Gateway::turn_shutdown() {
  const std::uint32_t requests = shutdown_requests_.load();
  if (requests == 0 || stage_ == Stage::Closed) return false;
  const std::uint64_t now_ns = parts_.clock.now_ns();
  const std::size_t count = parts_.manager.live_count();
  const std::string instances = std::to_string(count) + (count == 1 ? " instance" : " instances");
  if (stage_ == Stage::Serving) {
    stage_ = Stage::Draining;
    stage_deadline_ns_ = now_ns + nanoseconds(limits_.grace);
    push_control({nullptr, StopAccepting{}, 0, std::nullopt});
    push_control({nullptr,
                  Broadcast{wire::ShutdownEvent{static_cast<std::uint64_t>(limits_.grace.count())}},
                  0, std::nullopt});
    parts_.tell(count == 0 ? "shutting down"
                           : "shutting down: waiting for " + instances + ", at most " +
                                 std::to_string(limits_.grace.count()) +
                                 " ms; a second signal stops them at once");
  }
  if (stage_ == Stage::Draining) {
    if (count > 0 && requests < 2 && now_ns < stage_deadline_ns_) return false;
    if (count > 0) parts_.tell("stopping " + instances);
    stage_ = Stage::Stopping;
    stage_deadline_ns_ = now_ns + kLastWordsNs;
    stop_all("the server is shutting down");
    return true;
  }
  if (count == 0) {
    stage_ = Stage::Closed;
    parts_.loop.stop();
    return true;
  }
  if (now_ns < stage_deadline_ns_) return false;
  parts_.tell("the last words of " + instances + " were not taken by their clients");
  for (const auto& [id, instance] : instances_) discard(*instance);
  stage_deadline_ns_ = UINT64_MAX;
  return true;
}

// ---- For tests.

Gateway::Counts Gateway::counts() const {
  return {clients_.size(), instances_.size(), waiting_.size(), deadlines_.size(),
          file_replies_.size()};
}

void Gateway::verify() const {
  std::size_t attached = 0;
  std::size_t deadlines = 0;
  for (const auto& [id, instance] : instances_) {
    QUIRE_CHECK(names_.at(instance->name) == id, "W3");
    if (instance->client != nullptr) {
      ++attached;
      QUIRE_CHECK(instance->client->instances.contains(id), "W1");
      QUIRE_CHECK(!instance->deadline_ns, "W4");
    } else if (!instance->is_discarded) {
      const bool runs_alone = instance->is_detached && !parts_.manager.has_ended(id);
      QUIRE_CHECK(instance->deadline_ns || runs_alone, "W2");
    }
    if (instance->deadline_ns) {
      ++deadlines;
      QUIRE_CHECK(deadlines_.contains({*instance->deadline_ns, id}), "W4");
    }
  }
  QUIRE_CHECK(deadlines == deadlines_.size(), "W4");
  QUIRE_CHECK(names_.size() == instances_.size(), "W3");
  for (const auto& [id, client] : clients_) {
    QUIRE_CHECK(client->connection->id == id, "W1");
    attached -= client->instances.size();
  }
  QUIRE_CHECK(attached == 0, "W1");
  for (const auto& [id, request] : file_replies_) {
    QUIRE_CHECK(instances_.at(id)->client != nullptr, "W5");
  }
}

}  // namespace quire::server
