#pragma once
// Mailbox is what one instance has of the messages of its tenant: its subscriptions with what waits
// in them, and the messages that it pulled. The MessageBroker fills it.
//
// Thread   engine thread only.
// Errors   QuotaExceeded names the limit.
//
// Invariants, all checked by verify():
//   ML1  A subscription has messages or futures that wait for one, never both.
//   ML2  The figures are the sums over the subscriptions.
//   ML3  Every pull has its future.
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "application/hostcalls/future_table.h"
#include "application/hostcalls/guest_limits.h"
#include "application/hostcalls/message_broker.h"
#include "application/hostcalls/ordered_queue.h"

namespace quire::hostcalls {

class Mailbox {
 public:
  Mailbox(MessageBroker& broker, control::InstanceId instance, control::TenantId tenant,
          const GuestLimits& limits, HandleTable& handles, FutureTable& futures)
      : broker_(broker),
        instance_(instance),
        tenant_(tenant),
        limits_(limits),
        handles_(handles),
        futures_(futures) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() { leave(); }

  control::InstanceId instance() const { return instance_; }
  control::TenantId tenant() const { return tenant_; }
  std::uint32_t message_count() const { return message_count_; }
  std::uint64_t bytes() const { return bytes_; }

  // Between the two the instance sends and receives. What it pulled and did not take goes back, and
  // what waits in its subscriptions is gone.
  void join();
  void leave();

  Result<std::uint32_t> broadcast(const std::string& topic, std::string message);
  Result<GuestHandle> subscribe(const std::string& topic);
  Result<GuestHandle> next(GuestHandle subscription);
  // The handle was found before.
  void unsubscribe(GuestHandle subscription);
  Result<void> push(const std::string& name, std::string message);
  Result<GuestHandle> pull(const std::string& name);

  // A future of next() or pull() ends; its result was taken, or never will be.
  void future_taken(const FutureRecord& record);
  void future_dropped(FutureRecord& record);

  // The broker calls these. This one checks that so many messages of so many bytes each fit.
  Result<void> check_room(std::uint32_t count, std::uint64_t bytes) const;
  void deliver(GuestHandle subscription, SharedMessage message);
  // Whether the future may have a message of so many bytes; else it has failed, and pulls no more.
  bool may_pull(GuestHandle future, std::uint64_t bytes);
  void pulled(GuestHandle future, std::uint64_t order, std::string message);

  void verify() const;

 private:
  struct Subscription {
    std::string topic;
    MessageBroker::Ticket ticket = 0;
    OrderedQueue<SharedMessage> messages;
    std::deque<GuestHandle> readers;  // Futures, oldest first.
  };
  struct Pull {
    std::string name;
    MessageBroker::Ticket ticket = 0;
  };
  void serve(Subscription& subscription);

  MessageBroker& broker_;
  const control::InstanceId instance_;
  const control::TenantId tenant_;
  const GuestLimits& limits_;
  HandleTable& handles_;
  FutureTable& futures_;
  std::unordered_map<std::uint32_t, Subscription> subscriptions_;  // By handle.
  std::unordered_map<std::uint32_t, Pull> pulls_;                  // By future.
  std::uint32_t message_count_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_member_ = false;
};

}  // namespace quire::hostcalls
