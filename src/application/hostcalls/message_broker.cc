#include "application/hostcalls/message_broker.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "application/hostcalls/mailbox.h"
#include "base/check.h"

namespace quire::hostcalls {
namespace {

Error beyond(const char* limit, std::uint64_t held, std::uint64_t maximum) {
  return Error(ErrorCode::QuotaExceeded, std::string(limit) + ": " + std::to_string(held) + " of " +
                                             std::to_string(maximum) + " in the tenant's queues");
}

}  // namespace

void MessageBroker::wake(const Mailbox& mailbox) {
  woken_.insert(mailbox.instance());
}

std::vector<control::InstanceId> MessageBroker::take_woken() {
  std::vector<control::InstanceId> woken(woken_.begin(), woken_.end());
  woken_.clear();
  return woken;
}

void MessageBroker::join(Mailbox& mailbox) {
  tenants_[mailbox.tenant()].members.insert(&mailbox);
}

void MessageBroker::leave(Mailbox& mailbox) {
  const auto found = tenants_.find(mailbox.tenant());
  if (found == tenants_.end() || found->second.members.erase(&mailbox) == 0) return;
  // The tenant's queues and their messages go with the last member.
  if (found->second.members.empty()) tenants_.erase(found);
}

Result<std::uint32_t> MessageBroker::broadcast(control::TenantId tenant, const std::string& topic,
                                               std::string message) {
  const auto& topics = tenants_.at(tenant).topics;
  const auto found = topics.find(topic);
  if (found == topics.end()) return 0u;
  // Two subscriptions of one instance share its mailbox.
  std::map<const Mailbox*, std::uint32_t> copies;
  for (const auto& [ticket, each] : found->second) {
    TRY(each.mailbox->check_room(++copies[each.mailbox], message.size()));
  }
  const auto shared = std::make_shared<const std::string>(std::move(message));
  for (const auto& [ticket, each] : found->second) {
    each.mailbox->deliver(each.subscription, shared);
    wake(*each.mailbox);
  }
  return static_cast<std::uint32_t>(found->second.size());
}

Result<MessageBroker::Ticket> MessageBroker::subscribe(Mailbox& mailbox, const std::string& topic,
                                                       GuestHandle subscription) {
  auto& topics = tenants_.at(mailbox.tenant()).topics;
  const auto found = topics.find(topic);
  const std::size_t count = found == topics.end() ? 0 : found->second.size();
  if (count >= limits_.topic_subscription_count_max) {
    return Error(ErrorCode::QuotaExceeded,
                 "topic_subscription_count_max: " + std::to_string(count) + " of " +
                     std::to_string(limits_.topic_subscription_count_max) +
                     " subscriptions of the tenant's programs to this topic");
  }
  const Ticket ticket = ++next_ticket_;
  topics[topic].emplace(ticket, Subscriber{&mailbox, subscription});
  return ticket;
}

void MessageBroker::unsubscribe(const Mailbox& mailbox, const std::string& topic, Ticket ticket) {
  auto& topics = tenants_.at(mailbox.tenant()).topics;
  const auto found = topics.find(topic);
  QUIRE_CHECK(found != topics.end(), "MB3");
  QUIRE_CHECK(found->second.erase(ticket) == 1, "MB3");
  if (found->second.empty()) topics.erase(found);
}

// Whether the queue is there, or there may be one more.
Result<void> MessageBroker::check_queue(const Tenant& tenant, const std::string& name) const {
  if (tenant.queues.contains(name) || tenant.queues.size() < limits_.message_queue_count_max) {
    return {};
  }
  return Error(ErrorCode::QuotaExceeded,
               "message_queue_count_max: " + std::to_string(tenant.queues.size()) + " of " +
                   std::to_string(limits_.message_queue_count_max) + " queues of the tenant");
}

Result<void> MessageBroker::push(control::TenantId id, const std::string& name,
                                 std::string message) {
  Tenant& tenant = tenants_.at(id);
  TRY(check_queue(tenant, name));
  if (tenant.message_count >= limits_.queued_message_count_max) {
    return beyond("queued_message_count_max", tenant.message_count,
                  limits_.queued_message_count_max);
  }
  if (tenant.bytes + message.size() > limits_.queued_bytes_max) {
    return beyond("queued_bytes_max", tenant.bytes, limits_.queued_bytes_max);
  }
  put_back(id, name, ++next_order_, std::move(message));
  return {};
}

void MessageBroker::put_back(control::TenantId id, const std::string& name, std::uint64_t order,
                             std::string message) {
  const auto found = tenants_.find(id);
  if (found == tenants_.end()) return;  // It was of the last one, who leaves.
  Tenant& tenant = found->second;
  ++tenant.message_count;
  tenant.bytes += message.size();
  tenant.queues[name].messages.emplace(order, std::move(message));
  hand_out(tenant, name);
}

void MessageBroker::hand_out(Tenant& tenant, const std::string& name) {
  const auto found = tenant.queues.find(name);
  Queue& queue = found->second;
  while (!queue.messages.empty() && !queue.pullers.empty()) {
    const auto first = queue.messages.begin();
    const Puller puller = queue.pullers.begin()->second;
    queue.pullers.erase(queue.pullers.begin());
    wake(*puller.mailbox);
    if (!puller.mailbox->may_pull(puller.future, first->second.size())) continue;
    --tenant.message_count;
    tenant.bytes -= first->second.size();
    puller.mailbox->pulled(puller.future, first->first, std::move(first->second));
    queue.messages.erase(first);
  }
  if (queue.messages.empty() && queue.pullers.empty()) tenant.queues.erase(found);
}

Result<void> MessageBroker::pull(Mailbox& mailbox, const std::string& name, GuestHandle future,
                                 Ticket& ticket) {
  Tenant& tenant = tenants_.at(mailbox.tenant());
  TRY(check_queue(tenant, name));
  ticket = ++next_ticket_;
  tenant.queues[name].pullers.emplace(ticket, Puller{&mailbox, future});
  hand_out(tenant, name);
  return {};
}

void MessageBroker::cancel_pull(const Mailbox& mailbox, const std::string& name, Ticket ticket) {
  Tenant& tenant = tenants_.at(mailbox.tenant());
  const auto found = tenant.queues.find(name);
  QUIRE_CHECK(found != tenant.queues.end(), "MB3");
  QUIRE_CHECK(found->second.pullers.erase(ticket) == 1, "MB3");
  hand_out(tenant, name);
}

MessageBroker::Counts MessageBroker::counts() const {
  Counts counts{.tenant_count = tenants_.size()};
  for (const auto& [id, tenant] : tenants_) {
    for (const auto& [topic, subscribers] : tenant.topics) {
      counts.subscriber_count += subscribers.size();
    }
    counts.queue_count += tenant.queues.size();
    counts.queued_message_count += tenant.message_count;
  }
  return counts;
}

std::vector<LimitUse> MessageBroker::limits(control::TenantId tenant) const {
  const auto found = tenants_.find(tenant);
  const bool is_there = found != tenants_.end();
  return {{"message_queue_count_max", limits_.message_queue_count_max,
           is_there ? found->second.queues.size() : 0},
          {"queued_message_count_max", limits_.queued_message_count_max,
           is_there ? found->second.message_count : 0},
          {"queued_bytes_max", limits_.queued_bytes_max, is_there ? found->second.bytes : 0},
          {"topic_subscription_count_max", limits_.topic_subscription_count_max, {}}};
}

void MessageBroker::verify() const {
  for (const auto& [id, tenant] : tenants_) {
    QUIRE_CHECK(!tenant.members.empty(), "MB3");
    for (const auto& [topic, subscribers] : tenant.topics) {
      QUIRE_CHECK(!subscribers.empty(), "MB3");
      for (const auto& [ticket, each] : subscribers) {
        QUIRE_CHECK(tenant.members.contains(each.mailbox), "MB3");
      }
    }
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    for (const auto& [name, queue] : tenant.queues) {
      QUIRE_CHECK(queue.messages.empty() != queue.pullers.empty(), "MB1");
      for (const auto& [order, message] : queue.messages) bytes += message.size();
      count += queue.messages.size();
      for (const auto& [ticket, each] : queue.pullers) {
        QUIRE_CHECK(tenant.members.contains(each.mailbox), "MB3");
      }
    }
    QUIRE_CHECK(count == tenant.message_count && bytes == tenant.bytes, "MB2");
  }
}

}  // namespace quire::hostcalls
