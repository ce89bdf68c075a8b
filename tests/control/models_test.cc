// Two models in one engine: a pool each, the device in turns.
#include <gtest/gtest.h>

#include "control/conversation.h"

namespace quire::control {
namespace {

Harness::Options two_models() {
  Harness::Options options;
  options.has_second_model = true;
  return options;
}

Conversation begin_on(Harness& harness, ModelIndex model, std::uint32_t seed, std::uint32_t count) {
  Conversation talk;
  talk.guest = harness.start();
  talk.queue = harness.new_object();
  harness.send(talk.guest, CreateQueue{.queue = talk.queue, .model = model}, false);
  talk.context = harness.context(talk.guest, talk.queue);
  talk.output = harness.embeds(talk.guest, talk.queue, 1);
  talk.left = count;
  harness.send(talk.guest, ContextAppend{talk.context, count_tokens(20, seed)}, false);
  return talk;
}

TEST(Models, ProgramsOfTwoModelsGetTheTokensThatEachGetsAlone) {
  std::vector<std::vector<std::uint32_t>> alone;
  for (const std::uint32_t seed : {1u, 2u}) {
    Harness harness;
    std::vector<Conversation> talks = {begin_on(harness, ModelIndex{0}, seed, 12)};
    converse(harness, talks);
    alone.push_back(talks[0].tokens);
  }
  Harness harness(two_models());
  std::vector<Conversation> talks = {begin_on(harness, ModelIndex{0}, 1, 12),
                                     begin_on(harness, ModelIndex{1}, 2, 12),
                                     begin_on(harness, ModelIndex{1}, 1, 12)};
  converse(harness, talks);
  EXPECT_EQ(talks[0].tokens, alone[0]);
  EXPECT_EQ(talks[1].tokens, alone[1]);
  EXPECT_EQ(talks[2].tokens, alone[0]) << "nothing of one model is found in the other";
}

// A model that has just had the device lets the other model have it, though it wants it again at
// once.
TEST(Models, TakeTurnsOnTheDeviceABatchAtATime) {
  Harness harness(two_models());
  std::vector<Conversation> talks;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    talks.push_back(begin_on(harness, ModelIndex{seed % 4 == 0 ? 1u : 0u}, seed, 20));
  }
  std::vector<int> turns;
  for (Conversation& talk : talks) ask(harness, talk);
  for (int step = 0; step < 24; ++step) {
    harness.controller->poll();
    ASSERT_TRUE(harness.controller->dispatch());
    EXPECT_FALSE(harness.controller->dispatch()) << "the device is busy";
    EXPECT_EQ(harness.controller->next_dispatch_in_ns(), std::nullopt);
    turns.push_back(harness.second_device->inflight_count() > 0 ? 1 : 0);
    harness.verify();
    ASSERT_TRUE(harness.complete_next());
    harness.controller->poll();
    for (Conversation& talk : talks) {
      if (!harness.has(talk.guest, talk.next)) continue;
      ASSERT_FALSE(harness.error(talk.guest, talk.next)) << harness.message(talk.guest, talk.next);
      const auto token = harness.get<NextDistribution>(talk.guest, talk.next).tokens.front();
      harness.send(talk.guest, ContextAppend{talk.context, {token}}, false);
      ask(harness, talk);
    }
  }
  for (std::size_t step = 1; step < turns.size(); ++step) {
    EXPECT_NE(turns[step], turns[step - 1]) << "step " << step;
  }
}

TEST(Models, WhoWantsTheDeviceAloneHasItAlone) {
  Harness harness(two_models());
  std::vector<Conversation> talks = {begin_on(harness, ModelIndex{1}, 3, 10)};
  EXPECT_EQ(converse(harness, talks), 10);
}

TEST(Models, AQueueOfAModelThatIsNotThereIsNotFound) {
  Harness harness(two_models());
  const InstanceId guest = harness.start();
  const FutureId future =
      harness.send(guest, CreateQueue{.queue = harness.new_object(), .model = ModelIndex{2}});
  harness.run_until(guest, future);
  EXPECT_EQ(harness.error(guest, future), ErrorCode::NotFound);
}

}  // namespace
}  // namespace quire::control
