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

TEST(Controller, NoTenantFindsWhatAnotherComputed) {
  Harness harness;
  const auto tokens = count_tokens(64);
  const NextDistribution first = next_after(harness, tokens, TenantId{1});
  EXPECT_TRUE(next_after(harness, tokens, TenantId{2}) == first);
  EXPECT_EQ(harness.controller->statistics().found_token_count, 0u);
}

}  // namespace
}  // namespace quire::control
