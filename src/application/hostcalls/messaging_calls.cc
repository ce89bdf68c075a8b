// messaging: between the programs of one tenant.
#include <utility>

#include "application/hostcalls/calls.h"

namespace quire::hostcalls {
namespace {

Result<std::string> read_message(const HostCall& call, GuestList<std::uint8_t> message) {
  TRY(check_text_bytes(call, message.count, "message"));
  return call.memory.read_bytes(message, "message");
}

}  // namespace

Result<std::int32_t> messaging_broadcast(HostCall& call, GuestList<std::uint8_t> topic,
                                         GuestList<std::uint8_t> message) {
  const std::string name = TRY(read_name(call, topic, "topic"));
  std::string bytes = TRY(read_message(call, message));
  return count_result(TRY(call.guest.mailbox.broadcast(name, std::move(bytes))));
}

Result<std::int32_t> messaging_subscribe(HostCall& call, GuestList<std::uint8_t> topic) {
  const std::string name = TRY(read_name(call, topic, "topic"));
  return static_cast<std::int32_t>(TRY(call.guest.mailbox.subscribe(name)));
}

Result<std::int32_t> messaging_next_message(HostCall& call, GuestHandle subscription) {
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(TRY(call.guest.mailbox.next(subscription)));
}

Result<std::int32_t> messaging_unsubscribe(HostCall& call, GuestHandle subscription) {
  TRY(call.guest.handles.find(subscription, HandleKind::Subscription));
  call.guest.mailbox.unsubscribe(subscription);
  return 0;
}

Result<std::int32_t> messaging_push(HostCall& call, GuestList<std::uint8_t> queue,
                                    GuestList<std::uint8_t> message) {
  const std::string name = TRY(read_name(call, queue, "name"));
  std::string bytes = TRY(read_message(call, message));
  TRY(call.guest.mailbox.push(name, std::move(bytes)));
  return 0;
}

Result<std::int32_t> messaging_pull(HostCall& call, GuestList<std::uint8_t> queue) {
  const std::string name = TRY(read_name(call, queue, "name"));
  TRY(call.guest.check_future_room());
  return static_cast<std::int32_t>(TRY(call.guest.mailbox.pull(name)));
}

}  // namespace quire::hostcalls
