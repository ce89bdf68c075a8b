#include <gtest/gtest.h>

#include "control/harness.h"

namespace quire::control {
namespace {

// The distribution after `tokens` in a new context of its own instance.
NextDistribution next_after(Harness& harness, const std::vector<std::uint32_t>& tokens,
                            TenantId tenant = TenantId{1}) {
  const InstanceId guest = harness.start(tenant);
  const ObjectId queue = harness.queue(guest);
  const ObjectId context = harness.context(guest, queue);
  const std::vector<ObjectId> output = harness.embeds(guest, queue, 1);
  harness.send(guest, ContextAppend{context, tokens}, false);
  harness.send(guest, ContextForward{context, output});
  const FutureId next = harness.send(guest, GetNextDist{queue, output[0]});
  harness.run();
  NextDistribution given = harness.get<NextDistribution>(guest, next);
  harness.controller->end_instance(guest);
  return given;
}

bool operator==(const NextDistribution& left, const NextDistribution& right) {
  return left.tokens == right.tokens && left.probabilities == right.probabilities;
}

TEST(Controller, PromptForwardAndDistributionAreOneDeviceStep) {
  Harness harness;
  const InstanceId guest = harness.start();
  const ObjectId queue = harness.queue(guest);
  const ObjectId context = harness.context(guest, queue);
  const auto output = harness.embeds(guest, queue, 1);
  harness.send(guest, ContextAppend{context, count_tokens(73)}, false);
  const FutureId forward = harness.send(guest, ContextForward{context, output});
  const FutureId next = harness.send(guest, GetNextDist{queue, output[0]});
  EXPECT_EQ(harness.run(), 1);
  const ContextCounters counters = harness.get<ContextState>(guest, forward).counters;
  EXPECT_EQ(counters.seq_len, 73u);
  EXPECT_EQ(counters.committed_page_count, 4u);
  EXPECT_EQ(counters.working_page_count, 1u);  // 73 tokens take 5 pages.
  EXPECT_EQ(counters.working_page_token_count, 9u);
  EXPECT_EQ(harness.get<NextDistribution>(guest, next).tokens.size(), 256u);
}

TEST(Controller, AThousandTokensAre62PagesAnd8Tokens) {
  Harness harness;
  const InstanceId guest = harness.start();
  const ObjectId queue = harness.queue(guest);
  const ObjectId context = harness.context(guest, queue);
  harness.send(guest, ContextAppend{context, count_tokens(1000)}, false);
  const FutureId flush = harness.send(guest, ContextFlush{context});
  harness.run();
  const ContextCounters counters = harness.get<ContextState>(guest, flush).counters;
  EXPECT_EQ(counters.committed_page_count, 62u);
  EXPECT_EQ(counters.working_page_token_count, 8u);
}

TEST(Controller, ByHandAndByContextGiveEqualDistributions) {
  Harness harness;
  const auto tokens = count_tokens(21);
  const InstanceId guest = harness.start();
  const ObjectId queue = harness.queue(guest);
  const auto pages = harness.pages(guest, queue, 2);
  const auto inputs = harness.embeds(guest, queue, 21);
  const auto output = harness.embeds(guest, queue, 1);
  std::vector<std::uint32_t> positions;
  for (std::uint32_t index = 0; index < 21; ++index) positions.push_back(index);
  harness.send(guest, EmbedText{queue, inputs, tokens, positions}, false);
  const FutureId forward =
      harness.send(guest, Forward{queue, {}, inputs, pages, output, {}, false});
  const FutureId next = harness.send(guest, GetNextDist{queue, output[0]});
  EXPECT_EQ(harness.run(), 1);
  EXPECT_FALSE(harness.error(guest, forward));
  EXPECT_TRUE(harness.get<NextDistribution>(guest, next) == next_after(harness, tokens));
}

TEST(Controller, FoundPromptsGiveTheDistributionsOfComputedOnes) {
  Harness harness;
  for (const std::size_t count : {1u, 15u, 16u, 17u, 32u, 100u, 256u}) {
    const auto tokens = count_tokens(count, static_cast<std::uint32_t>(count));
    const NextDistribution computed = next_after(harness, tokens);
    const auto before = harness.controller->statistics();
    EXPECT_TRUE(next_after(harness, tokens) == computed) << count;
    const auto after = harness.controller->statistics();
    EXPECT_EQ(after.found_token_count - before.found_token_count, count / 16 * 16);
    EXPECT_EQ(after.row_count - before.row_count, count % 16 == 0 ? 1 : count % 16);
  }
}

// The control layer's stops of the walk in ARCHITECTURE.md, for one token.
TEST(Controller, OneTokenWalksThroughTheStopsInOrder) {
  class Stops final : public WalkSink {
   public:
    void reached(WalkStop stop) override {
      if (stops.empty() || stops.back() != stop) stops.push_back(stop);
    }
    std::vector<WalkStop> stops;
  };
  Stops walk;
  Harness::Options options;
  options.controller.walk = &walk;
  Harness harness(options);
  const InstanceId guest = harness.start();
  const ObjectId queue = harness.queue(guest);
  const ObjectId context = harness.context(guest, queue);
  const auto output = harness.embeds(guest, queue, 1);
  harness.send(guest, ContextAppend{context, {5}}, false);
  walk.stops.clear();
  harness.send(guest, ContextForward{context, output}, false);
  harness.send(guest, GetNextDist{queue, output[0]});
  harness.run();
  EXPECT_EQ(walk.stops, (std::vector<WalkStop>{WalkStop::Controller, WalkStop::Pages,
                                               WalkStop::Scheduler, WalkStop::Dispatcher}));
}

TEST(Controller, ModelsAreServedSideBySideAndDoNotMix) {
  Harness harness;
  inference::SimulatedBackendOptions small;
  small.model = inference::simulated_model();
  small.page_size = 8;
  Wakeup wakeup;
  CompletionInbox inbox(wakeup);
  inference::SimulatedBackend first({.model = inference::simulated_model()}, inbox);
  inference::SimulatedBackend second(small, inbox);
  const auto controller = make_controller({{.backend = &first}, {.backend = &second}}, {}, inbox,
                                          harness, wakeup, harness.clock);
  ASSERT_EQ(controller->models().size(), 2u);
  EXPECT_EQ(controller->models()[1].page_size, 8u);
  const InstanceId guest{900};
  controller->start_instance(guest, TenantId{1}, {});
  const auto send = [&](CommandBody body) {
    const FutureId future{++harness.next_future};
    controller->submit({.instance = guest, .future = future, .body = std::move(body)});
    return future;
  };
  std::vector<FutureId> flushes;
  for (std::uint32_t model = 0; model < 2; ++model) {
    const ObjectId queue{1 + model};
    const ObjectId context{11 + model};
    send(CreateQueue{queue, ModelIndex{model}});
    send(ContextCreate{context, queue});
    send(ContextAppend{context, count_tokens(20)});
    flushes.push_back(send(ContextFlush{context}));
    send(AllocEmbeds{queue, {ObjectId{21 + model}}});
  }
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_TRUE(controller->dispatch());
    EXPECT_TRUE(controller->poll());
    controller->verify();
  }
  EXPECT_EQ(harness.get<ContextState>(guest, flushes[0]).counters.committed_page_count, 1u);
  EXPECT_EQ(harness.get<ContextState>(guest, flushes[1]).counters.committed_page_count, 2u);
  const FutureId mixed = send(GetNextDist{ObjectId{1}, ObjectId{22}});
  EXPECT_EQ(harness.error(guest, mixed), ErrorCode::InvalidArgument);
}

TEST(Controller, NoTenantFindsWhatAnotherComputed) {
  Harness harness;
  const auto tokens = count_tokens(64);
  const NextDistribution first = next_after(harness, tokens, TenantId{1});
  EXPECT_TRUE(next_after(harness, tokens, TenantId{2}) == first);
  EXPECT_EQ(harness.controller->statistics().found_token_count, 0u);
}

}  // namespace
}  // namespace quire::control
