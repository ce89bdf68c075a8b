#include "application/hostcalls/mailbox.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/planted_fault.h"

namespace quire::hostcalls {
void Mailbox::join() {
  broker_.join(*this);
  is_member_ = true;
}

void Mailbox::leave() {
  if (!std::exchange(is_member_, false)) return;
  for (auto& [handle, subscription] : subscriptions_) {
    broker_.unsubscribe(*this, subscription.topic, subscription.ticket);
    subscription.messages = {};
  }
  message_count_ = 0;
  bytes_ = 0;
  // The mailbox is taken off the lines before it returns messages, so it gets none of them back.
  std::vector<std::pair<const Pull*, FutureRecord*>> untaken;
  for (const auto& [handle, pull] : pulls_) {
    FutureRecord* record = futures_.find_answered(GuestHandle{static_cast<std::int32_t>(handle)});
    if (record->ready) {
      untaken.emplace_back(&pull, record);
    } else {
      broker_.cancel_pull(*this, pull.name, pull.ticket);
    }
  }
  // Messages go back in their order, because a waiting instance gets one at once.
  std::sort(untaken.begin(), untaken.end(), [](const auto& left, const auto& right) {
    return left.second->order < right.second->order;
  });
  for (const auto& [pull, record] : untaken) {
    broker_.put_back(tenant_, pull->name, record->order, record->result);
  }
  pulls_.clear();
  broker_.leave(*this);
}

Result<std::uint32_t> Mailbox::broadcast(const std::string& topic, std::string message) {
  return broker_.broadcast(tenant_, topic, std::move(message));
}

Result<GuestHandle> Mailbox::subscribe(const std::string& topic) {
  const GuestHandle handle = TRY(handles_.add(HandleKind::Subscription, {}));
  const Result<MessageBroker::Ticket> ticket = broker_.subscribe(*this, topic, handle);
  if (!ticket.ok()) {
    handles_.remove(handle);
    return ticket.error().copy();
  }
  Subscription& subscription = subscriptions_[number(handle)];
  subscription.topic = topic;
  subscription.ticket = ticket.value();
  return handle;
}

void Mailbox::unsubscribe(GuestHandle handle) {
  const auto found = subscriptions_.find(number(handle));
  QUIRE_CHECK(found != subscriptions_.end(), "found by its handle");
  Subscription& subscription = found->second;
  broker_.unsubscribe(*this, subscription.topic, subscription.ticket);
  for (const auto& each : subscription.messages) bytes_ -= each.value->size();
  message_count_ -= static_cast<std::uint32_t>(subscription.messages.size());
  futures_.fail_all(subscription.readers,
                    Error(ErrorCode::Cancelled, "the program has unsubscribed"));
  subscriptions_.erase(found);
  handles_.remove(handle);
}

Result<void> Mailbox::check_room(std::uint32_t count, std::uint64_t bytes) const {
  if (is_planted(Fault::MailboxUnbounded)) return {};
  const auto beyond = [](const char* limit, std::uint64_t held, std::uint64_t maximum) {
    return Error(ErrorCode::QuotaExceeded, std::string(limit) + ": a subscriber has " +
                                               std::to_string(held) + " of " +
                                               std::to_string(maximum) + " in its mailbox");
  };
  if (std::uint64_t{message_count_} + count > limits_.mailbox_message_count_max) {
    return beyond("mailbox_message_count_max", message_count_, limits_.mailbox_message_count_max);
  }
  if (bytes_ + count * bytes > limits_.mailbox_bytes_max) {
    return beyond("mailbox_bytes_max", bytes_, limits_.mailbox_bytes_max);
  }
  return {};
}

void Mailbox::deliver(GuestHandle handle, SharedMessage message) {
  Subscription& subscription = subscriptions_.at(number(handle));
  ++message_count_;
  bytes_ += message->size();
  subscription.messages.push(std::move(message));
  serve(subscription);
}

void Mailbox::serve(Subscription& subscription) {
  while (!subscription.messages.empty() && !subscription.readers.empty()) {
    const std::size_t bytes = subscription.messages.front()->size();
    FutureRecord& reader = *futures_.find_answered(subscription.readers.front());
    subscription.readers.pop_front();
    if (!futures_.admit(reader, bytes)) continue;  // The message stays where it is.
    --message_count_;
    bytes_ -= bytes;
    auto message = subscription.messages.pop();
    reader.order = message.order;
    futures_.make_ready(reader, std::move(message.value));
  }
}

Result<GuestHandle> Mailbox::next(GuestHandle handle) {
  TRY(handles_.find(handle, HandleKind::Subscription));
  TRY(handles_.check_room(HandleKind::Future, 1));
  FutureRecord& record = futures_.add(FuturePurpose::Message);
  record.owner = handle;
  const GuestHandle future = record.handle;
  Subscription& subscription = subscriptions_.at(number(handle));
  subscription.readers.push_back(future);
  serve(subscription);
  return future;
}

Result<void> Mailbox::push(const std::string& name, std::string message) {
  return broker_.push(tenant_, name, std::move(message));
}

Result<GuestHandle> Mailbox::pull(const std::string& name) {
  TRY(handles_.check_room(HandleKind::Future, 1));
  const GuestHandle future = futures_.add(FuturePurpose::Pull).handle;
  Pull& pull = pulls_[number(future)];
  pull.name = name;
  Result<void> asked = broker_.pull(*this, name, future, pull.ticket);
  if (asked.ok()) return future;  // Also where it has failed for want of room.
  pulls_.erase(number(future));
  futures_.remove(*futures_.find_answered(future));
  return std::move(asked).take_error();
}

bool Mailbox::may_pull(GuestHandle future, std::uint64_t bytes) {
  const bool may = futures_.admit(*futures_.find_answered(future), bytes);
  if (!may) pulls_.erase(number(future));
  return may;
}

void Mailbox::pulled(GuestHandle future, std::uint64_t order, std::string message) {
  FutureRecord& record = *futures_.find_answered(future);
  record.order = order;
  futures_.make_ready(record, std::move(message));
}

void Mailbox::future_taken(const FutureRecord& record) {
  pulls_.erase(number(record.handle));
}

void Mailbox::future_dropped(FutureRecord& record) {
  if (record.purpose == FuturePurpose::Pull) {
    const auto node = pulls_.extract(number(record.handle));
    if (node.empty()) return;  // It had failed.
    const Pull& pull = node.mapped();
    if (record.ready) {
      broker_.put_back(tenant_, pull.name, record.order, futures_.give_up(record));
    } else {
      broker_.cancel_pull(*this, pull.name, pull.ticket);
    }
    return;
  }
  const auto found = subscriptions_.find(number(record.owner));
  if (found == subscriptions_.end()) return;  // Unsubscribed: what waited is gone.
  Subscription& subscription = found->second;
  if (!record.ready) {
    std::erase(subscription.readers, record.handle);
    return;
  }
  if (record.error != ErrorCode{}) return;
  ++message_count_;
  bytes_ += record.shared_result->size();
  subscription.messages.put_back({record.order, futures_.give_up_shared(record)});
  serve(subscription);
}

void Mailbox::verify() const {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (const auto& [handle, subscription] : subscriptions_) {
    QUIRE_CHECK(subscription.messages.empty() || subscription.readers.empty(), "ML1");
    count += subscription.messages.size();
    subscription.messages.verify();
    for (const auto& each : subscription.messages) bytes += each.value->size();
  }
  QUIRE_CHECK(count == message_count_ && bytes == bytes_, "ML2");
  QUIRE_CHECK(subscriptions_.size() == handles_.count(HandleKind::Subscription), "ML2");
  for (const auto& [future, pull] : pulls_) {
    const FutureRecord* record =
        futures_.find_answered(GuestHandle{static_cast<std::int32_t>(future)});
    QUIRE_CHECK(record != nullptr && record->purpose == FuturePurpose::Pull, "ML3");
  }
}

}  // namespace quire::hostcalls
