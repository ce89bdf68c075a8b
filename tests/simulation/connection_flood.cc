#include "simulation/connection_flood.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace quire::simulation {
namespace {

constexpr std::uint64_t kFloodStream = 0x666c6f6f64u;
constexpr std::uint32_t kWorldsPerFlood = 4;
constexpr std::uint64_t kFloodPauseNsMax = 100 * kMillisecond;
constexpr std::uint64_t kFirstConnection = std::uint64_t{1} << 32;  // Peers have those below.
constexpr std::uint32_t kAddressCount = 3;

}  // namespace

ConnectionFlood::ConnectionFlood(Town& town, server::Link& link, std::uint64_t seed)
    : town_(town),
      link_(link),
      dice_(seed ^ kFloodStream),
      rules_{dice_.between(1, 12), dice_.between(1, 4), !dice_.one_in(4)},
      table_(rules_),
      next_id_(kFirstConnection) {
  if (dice_.one_in(kWorldsPerFlood)) actions_left_ = dice_.between(20, 200);
}

void ConnectionFlood::act() {
  --actions_left_;
  next_ns_ = town_.clock.now_ns() + dice_.time_ns(kFloodPauseNsMax);
  const std::uint32_t draw = dice_.below(10);
  town_.trace.note({"flood"}, "act", draw);
  if (draw < 3 || clients_.empty()) {
    for (std::uint32_t count = dice_.between(1, 6); count > 0; --count) arrive(Key::None);
  } else if (draw == 3 && rules_.has_keys) {
    arrive(dice_.one_in(3) ? Key::Operates : Key::Known);
  } else {
    auto at = clients_.begin();
    std::advance(at, dice_.below(clients_.size()));
    step(at);
  }
}

// Whether a newcomer may find no place, by what the clients do.
bool ConnectionFlood::may_be_refused(Key key) const {
  std::uint32_t kept = 0;
  std::uint32_t kept_in_reserve = 0;
  for (const auto& [id, client] : clients_) {
    const bool is_gone = client.doing == Doing::Gone;
    const bool keeps = client.has_work() || is_gone;
    if (keeps) ++(in_reserve_.at(id) ? kept_in_reserve : kept);
  }
  if (kept < rules_.count_max) return false;
  return key != Key::Operates || kept_in_reserve >= rules_.reserve_count_max;
}

void ConnectionFlood::arrive(Key key) {
  const server::ConnectionId id{next_id_++};
  server::ClientAddress address{};
  address[0] = static_cast<std::uint8_t>(dice_.below(kAddressCount));
  const bool may_be_refused_now = may_be_refused(key);
  const server::ConnectionTable::Arrival arrival = table_.arrive(id, address);
  town_.trace.note({"flood"}, "arrive", static_cast<std::int64_t>(arrival.place));
  if (arrival.closed) {
    const auto closed = clients_.find(*arrival.closed);
    if (closed->second.has_work()) town_.findings.add("a connection with work lost its place");
    leave(closed);
  }
  if (arrival.place == server::ConnectionTable::Place::None) {
    if (!may_be_refused_now)
      town_.findings.add("a connection got no place though others had no work");
    return;
  }
  in_reserve_[id] = arrival.place == server::ConnectionTable::Place::Reserve;
  const auto made = clients_.emplace(id, Client{std::make_shared<server::Connection>(id)}).first;
  if (key == Key::None && dice_.one_in(2)) return;  // It says nothing.
  made->second.key = key;
  read_head(made);
  if (key == Key::None || made->second.doing != Doing::Idle) return;
  if (!may_be_refused_now)
    town_.findings.add("a client with a key was refused though others had no work");
}

// The head came whole. The server itself answers a stranger, and a connection that may not stay.
void ConnectionFlood::read_head(Clients::iterator client) {
  auto& [id, self] = *client;
  const bool stays = table_.head_read(id, self.key);
  if (!stays || (rules_.has_keys && self.key == Key::None)) {
    table_.request_over(id);
    self.doing = Doing::Idle;
    return;
  }
  table_.request_begun(id);
  self.doing = Doing::Asked;
  self.has_asked = true;
  if (!link_.requests.try_push({self.connection, server::MetricsRequest{}, 0})) {
    town_.findings.add("the link has no room for a request of a flood");
  }
}

void ConnectionFlood::step(Clients::iterator client) {
  auto& [id, self] = *client;
  if (self.doing != Doing::Gone && dice_.one_in(6)) return leave(client);
  switch (self.doing) {
    case Doing::Head:
      return read_head(client);
    case Doing::Idle:
      // The server closes it after its answer.
      if (in_reserve_.at(id) && self.key != Key::Operates) return leave(client);
      table_.head_begun(id);
      self.doing = Doing::Head;
      return;
    case Doing::Answered:  // The socket has taken the answer.
      table_.request_over(id);
      self.doing = Doing::Idle;
      return;
    case Doing::Asked:
    case Doing::Gone:
      return;
  }
}

void ConnectionFlood::leave(Clients::iterator client) {
  auto& [id, self] = *client;
  table_.gone(id, self.has_asked);
  if (!self.has_asked) {
    in_reserve_.erase(id);
    clients_.erase(client);
    return;
  }
  self.doing = Doing::Gone;
  if (!link_.requests.try_push({self.connection, server::Gone{}, 0})) {
    town_.findings.add("the link has no room for the word that one of a flood is gone");
  }
}

bool ConnectionFlood::takes(const server::Outbound& outbound) {
  if (outbound.connection == nullptr) return false;
  const server::ConnectionId id = outbound.connection->id;
  if (static_cast<std::uint64_t>(id) < kFirstConnection) return false;
  const auto found = clients_.find(id);
  if (found == clients_.end()) {
    town_.findings.add("a frame for one of a flood that was forgotten");
    return true;
  }
  town_.trace.note({"flood"}, "frame", static_cast<std::int64_t>(outbound.body.index()));
  if (std::holds_alternative<server::Forget>(outbound.body)) {
    table_.forgotten(id);
    in_reserve_.erase(id);
    clients_.erase(found);
  } else if (std::holds_alternative<server::HttpFrame>(outbound.body) &&
             found->second.doing == Doing::Asked) {
    found->second.doing = Doing::Answered;
  }
  return true;
}

void ConnectionFlood::close() {
  actions_left_ = 0;
  for (auto at = clients_.begin(); at != clients_.end();) {
    const auto client = at++;
    if (client->second.doing != Doing::Gone) leave(client);
  }
}

void ConnectionFlood::check_over() const {
  if (!clients_.empty() || table_.count() != 0) {
    town_.findings.add("a connection of a flood is gone and was not forgotten");
  }
}

}  // namespace quire::simulation
