#pragma once
// MessageBroker carries messages between the instances of one tenant (interface/messaging.wit):
// topics, which give each message to all who subscribed, and queues, which give each to one.
//
// Owns     the queues of all tenants, and the subscriptions and pulls that wait. Mailboxes are the
//          instances' own.
// Thread   engine thread only.
// Errors   QuotaExceeded names the limit; then no instance gets the message.
//
// Invariants, all checked by verify():
//   MB1  A queue has messages or pullers, never both, and is forgotten when it has neither.
//   MB2  A tenant's figures are the sums over its queues.
//   MB3  Every subscriber and puller is of an instance that has joined and not left.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "application/hostcalls/handle_table.h"
#include "application/hostcalls/launcher.h"
#include "base/result.h"
#include "control/api/types.h"

namespace quire::hostcalls {

class Mailbox;

// Limits of one tenant.
struct BrokerLimits {
  std::uint32_t message_queue_count_max = 1024;
  std::uint32_t queued_message_count_max = 1u << 14;  // In all its queues.
  std::uint64_t queued_bytes_max = 16u << 20;
  std::uint32_t topic_subscription_count_max = 4096;  // Each takes a broadcast 0.1 us.
};

class MessageBroker {
 public:
  // A ticket names one entry of a line, and is never given out twice. Many thousands may wait in
  // one line, and a tree of programs that ends leaves it at once, so removal must not search the
  // line.
  using Ticket = std::uint64_t;

  explicit MessageBroker(BrokerLimits limits = {}) : limits_(limits) {}

  // An instance that may send and receive, until it leaves. Subscriptions and pulls that it has
  // left by then are undone.
  void join(Mailbox& mailbox);
  void leave(Mailbox& mailbox);

  // All who subscribed share the bytes.
  Result<std::uint32_t> broadcast(control::TenantId tenant, const std::string& topic,
                                  std::string message);
  // The ticket by which it is undone.
  Result<Ticket> subscribe(Mailbox& mailbox, const std::string& topic, GuestHandle subscription);
  void unsubscribe(const Mailbox& mailbox, const std::string& topic, Ticket ticket);

  Result<void> push(control::TenantId tenant, const std::string& name, std::string message);
  // Gives Mailbox::pulled() the first message, now or when there is one. Before it does, or where
  // it will, `ticket` is set: by that the pull is undone.
  Result<void> pull(Mailbox& mailbox, const std::string& name, GuestHandle future, Ticket& ticket);
  void cancel_pull(const Mailbox& mailbox, const std::string& name, Ticket ticket);
  // Pulled and not taken: in its old place again.
  void put_back(control::TenantId tenant, const std::string& name, std::uint64_t order,
                std::string message);

  // Instances whose futures may have become ready; each once.
  std::vector<control::InstanceId> take_woken();

  struct Counts {
    std::size_t tenant_count = 0, subscriber_count = 0, queue_count = 0;
    std::uint64_t queued_message_count = 0;
  };
  Counts counts() const;
  // The use of a tenant's limits, under the names that errors have.
  std::vector<LimitUse> limits(control::TenantId tenant) const;
  void verify() const;

 private:
  struct Subscriber {
    Mailbox* mailbox;
    GuestHandle subscription;
  };
  struct Puller {
    Mailbox* mailbox;
    GuestHandle future;
  };
  struct Queue {
    std::map<std::uint64_t, std::string> messages;  // By order of the push.
    std::map<Ticket, Puller> pullers;               // Oldest first.
  };
  struct Tenant {
    std::set<Mailbox*> members;
    std::map<std::string, std::map<Ticket, Subscriber>, std::less<>> topics;
    std::map<std::string, Queue, std::less<>> queues;
    std::uint32_t message_count = 0;
    std::uint64_t bytes = 0;
  };

  Result<void> check_queue(const Tenant& tenant, const std::string& name) const;
  void hand_out(Tenant& tenant, const std::string& name);
  void wake(const Mailbox& mailbox);

  const BrokerLimits limits_;
  std::map<control::TenantId, Tenant> tenants_;  // Those with members.
  std::uint64_t next_order_ = 0;
  Ticket next_ticket_ = 0;
  std::set<control::InstanceId> woken_;
};

}  // namespace quire::hostcalls
