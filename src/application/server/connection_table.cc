#include "application/server/connection_table.h"

#include <algorithm>

#include "base/check.h"

namespace quire::server {

ConnectionTable::Entry& ConnectionTable::entry_of(ConnectionId id) {
  const auto found = entries_.find(id);
  QUIRE_CHECK(found != entries_.end(), "the connection has an entry until it is forgotten");
  return found->second;
}

// The queue from which a connection of this kind is taken to be closed.
ConnectionTable::Queue* ConnectionTable::queue_of(const Entry& entry) {
  const bool is_open = entry.state == State::Head || entry.state == State::Idle;
  if (!is_open) return nullptr;
  if (entry.is_reserve && !entry.operates) return &reserve_;
  if (entry.is_reserve) return entry.state == State::Idle ? &reserve_idle_ : nullptr;
  if (entry.is_known) return entry.state == State::Idle ? &keyed_idle_ : nullptr;
  return entry.state == State::Idle ? &stranger_idle_ : &stranger_head_;
}

void ConnectionTable::leave_queues(Entry& entry) {
  if (entry.queue != nullptr) entry.queue->erase(entry.at);
  entry.queue = nullptr;
  if (entry.address_queue == nullptr) return;
  entry.address_queue->erase(entry.address_at);
  entry.address_queue = nullptr;
  const auto queues = addresses_.find(entry.address);
  if (queues->second.count() == 0) addresses_.erase(queues);
}

void ConnectionTable::enter(ConnectionId id, Entry& entry, State state) {
  entry.state = state;
  Queue* const queue = queue_of(entry);
  if (queue == entry.queue) return;  // It stays where it is in the line.
  leave_queues(entry);
  entry.queue = queue;
  if (queue == nullptr) return;
  entry.at = entry.queue->insert(entry.queue->end(), id);
  if (!rules_.has_keys || entry.is_known || entry.is_reserve) return;
  AddressQueues& queues = addresses_[entry.address];
  entry.address_queue = state == State::Idle ? &queues.idle : &queues.head;
  entry.address_at = entry.address_queue->insert(entry.address_queue->end(), id);
}

void ConnectionTable::give_up_place(Entry& entry) {
  --(entry.is_reserve ? reserve_count_ : regular_count_);
}

ConnectionId ConnectionTable::shed(ConnectionId id, ShedReason reason) {
  Entry& entry = entry_of(id);
  leave_queues(entry);
  give_up_place(entry);
  entry.state = State::Shed;
  ++forgetting_count_;
  count_shed(reason);
  return id;
}

// Closes a stranger of the address if that has its share.
std::optional<ConnectionId> ConnectionTable::make_room_at(const ClientAddress& address) {
  const auto found = addresses_.find(address);
  const std::optional<std::uint32_t> most = rules_.address_count_max();
  if (!most || found == addresses_.end() || found->second.count() < *most) return std::nullopt;
  const AddressQueues& queues = found->second;
  return shed(queues.idle.empty() ? queues.head.front() : queues.idle.front(), ShedReason::Address);
}

// Closes the connection whose place a newcomer gets, if there is one.
std::optional<ConnectionId> ConnectionTable::make_room() {
  if (forgetting_count_ >= rules_.count_max) return std::nullopt;  // CN4
  if (!stranger_idle_.empty()) return shed(stranger_idle_.front(), ShedReason::StrangerIdle);
  if (!stranger_head_.empty()) return shed(stranger_head_.front(), ShedReason::StrangerHead);
  if (!keyed_idle_.empty()) return shed(keyed_idle_.front(), ShedReason::KeyedIdle);
  return std::nullopt;
}

std::optional<ConnectionId> ConnectionTable::make_room_in_reserve() {
  if (!reserve_.empty()) return shed(reserve_.front(), ShedReason::Reserve);
  if (forgetting_count_ >= rules_.count_max) return std::nullopt;  // CN4
  if (!reserve_idle_.empty()) return shed(reserve_idle_.front(), ShedReason::KeyedIdle);
  return std::nullopt;
}

ConnectionTable::Arrival ConnectionTable::arrive(ConnectionId id, const ClientAddress& address) {
  Arrival arrival{Place::Regular, make_room_at(address)};
  if (regular_count_ >= rules_.count_max) arrival.closed = make_room();
  if (regular_count_ >= rules_.count_max) {
    if (reserve_count_ >= rules_.reserve_count_max) arrival.closed = make_room_in_reserve();
    if (reserve_count_ >= rules_.reserve_count_max) {
      count_shed(ShedReason::Full);
      return {};
    }
    arrival.place = Place::Reserve;
  }
  const auto [made, is_new] = entries_.emplace(id, Entry{});
  QUIRE_CHECK(is_new, "a connection arrives once");
  Entry& entry = made->second;
  entry.address = address;
  entry.is_reserve = arrival.place == Place::Reserve;
  ++(entry.is_reserve ? reserve_count_ : regular_count_);
  enter(id, entry, State::Head);
  return arrival;
}

void ConnectionTable::head_begun(ConnectionId id) {
  Entry& entry = entry_of(id);
  QUIRE_CHECK(entry.state == State::Idle, "a further head begins between requests");
  enter(id, entry, State::Head);
}

bool ConnectionTable::head_read(ConnectionId id, Key key) {
  Entry& entry = entry_of(id);
  QUIRE_CHECK(entry.state == State::Head, "a head is read once it has begun");
  if (key != Key::None) {
    entry.is_known = true;
    entry.operates |= key == Key::Operates;
    enter(id, entry, State::Head);
  }
  if (!entry.is_reserve || entry.operates) return true;
  count_shed(ShedReason::Reserve);
  return false;
}

void ConnectionTable::request_begun(ConnectionId id) {
  Entry& entry = entry_of(id);
  QUIRE_CHECK(entry.state == State::Head, "a request begins with its head");
  enter(id, entry, State::Busy);
}

void ConnectionTable::request_over(ConnectionId id) {
  Entry& entry = entry_of(id);
  QUIRE_CHECK(
      entry.state == State::Head || entry.state == State::Idle || entry.state == State::Busy,
      "an open connection that is not a WebSocket");
  enter(id, entry, State::Idle);
}

void ConnectionTable::upgraded(ConnectionId id) {
  request_begun(id);
}

void ConnectionTable::head_expired(ConnectionId id) {
  const Entry& entry = entry_of(id);
  if (entry.is_reserve && !entry.operates) count_shed(ShedReason::Reserve);
}

void ConnectionTable::gone(ConnectionId id, bool is_known_to_engine) {
  Entry& entry = entry_of(id);
  leave_queues(entry);
  if (is_known_to_engine) {
    entry.state = entry.has_place() ? State::Leaving : State::Forgetting;
    return;
  }
  forgotten(id);
}

void ConnectionTable::forgotten(ConnectionId id) {
  Entry& entry = entry_of(id);
  QUIRE_CHECK(entry.queue == nullptr, "it is gone");
  if (entry.has_place()) {
    give_up_place(entry);
  } else {
    --forgetting_count_;
  }
  entries_.erase(id);
}

void ConnectionTable::verify() const {
  QUIRE_CHECK(regular_count_ <= rules_.count_max, "CN1");
  QUIRE_CHECK(reserve_count_ <= rules_.reserve_count_max, "CN1");
  std::size_t regular_count = 0;
  std::size_t reserve_count = 0;
  std::size_t queued_count = 0;
  std::size_t stranger_count = 0;
  for (const auto& [id, entry] : entries_) {
    if (entry.has_place()) ++(entry.is_reserve ? reserve_count : regular_count);
    QUIRE_CHECK(entry.queue == const_cast<ConnectionTable*>(this)->queue_of(entry), "CN2");
    if (entry.queue != nullptr) {
      ++queued_count;
      QUIRE_CHECK(*entry.at == id, "CN2");
    }
    const bool counts =
        rules_.has_keys && entry.queue != nullptr && !entry.is_known && !entry.is_reserve;
    QUIRE_CHECK((entry.address_queue != nullptr) == counts, "CN3");
    if (counts) {
      ++stranger_count;
      const AddressQueues& queues = addresses_.at(entry.address);
      QUIRE_CHECK(entry.address_queue == (entry.state == State::Idle ? &queues.idle : &queues.head),
                  "CN3");
      QUIRE_CHECK(*entry.address_at == id, "CN3");
    }
  }
  QUIRE_CHECK(regular_count == regular_count_ && reserve_count == reserve_count_, "CN1");
  QUIRE_CHECK(queued_count == stranger_idle_.size() + stranger_head_.size() + keyed_idle_.size() +
                                  reserve_.size() + reserve_idle_.size(),
              "CN2");
  for (const auto& [address, queues] : addresses_) {
    QUIRE_CHECK(queues.count() > 0 && queues.count() <= *rules_.address_count_max(), "CN3");
    stranger_count -= queues.count();
  }
  QUIRE_CHECK(stranger_count == 0, "CN3");
  QUIRE_CHECK(entries_.size() == regular_count + reserve_count + forgetting_count_, "CN2");
}

}  // namespace quire::server
