// Random clients act around a gateway, an engine and guests, in one thread, on a clock that the
// test moves. Whatever they do, each request has one answer, and each instance has one client at a
// time. Nothing that an instance said is lost, doubled or out of order. In the end nothing is left.
#include "application/server/gateway.h"

#include <gtest/gtest.h>

#include <map>

#include "application/server/server_test_support.h"
#include "base/clock.h"
#include "base/seeds.h"

namespace quire::server {
namespace {

class GatewayProgram {
 public:
  explicit GatewayProgram(std::uint64_t seed)
      : random_(seed),
        served_(clock_, kAdmission),
        link_(sockets_, service_, kAdmission.total(), served_.engine.wakeup),
        gateway_({.manager = served_.engine.manager,
                  .loop = served_.engine.loop,
                  .control = served_.engine.control,
                  .link = link_,
                  .clock = clock_,
                  .random = served_.engine.random,
                  .tell = [](const LogEvent&) {}},
                 sockets_, service_) {
    link_.wake_io = [] {};
    served_.engine.loop.set_door(&gateway_);
    served_.name_programs(gateway_);
  }

  void run() {
    for (int i = 0; i < 400; ++i) {
      act();
      turn();
    }
    for (auto& [id, peer] : peers_) leave(peer);
    clock_.advance_ns(1'000 * kMillisecond);
    for (int i = 0; i < 100 && served_.engine.manager.live_count() > 0; ++i) {
      clock_.advance_ns(50 * kMillisecond);
      turn();
    }
    turn();
    // Detached ones that never end are all that may be left.
    EXPECT_EQ(gateway_.counts().connections, 0u);
    EXPECT_EQ(gateway_.counts().deadlines, 0u);
    gateway_.request_shutdown();
    gateway_.request_shutdown();
    for (int i = 0; i < 10; ++i) turn();
    EXPECT_EQ(served_.engine.manager.live_count(), 0u);
    EXPECT_EQ(gateway_.counts(), Gateway::Counts{});
  }

 private:
  struct Peer {
    ConnectionHandle connection;
    std::set<std::uint64_t> asked;      // Requests without a reply.
    std::set<std::uint64_t> instances;  // As the replies say.
    std::set<std::uint64_t> taken;      // By other clients, of which it has not heard yet.
    std::map<std::uint64_t, wire::RequestBody> requests;
    std::deque<std::uint64_t> unwritten;  // Charges.
    bool is_gone = false;
  };

  std::uint64_t below(std::uint64_t count) { return random_.next() % count; }

  Peer& some_peer() {
    if (peers_.empty() || below(10) == 0) {
      const ConnectionId id{next_connection_++};
      Peer& peer = peers_[id];
      peer.connection = std::make_shared<Connection>(id);
      peer.connection->caller = some_caller();
      return peer;
    }
    return std::next(peers_.begin(), static_cast<std::ptrdiff_t>(below(peers_.size())))->second;
  }
  // The operator, or a client of one of two tenants.
  service::PrincipalHandle some_caller() {
    const auto tenant = static_cast<std::uint32_t>(below(3));
    if (tenant == 0) return service::operator_without_keys();
    return std::make_shared<const service::Principal>(service::Principal{
        control::TenantId{tenant}, "key", {service::Right::Launch, service::Right::SeeTenant}, {}});
  }
  std::uint64_t some_instance(const Peer& peer) {
    if (peer.instances.empty() || below(10) == 0) return below(30);
    return *std::next(peer.instances.begin(),
                      static_cast<std::ptrdiff_t>(below(peer.instances.size())));
  }
  std::string some_name() {
    if (names_.empty() || below(10) == 0) return std::string(32, '0');
    return names_[below(names_.size())];
  }

  void act() {
    Peer& peer = some_peer();
    if (peer.is_gone) return;
    const std::uint64_t draw = below(100);
    if (draw < 8) {
      leave(peer);
    } else if (draw < 20) {
      clock_.advance_ns(below(80) * kMillisecond);
    } else if (draw < 30) {
      take(peer);
    } else {
      ask(peer, request(peer, draw));
    }
  }

  wire::RequestBody request(const Peer& peer, std::uint64_t draw) {
    static constexpr const char* kPrograms[] = {"echo",  "say",   "late", "stubborn",
                                                "flood", "files", "none"};
    if (draw < 45) {
      wire::Launch launch = launch_of(kPrograms[below(std::size(kPrograms))], {"hello"});
      launch.detached = below(4) == 0;
      launch.attached = below(8) != 0;
      return launch;
    }
    const std::uint64_t instance = some_instance(peer);
    if (draw < 60) {
      const bool takes = below(4) == 0;
      if (below(2) == 0) return wire::Attach{some_name(), 0, takes};
      return wire::Attach{{}, 1 + below(30), takes};
    }
    if (draw < 70) return wire::Detach{instance};
    if (draw < 74) return wire::Abort{instance};
    if (draw < 78) return wire::CloseInput{instance};
    if (draw < 80) return wire::List{};
    if (draw < 82) return wire::Status{};
    if (draw < 83) return wire::FindProgram{by_digest("echo")};
    if (draw < 84) return wire::NameProgram{*by_digest("echo").digest, "none"};
    if (draw < 92) return file_part(instance);
    return wire::Send{instance, below(8) == 0 ? "quit" : below(16) == 0 ? "crash" : "hello"};
  }

  // A part of a file of 700 bytes, mostly the next one in order.
  wire::RequestBody file_part(std::uint64_t instance) {
    std::uint64_t& offset = offsets_[instance];
    if (below(8) == 0) offset = 0;
    const wire::SendFile request{instance,
                                 {"file", "text/plain", 700, offset, std::string(100, 'x')}};
    offset = (offset + 100) % 700;
    return request;
  }

  void ask(Peer& peer, wire::RequestBody body) {
    const std::uint64_t id = next_request_++;
    peer.asked.insert(id);
    peer.requests[id] = body;
    ASSERT_TRUE(link_.requests.try_push({peer.connection, wire::Request{id, std::move(body)}, 9}));
  }

  void leave(Peer& peer) {
    if (std::exchange(peer.is_gone, true)) return;
    ASSERT_TRUE(link_.requests.try_push({peer.connection, Gone{}, 0}));
  }

  // The socket takes some of what is queued.
  void take(Peer& peer) {
    for (std::uint64_t count = below(peer.unwritten.size() + 1); count > 0; --count) {
      peer.connection->written_bytes += peer.unwritten.front();
      peer.unwritten.pop_front();
    }
    peer.connection->engine_waits = false;
  }

  void turn() {
    served_.engine.loop.step();
    while (std::optional<Outbound> outbound = link_.frames.try_pop()) see(*outbound);
    gateway_.verify();
    served_.engine.manager.verify();
  }

  void see(Outbound& outbound) {
    if (outbound.connection == nullptr) return;
    const ConnectionId id = outbound.connection->id;
    if (std::holds_alternative<Forget>(outbound.body)) {
      peers_.erase(id);
      return;
    }
    if (std::holds_alternative<Parked>(outbound.body)) return;
    ASSERT_TRUE(peers_.contains(id)) << "a frame for who was forgotten";
    Peer& peer = peers_.at(id);
    auto* frame = std::get_if<wire::ServerFrame>(&outbound.body);
    ASSERT_NE(frame, nullptr);
    peer.unwritten.push_back(outbound.charge);
    if (auto* reply = std::get_if<wire::Reply>(frame)) {
      see_reply(peer, *reply);
    } else if (auto* message = std::get_if<wire::MessageEvent>(frame)) {
      see_message(peer, *message);
    } else if (auto* file = std::get_if<wire::FileEvent>(frame)) {
      EXPECT_TRUE(peer.instances.contains(file->instance)) << "a file to who is not attached";
      std::uint64_t& heard = heard_[{file->instance, file->file}];
      EXPECT_EQ(file->part.offset, heard) << "a part was lost, said twice, or out of order";
      heard += file->part.bytes.size();
    } else if (auto* detached = std::get_if<wire::DetachedEvent>(frame)) {
      const std::size_t count =
          peer.instances.erase(detached->instance) + peer.taken.erase(detached->instance);
      EXPECT_EQ(count, 1u) << "no client had taken it";
    } else if (auto* ended = std::get_if<wire::EndedEvent>(frame)) {
      EXPECT_EQ(peer.instances.erase(ended->instance), 1u) << "told to who was not attached";
      EXPECT_TRUE(ended_.insert(ended->instance).second) << "ended twice";
    }
  }

  void see_reply(Peer& peer, const wire::Reply& reply) {
    ASSERT_EQ(peer.asked.erase(reply.id), 1u) << "a reply to no request";
    const wire::RequestBody request = std::move(peer.requests.extract(reply.id).mapped());
    if (const auto* instance = std::get_if<wire::InstanceReply>(&reply.body)) {
      names_.push_back(instance->name);
      const auto* launch = std::get_if<wire::Launch>(&request);
      if (launch != nullptr && !launch->attached) return;
      const auto* attach = std::get_if<wire::Attach>(&request);
      for (auto& [id, other] : peers_) {
        if (attach == nullptr || !attach->takes) break;
        if (other.instances.erase(instance->instance) > 0) other.taken.insert(instance->instance);
      }
      peer.taken.erase(instance->instance);
      for (const auto& [id, other] : peers_) {
        EXPECT_TRUE(other.is_gone || !other.instances.contains(instance->instance))
            << "two clients for one instance";
      }
      peer.instances.insert(instance->instance);
    } else if (const auto* detach = std::get_if<wire::Detach>(&request)) {
      if (std::holds_alternative<wire::Done>(reply.body)) peer.instances.erase(detach->instance);
    } else if (const auto* list = std::get_if<wire::InstanceList>(&reply.body)) {
      std::set<std::uint64_t> listed;
      for (const wire::InstanceReply& each : list->instances) listed.insert(each.instance);
      EXPECT_EQ(listed, peer.instances);
    }
  }

  // A message of a flood begins with the number of messages before it.
  void see_message(Peer& peer, const wire::MessageEvent& message) {
    EXPECT_TRUE(peer.instances.contains(message.instance)) << "told to who is not attached";
    EXPECT_FALSE(ended_.contains(message.instance)) << "words after the last";
    if (message.bytes.size() != 1000) return;
    EXPECT_EQ(std::stoull(message.bytes), said_count_[message.instance]++)
        << "lost, said twice, or out of order";
  }

  ManualClock clock_;
  SeededRandom random_;
  const SocketLimits sockets_ = {.unwritten_bytes_max = 8192};
  static constexpr lifecycle::AdmissionLimits kAdmission = {.instance_count_max = 4,
                                                            .waiting_launch_count_max = 2};
  static ServiceLimits service_limits() {
    ServiceLimits limits;
    limits.grace = std::chrono::milliseconds(100);
    limits.keep = std::chrono::milliseconds(300);
    limits.instance.guest.file_inbox_bytes_max = 1000;
    limits.instance.guest.file_outbox_bytes_max = 1000;
    return limits;
  }
  const ServiceLimits service_ = service_limits();
  ServedEngine served_;
  Link link_;
  Gateway gateway_;
  std::map<ConnectionId, Peer> peers_;
  std::vector<std::string> names_;
  std::set<std::uint64_t> ended_;
  std::map<std::uint64_t, std::uint64_t> said_count_;  // By floods.
  std::map<std::uint64_t, std::uint64_t> offsets_;     // Of the next part for an instance.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> heard_;  // Bytes of a file.
  std::uint64_t next_connection_ = 1;
  std::uint64_t next_request_ = 1;
};

TEST(GatewayPrograms, KeepEveryPromiseToClientsWhoComeAndGoAtRandom) {
  for (const std::uint64_t seed : campaign_seeds(2000)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GatewayProgram(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace quire::server
