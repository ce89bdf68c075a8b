// Messages between programs: every one in order and once, or an error to who sent it.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>

#include "application/hostcalls/hostcalls_fixture.h"
#include "base/random.h"
#include "base/seeds.h"

namespace quire::hostcalls {
namespace {

using control::TenantId;

// A program of a tenant that calls without a runtime.
class Member {
 public:
  Member(const HostParts& parts, std::uint64_t id, TenantId tenant, const GuestLimits& limits = {})
      : state(parts, GuestIdentity{control::InstanceId{id}, tenant, {}, limits, {}}),
        host_(host_functions(), &state, 1u << 16) {}

  std::int64_t call(std::string_view name, std::initializer_list<std::string> texts,
                    std::int64_t handle = 0) {
    std::vector<std::int64_t> arguments;
    std::uint32_t address = 64;
    for (const std::string& text : texts) {
      arguments.push_back(host_.put(address, text));
      arguments.push_back(static_cast<std::int64_t>(text.size()));
      address += 2048;
    }
    if (texts.size() == 0) arguments.push_back(handle);
    for (const sandbox::HostFunction& function : host_functions()) {
      if (std::string_view(function.module) == "quire:core/messaging@1" && name == function.name) {
        const std::int64_t result = host_.call(function, arguments).value;
        state.verify();
        return result;
      }
    }
    ADD_FAILURE() << name;
    return 0;
  }
  std::optional<std::string> take(std::int64_t future) {
    const std::int64_t bytes = host_.call("future", "take", {future, 8192, 4096}).value;
    state.verify();
    if (bytes < 0) return std::nullopt;
    return host_.get(8192, static_cast<std::uint32_t>(bytes));
  }
  void drop(std::int64_t handle) {
    EXPECT_EQ(host_.call("future", "drop", {handle}).value, 0);
    state.verify();
  }

  GuestState state;

