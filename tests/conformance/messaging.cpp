// messaging: messages between the programs of one tenant.
#include "steps.h"

namespace quire::conformance {
namespace {

constexpr std::uint32_t kMailboxMessageCountMax = 1024;

void topics(Harness& t) {
  const std::int32_t one = t.ok("messaging.subscribe", "news");
  const std::int32_t two = t.ok("messaging.subscribe", "news");
  t.check(t.ok("messaging.broadcast", "news", "first") == 2, "both get it");
  t.check(t.ok("messaging.broadcast", "nobody's", "") == 0, "nobody is subscribed");
  t.check(t.result("messaging.next-message", one) == "first", "the first comes");
  const std::int32_t waits = t.ok("messaging.next-message", one);
  t.ok("messaging.unsubscribe", one);
  t.fails("messaging.next-message", ErrorCode::Cancelled, waits);
  t.refused("messaging.unsubscribe", ErrorCode::NotFound, one);
  t.refused("messaging.next-message", ErrorCode::NotFound, one);

  // One mailbox has so much room, and a message is to all or to none.
  const std::int32_t other = t.ok("messaging.subscribe", "other");
  for (std::uint32_t i = 1; i < kMailboxMessageCountMax; ++i)
    abi::messaging::broadcast(reinterpret_cast<const std::uint8_t*>("news"), 4, nullptr, 0);
  t.refused("messaging.broadcast", ErrorCode::QuotaExceeded, "other", "no room");
  t.check(t.result("messaging.next-message", two) == "first", "what waits is in order");
  t.check(t.ok("messaging.broadcast", "other", "room") == 1, "there is room again");
  t.drop(two);
  t.check(t.result("messaging.next-message", other) == "room", "and it comes");

  const std::string too_large(kTextBytesMax + 1, 'a');
  t.refused("messaging.broadcast", ErrorCode::TooLarge, "news", too_large);
  for (const std::string& name : names_that_are_none()) {
    t.refused("messaging.broadcast", ErrorCode::InvalidArgument, name, "");
    t.refused("messaging.subscribe", ErrorCode::InvalidArgument, name);
  }
  t.mistakes("messaging.broadcast", "other", "message");
  t.edges("messaging.broadcast", "other", "message");
  t.mistakes("messaging.subscribe", "other");
  t.mistakes("messaging.next-message", other);
  t.mistakes("messaging.unsubscribe", other);
  t.drop(other);
  Handles all;
  for (int i = 0; i < 300; ++i) {
    const std::int32_t each =
        abi::messaging::subscribe(reinterpret_cast<const std::uint8_t*>("a"), 1);
    if (each < 0) break;
    all.push_back(each);
  }
  t.check(all.size() < 300, "subscriptions have no bound");
  t.refused("messaging.subscribe", ErrorCode::QuotaExceeded, "news");
  give_back(t, all);
}

void queues(Harness& t) {
  t.ok("messaging.push", "work", "one");
  t.ok("messaging.push", "work", "two");
  const std::int32_t dropped = t.ok("messaging.pull", "work");
  t.drop(dropped);
  t.check(t.result("messaging.pull", "work") == "one", "what was not taken is the first again");
  t.check(t.result("messaging.pull", "work") == "two", "then the second");
  const std::int32_t early = t.ok("messaging.pull", "work");
  t.ok("messaging.push", "work", "");
  t.check(t.take("messaging.pull", early).empty(), "who asked first gets it");

  std::uint32_t count = 0;
  while (count < 1'000'000 &&
         abi::messaging::push(reinterpret_cast<const std::uint8_t*>("full"), 4, nullptr, 0) == 0) {
    ++count;
  }
  t.check(count < 1'000'000, "queues have no bound");
  t.refused("messaging.push", ErrorCode::QuotaExceeded, "full", "no room");
  for (std::uint32_t i = 0; i < count; ++i) t.result("messaging.pull", "full");
  t.refused("messaging.push", ErrorCode::TooLarge, "work", std::string(kTextBytesMax + 1, 'a'));
  for (const std::string& name : names_that_are_none()) {
    t.refused("messaging.push", ErrorCode::InvalidArgument, name, "");
    t.refused("messaging.pull", ErrorCode::InvalidArgument, name);
  }
  t.mistakes("messaging.push", "work", "message");
  t.edges("messaging.push", "work", "message");
  t.mistakes("messaging.pull", "work");
}

void program(Harness& t) {
  topics(t);
  queues(t);
}

}  // namespace
}  // namespace quire::conformance

CONFORMANCE(program)
