// The published policy for a full pool, by name: the instance that started last ends, the others do
// not notice.
#include <gtest/gtest.h>

#include "control/harness.h"

namespace quire::control {
namespace {

Harness::Options pool_of(std::uint32_t page_count, WhenFull when_full = WhenFull::FcfsKill) {
  Harness::Options options;
  options.device.page_count = page_count;
  options.device.row_count_max = 256;
  options.controller.when_full = when_full;
  return options;
}

struct Talk {
  InstanceId guest{};
  ObjectId queue{};
  ObjectId context{};
  std::vector<ObjectId> output;
  FutureId next{};
  std::vector<std::uint32_t> tokens;
  std::uint32_t left = 0;
  std::string error;
};

Talk begin(Harness& harness, std::uint32_t seed, std::uint32_t prompt, std::uint32_t count) {
  Talk talk;
  talk.guest = harness.start();
  talk.queue = harness.queue(talk.guest);
  talk.context = harness.context(talk.guest, talk.queue);
  talk.output = harness.embeds(talk.guest, talk.queue, 1);
  talk.left = count;
  harness.send(talk.guest, ContextAppend{talk.context, count_tokens(prompt, seed)}, false);
  return talk;
}

void ask(Harness& harness, Talk& talk) {
  harness.send(talk.guest, ContextForward{talk.context, talk.output}, false);
  talk.next = harness.send(talk.guest, GetNextDist{talk.queue, talk.output[0], 4});
}

// All at once, until each has its tokens or its error; who is done ends if `ends`.
void converse(Harness& harness, std::vector<Talk>& talks, bool ends = true) {
  for (Talk& talk : talks) ask(harness, talk);
  bool goes_on = true;
  for (int step = 0; goes_on; ++step) {
    ASSERT_LT(step, 20'000) << "it never ends";
    goes_on = false;
    harness.step();
    for (Talk& talk : talks) {
      if (talk.left == 0) continue;
      goes_on = true;
      if (!harness.has(talk.guest, talk.next)) continue;
      if (harness.error(talk.guest, talk.next)) {
        talk.error = harness.message(talk.guest, talk.next);
        EXPECT_EQ(harness.error(talk.guest, talk.next), ErrorCode::NoFreePage) << talk.error;
        talk.left = 0;
        continue;
      }
      const auto token = harness.get<NextDistribution>(talk.guest, talk.next).tokens.front();
      talk.tokens.push_back(token);
      harness.send(talk.guest, ContextAppend{talk.context, {token}}, false);
      if (--talk.left > 0) {
        ask(harness, talk);
      } else if (ends) {
        harness.controller->end_instance(talk.guest);
      }
    }
  }
}

TEST(FcfsKill, TheLastToStartEndAndTheFirstGiveWhatTheyGiveInARoomyPool) {
  const auto sixteen = [](Harness& harness) {
    std::vector<Talk> talks;
    for (std::uint32_t each = 0; each < 16; ++each) {
      talks.push_back(begin(harness, 1 + each, 100, 60));  // 10 pages each in the end.
    }
    converse(harness, talks);
    return talks;
  };
  Harness roomy(pool_of(400));
  const std::vector<Talk> expected = sixteen(roomy);
  EXPECT_EQ(roomy.controller->statistics().lost_instance_count, 0u);
  Harness tight(pool_of(40));
  const std::vector<Talk> talks = sixteen(tight);
  std::size_t finished = 0;
  while (finished < talks.size() && talks[finished].error.empty()) {
    EXPECT_EQ(talks[finished].tokens, expected[finished].tokens);
    EXPECT_FALSE(tight.losses.contains(talks[finished].guest));
    ++finished;
  }
  // 4 x 10 pages are the pool. Whoever is gone started after everybody who is not.
  EXPECT_GE(finished, 4u);
  EXPECT_LT(finished, talks.size());
  for (std::size_t each = finished; each < talks.size(); ++each) {
    EXPECT_FALSE(talks[each].error.empty()) << each;
    EXPECT_TRUE(tight.losses.contains(talks[each].guest)) << each;
  }
  EXPECT_EQ(tight.controller->statistics().lost_instance_count, talks.size() - finished);
  EXPECT_EQ(tight.controller->statistics().suspension_count, 0u);
  EXPECT_EQ(tight.free_page_count(), 40u);  // At once: nobody has called end_instance() for them.
}

TEST(FcfsKill, NamesThePolicyAndTheNumbers) {
  Harness harness(pool_of(8));
  std::vector<Talk> talks{begin(harness, 1, 64, 40), begin(harness, 2, 60, 40)};
  converse(harness, talks);
  EXPECT_TRUE(talks[0].error.empty()) << talks[0].error;
  EXPECT_EQ(talks[0].tokens.size(), 40u);
  EXPECT_EQ(
      talks[1].error,
      "fcfs-kill ended this instance, the last to start of 2 that hold KV pages, for an older "
      "one: no free KV page: 1 wanted, 0 of 8 free, 4 held by this instance");
  EXPECT_EQ(harness.losses.at(talks[1].guest).message(), talks[1].error);
}

TEST(FcfsKill, WhoeverStartedLastLosesThoughItIsTheOneThatWants) {
  Harness harness(pool_of(8));
  // The first thinks with all its pages held, for as long as it likes.
  std::vector<Talk> first{begin(harness, 1, 100, 1)};
  converse(harness, first, false);
  std::vector<Talk> second{begin(harness, 2, 40, 1)};
  converse(harness, second);
  EXPECT_NE(second[0].error.find("the last to start of 1 that hold KV pages, for itself"),
            std::string::npos)
      << second[0].error;
  EXPECT_TRUE(first[0].error.empty());
  EXPECT_FALSE(harness.losses.contains(first[0].guest));
}

TEST(FcfsKill, WhoeverHoldsNoPageLosesNothing) {
  Harness harness(pool_of(8));
  std::vector<Talk> talks{begin(harness, 1, 64, 40), begin(harness, 2, 60, 40)};
  const InstanceId bystander = harness.start();
  converse(harness, talks);
  EXPECT_TRUE(harness.losses.contains(talks[1].guest));
  EXPECT_FALSE(harness.losses.contains(bystander));
}

TEST(FcfsKill, ALostInstanceGetsTheErrorForAllItStillAsks) {
  Harness harness(pool_of(8));
  std::vector<Talk> talks{begin(harness, 1, 64, 40), begin(harness, 2, 60, 40)};
  converse(harness, talks);
  const InstanceId lost = talks[1].guest;
  const FutureId flush = harness.send(lost, ContextFlush{talks[1].context});
  const FutureId queue = harness.send(lost, CreateQueue{.queue = harness.new_object()});
  harness.run();
  EXPECT_EQ(harness.error(lost, flush), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.error(lost, queue), ErrorCode::NoFreePage);
  EXPECT_GT(harness.controller->statistics(lost).computed_token_count, 0u);
  harness.controller->end_instance(lost);
  harness.controller->verify();
}

TEST(FcfsKill, MoreThanThePoolIsRefusedAndNobodyEnds) {
  Harness harness(pool_of(8));
  std::vector<Talk> talks{begin(harness, 1, 32, 4)};
  Talk large = begin(harness, 2, 200, 1);
  const FutureId refused = harness.send(large.guest, ContextFlush{large.context});
  const FutureId pages =
      harness.send(large.guest, AllocPages{.queue = large.queue, .pages = harness.new_objects(9)});
  converse(harness, talks);
  EXPECT_EQ(harness.error(large.guest, refused), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.error(large.guest, pages), ErrorCode::NoFreePage);
  EXPECT_TRUE(harness.losses.empty());
  EXPECT_EQ(talks[0].tokens.size(), 4u);
}

TEST(FcfsKill, ColdPagesGoBeforeAnyInstance) {
  Harness harness(pool_of(8));
  std::vector<Talk> gone{begin(harness, 1, 100, 1)};
  converse(harness, gone);  // It ends: 6 pages are cold.
  std::vector<Talk> talks{begin(harness, 2, 60, 4), begin(harness, 3, 40, 4)};
  converse(harness, talks);
  EXPECT_TRUE(harness.losses.empty());
}

TEST(FcfsKill, IsNotTheDefault) {
  EXPECT_EQ(ControllerOptions{}.when_full, WhenFull::Suspend);
  Harness harness(pool_of(8, WhenFull::Suspend));
  std::vector<Talk> talks{begin(harness, 1, 64, 40), begin(harness, 2, 60, 40)};
  converse(harness, talks);
  EXPECT_TRUE(harness.losses.empty());
  EXPECT_TRUE(talks[1].error.empty()) << talks[1].error;
}

}  // namespace
}  // namespace quire::control