 private:
  sandbox::FakeHost host_;
};

class Messaging : public HostCalls {
 protected:
  std::unique_ptr<Member> member(std::uint64_t id, TenantId tenant = TenantId{1},
                                 const GuestLimits& limits = {}) {
    return std::make_unique<Member>(parts, id, tenant, limits);
  }
};

TEST_F(Messaging, BroadcastReachesEverySubscriberOfTheTenantInOrderAndOnce) {
  const auto one = member(11), two = member(12), stranger = member(13, TenantId{2});
  const std::int64_t first = one->call("subscribe", {"news"});
  const std::int64_t second = two->call("subscribe", {"news"});
  const std::int64_t foreign = stranger->call("subscribe", {"news"});
  const std::int64_t waiting = two->call("next-message", {}, second);
  EXPECT_EQ(one->call("broadcast", {"news", "a"}), 2);
  EXPECT_EQ(one->call("broadcast", {"news", "b"}), 2);
  EXPECT_EQ(one->call("broadcast", {"olds", "c"}), 0);
  EXPECT_EQ(two->take(waiting), "a");
  EXPECT_EQ(two->take(two->call("next-message", {}, second)), "b");
  EXPECT_EQ(one->take(one->call("next-message", {}, first)), "a");
  const std::int64_t dropped = one->call("next-message", {}, first);
  one->drop(dropped);
  EXPECT_EQ(one->take(one->call("next-message", {}, first)), "b");
  EXPECT_EQ(stranger->take(stranger->call("next-message", {}, foreign)), std::nullopt);
  EXPECT_EQ(broker.take_woken().size(), 2u);
}

// A thousand who listen would be a thousand copies of a megabyte, made in one call.
TEST_F(Messaging, AllWhoHearABroadcastShareItsBytes) {
  const auto one = member(11), two = member(12);
  const std::int64_t first = one->call("next-message", {}, one->call("subscribe", {"news"}));
  const std::int64_t second = two->call("next-message", {}, two->call("subscribe", {"news"}));
  EXPECT_EQ(one->call("broadcast", {"news", "heard by two"}), 2);
  const auto heard = [](Member& member, std::int64_t future) {
    return (*member.state.futures.find(GuestHandle{static_cast<std::int32_t>(future)}).value())
        .result_bytes()
        .data();
  };
  EXPECT_EQ(heard(*one, first), heard(*two, second));
  EXPECT_EQ(one->take(first), "heard by two");  // The other's stay where they are.
  EXPECT_EQ(two->take(second), "heard by two");
}

TEST_F(Messaging, DroppedFuturesGiveTheirMessagesBackInTheOrderInWhichTheyCame) {
  const auto one = member(11);
  const std::int64_t news = one->call("subscribe", {"news"});
  const std::int64_t first = one->call("next-message", {}, news);
  const std::int64_t second = one->call("next-message", {}, news);
  for (const char* each : {"a", "b", "c"}) EXPECT_EQ(one->call("broadcast", {"news", each}), 1);
  one->drop(first);
  one->drop(second);
  for (const char* each : {"a", "b", "c"}) {
    EXPECT_EQ(one->take(one->call("next-message", {}, news)), each);
  }
}

TEST_F(Messaging, UnsubscribingEndsWhatWaits) {
  const auto one = member(11);
  const std::int64_t handle = one->call("subscribe", {"news"});
  const std::int64_t waiting = one->call("next-message", {}, handle);
  EXPECT_EQ(one->call("unsubscribe", {}, handle), 0);
  EXPECT_EQ(one->take(waiting), std::nullopt);
  EXPECT_EQ(one->state.last_error, "the program has unsubscribed");
  EXPECT_EQ(one->call("unsubscribe", {}, handle), minus(ErrorCode::NotFound));
  EXPECT_EQ(one->call("broadcast", {"news", "a"}), 0);
  EXPECT_EQ(broker.counts().subscriber_count, 0u);
}

TEST_F(Messaging, FullMailboxIsAnErrorToTheSenderAndThenNobodyGetsTheMessage) {
  GuestLimits few;
  few.mailbox_message_count_max = 2;
  const auto sleeper = member(11, TenantId{1}, few), reader = member(12);
  sleeper->call("subscribe", {"news"});
  const std::int64_t handle = reader->call("subscribe", {"news"});
  EXPECT_EQ(reader->call("broadcast", {"news", "a"}), 2);
  EXPECT_EQ(reader->call("broadcast", {"news", "b"}), 2);
  EXPECT_EQ(reader->call("broadcast", {"news", "c"}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(reader->state.last_error,
            "mailbox_message_count_max: a subscriber has 2 of 2 in its mailbox");
  EXPECT_EQ(reader->take(reader->call("next-message", {}, handle)), "a");
  EXPECT_EQ(reader->take(reader->call("next-message", {}, handle)), "b");
  EXPECT_EQ(reader->take(reader->call("next-message", {}, handle)), std::nullopt);
}

// Messages that were delivered into futures no longer count as the mailbox's; the limit of held
// results counts them.
TEST_F(Messaging, WhoHoldsTooMuchGetsNoMoreAndTheMessageStaysForTheNext) {
  GuestLimits limits;
  limits.held_result_bytes_max = 5000;
  const auto hoarder = member(11, TenantId{1}, limits), other = member(12);
  const std::string large(4990, 'x');
  const std::int64_t news = hoarder->call("subscribe", {"news"});
  const std::int64_t first = hoarder->call("next-message", {}, news);
  const std::int64_t second = hoarder->call("next-message", {}, news);
  const std::int64_t pulled = hoarder->call("pull", {"work"});
  ASSERT_EQ(other->state.mailbox.broadcast("news", large).value(), 1u);
  ASSERT_EQ(other->state.mailbox.broadcast("news", large).value(), 1u);
  ASSERT_TRUE(other->state.mailbox.push("work", large).ok());
  EXPECT_EQ(hoarder->take(second), std::nullopt);
  EXPECT_EQ(hoarder->state.last_error.substr(0, 22), "held_result_bytes_max:");
  EXPECT_EQ(hoarder->take(pulled), std::nullopt);
  EXPECT_EQ(hoarder->state.mailbox.message_count(), 1u);
  EXPECT_EQ(broker.counts().queued_message_count, 1u);
  broker.verify();
  const std::int64_t whole = other->call("pull", {"work"});
  EXPECT_EQ(other->state.futures.held_bytes(), large.size());
  other->drop(whole);
  hoarder->drop(first);  // Its message is the first again, before the one that stayed.
  EXPECT_EQ(hoarder->state.mailbox.message_count(), 2u);
  hoarder->call("next-message", {}, news);
  EXPECT_EQ(hoarder->state.mailbox.message_count(), 1u);
  const std::int64_t failed = hoarder->call("pull", {"work"});
  hoarder->drop(failed);  // One that failed gives nothing back.
  EXPECT_EQ(broker.counts().queued_message_count, 1u);
}

TEST_F(Messaging, QueueGivesEachMessageToTheOneWhoAskedFirst) {
  const auto one = member(11), two = member(12);
  const std::int64_t first = one->call("pull", {"work"});
  const std::int64_t second = two->call("pull", {"work"});
  EXPECT_EQ(two->call("push", {"work", "a"}), 0);
  EXPECT_EQ(two->call("push", {"work", "b"}), 0);
  EXPECT_EQ(two->call("push", {"work", "c"}), 0);
  EXPECT_EQ(two->take(second), "b");
  one->drop(first);  // No instance took "a", so it is the first one again.
  EXPECT_EQ(two->take(two->call("pull", {"work"})), "a");
  EXPECT_EQ(two->take(two->call("pull", {"work"})), "c");
  EXPECT_EQ(broker.counts().queue_count, 0u);
}

TEST_F(Messaging, WhatAProgramPulledAndDidNotTakeGoesBackWhenItEnds) {
  auto one = member(11);
  const auto two = member(12);
  EXPECT_EQ(two->call("push", {"work", "a"}), 0);
  EXPECT_EQ(two->call("push", {"work", "b"}), 0);
  one->call("pull", {"work"});
  one->call("pull", {"work"});
  one->call("pull", {"work"});
  one.reset();
  EXPECT_EQ(two->take(two->call("pull", {"work"})), "a");
  EXPECT_EQ(two->take(two->call("pull", {"work"})), "b");
}

TEST_F(Messaging, WhatGoesBackToThoseWhoWaitKeepsItsOrder) {
  auto one = member(11);
  const auto two = member(12);
  std::vector<std::int64_t> waiting;
  for (const char* each : {"a", "b", "c"}) {
    EXPECT_EQ(two->call("push", {"work", each}), 0);
    one->call("pull", {"work"});
  }
  for (int i = 0; i < 3; ++i) waiting.push_back(two->call("pull", {"work"}));
  one.reset();
  EXPECT_EQ(two->take(waiting[0]), "a");
  EXPECT_EQ(two->take(waiting[1]), "b");
  EXPECT_EQ(two->take(waiting[2]), "c");
}

// A quarter of a million in one line; looking for each of them there would take minutes.
TEST_F(Messaging, ManyWhoWaitInOneLineLeaveItAtOnce) {
  std::vector<std::unique_ptr<Member>> members;
  for (std::uint64_t id = 20; id < 84; ++id) {
    members.push_back(member(id));
    Mailbox& mailbox = members.back()->state.mailbox;
    for (int each = 0; each < 4000; ++each) ASSERT_TRUE(mailbox.pull("line").ok());
    const std::string topic = "topic " + std::to_string(id);
    for (int each = 0; each < 250; ++each) ASSERT_TRUE(mailbox.subscribe(topic).ok());
  }
  const auto last = member(84);
  while (members.size() > 1) members.pop_back();
  EXPECT_EQ(broker.counts().subscriber_count, 250u);
  last->call("push", {"line", "message"});
  EXPECT_EQ(broker.counts().queued_message_count, 0u) << "the first in the line has it";
  members.clear();
  broker.verify();
  EXPECT_EQ(broker.counts().queued_message_count, 1u) << "and gave it back";
}

TEST_F(Messaging, QueuesAreBoundedAndGoWithTheTenantsLastProgram) {
  MessageBroker small({.message_queue_count_max = 2,
                       .queued_message_count_max = 3,
                       .queued_bytes_max = 8,
                       .topic_subscription_count_max = 2});
  const HostParts own{control, clock, wall_clock, random, small, launcher, 0, nullptr};
  auto one = std::make_unique<Member>(own, 11, TenantId{1});
  EXPECT_EQ(one->call("push", {"a", "12345678"}), 0);
  EXPECT_EQ(one->call("push", {"a", "9"}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(one->state.last_error, "queued_bytes_max: 8 of 8 in the tenant's queues");
  EXPECT_EQ(one->call("push", {"b", ""}), 0);
  EXPECT_EQ(one->call("push", {"c", ""}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(one->state.last_error, "message_queue_count_max: 2 of 2 queues of the tenant");
  EXPECT_EQ(one->call("pull", {"c"}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(one->state.last_error, "message_queue_count_max: 2 of 2 queues of the tenant");
  EXPECT_EQ(one->call("push", {"b", ""}), 0);
  EXPECT_EQ(one->call("push", {"b", ""}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(one->call("push", {"..", "x"}), minus(ErrorCode::InvalidArgument));
  EXPECT_GT(one->call("subscribe", {"t"}), 0);
  const std::int64_t last = one->call("subscribe", {"t"});
  EXPECT_EQ(one->call("subscribe", {"t"}), minus(ErrorCode::QuotaExceeded));
  EXPECT_EQ(one->state.last_error,
            "topic_subscription_count_max: 2 of 2 subscriptions of the tenant's programs to this "
            "topic");
  EXPECT_GT(one->call("subscribe", {"u"}), 0);
  one->drop(last);
  EXPECT_GT(one->call("subscribe", {"t"}), 0);
  EXPECT_EQ(one->call("broadcast", {"t", "m"}), 2);
  one.reset();
  EXPECT_EQ(small.counts().tenant_count, 0u);
}

// Queues beside the simplest model: what was pushed to each, in order, less what was taken.
TEST_F(Messaging, NoMessageIsLostOrDoubledWhateverProgramsDo) {
  for (const std::uint64_t seed : campaign_seeds(200)) {
    SCOPED_TRACE(seed);
    SeededRandom random_numbers(seed);
    const auto below = [&](std::uint64_t limit) { return random_numbers.next() % limit; };
    MessageBroker own_broker({.message_queue_count_max = 8, .queued_message_count_max = 12});
    const HostParts own{control, clock, wall_clock, random, own_broker, launcher, 0, nullptr};
    std::vector<std::unique_ptr<Member>> members;
    std::vector<std::map<std::int64_t, std::string>> pulls;  // By member: future and name.
    std::map<std::string, std::set<int>> queued;
    std::uint64_t next_id = 100;
    int next_message = 0;
    const auto join = [&] {
      members.push_back(std::make_unique<Member>(own, ++next_id, TenantId{1}));
      pulls.emplace_back();
    };
    join();
    for (int step = 0; step < 400; ++step) {
      const std::size_t who = below(members.size());
      const std::string name = below(2) == 0 ? "x" : "y";
      switch (below(8)) {
        case 0:
        case 1:
        case 2:
          if (members[who]->call("push", {name, std::to_string(next_message)}) == 0) {
            queued[name].insert(next_message);
          }
          ++next_message;
          break;
        case 3:
        case 4:
          if (const std::int64_t future = members[who]->call("pull", {name}); future > 0) {
            pulls[who][future] = name;
          }
          break;
        case 5:
          if (pulls[who].empty()) break;
          if (const auto pull = pulls[who].begin(); below(3) == 0) {
            members[who]->drop(pull->first);
            pulls[who].erase(pull);
          } else if (const auto message = members[who]->take(pull->first)) {
            ASSERT_EQ(queued[pull->second].erase(std::stoi(*message)), 1u);
            pulls[who].erase(pull);
          }
          break;
        case 6:
          if (members.size() < 4) join();
          break;
        default:
          if (members.size() < 2 || below(4) > 0) break;
          members.erase(members.begin() + static_cast<std::ptrdiff_t>(who));
          pulls.erase(pulls.begin() + static_cast<std::ptrdiff_t>(who));
          break;
      }
      own_broker.verify();
    }
    // The messages that are left come in the order in which they were sent.
    while (members.size() > 1) {
      members.pop_back();
      pulls.pop_back();
    }
    for (const auto& [future, name] : pulls[0]) members[0]->drop(future);
    for (auto& [name, messages] : queued) {
      for (const int message : messages) {
        ASSERT_EQ(members[0]->take(members[0]->call("pull", {name})), std::to_string(message));
      }
    }
    ASSERT_EQ(own_broker.counts().queued_message_count, 0u);
  }
}

}  // namespace
}  // namespace quire::hostcalls
