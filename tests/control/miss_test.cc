// Tests of the operator's figures: the tokens that each program saved, and why not more.
#include <gtest/gtest.h>

#include "control/harness.h"

namespace quire::control {
namespace {

Harness::Options options_of(std::uint32_t page_count, std::uint32_t row_count_max = 512) {
  Harness::Options options;
  options.device.page_count = page_count;
  options.device.row_count_max = row_count_max;
  return options;
}

struct Asked {
  InstanceId guest{};
  ObjectId queue{};
  ObjectId context{};
  FutureId done{};
};

Asked prompt(Harness& harness, const std::vector<std::uint32_t>& tokens, TenantId tenant = {}) {
  Asked asked;
  asked.guest = harness.start(tenant);
  asked.queue = harness.queue(asked.guest);
  asked.context = harness.context(asked.guest, asked.queue);
  harness.send(asked.guest, ContextAppend{asked.context, tokens}, false);
  asked.done = harness.send(asked.guest, ContextFlush{asked.context});
  return asked;
}

std::vector<MissRecord> misses_of(const Harness& harness, InstanceId guest) {
  std::vector<MissRecord> misses;
  harness.controller->miss_log(ModelIndex{0}).for_each([&](const MissRecord& each) {
    if (each.instance == guest) misses.push_back(each);
  });
  return misses;
}

TEST(Misses, SayWhereAPromptLeavesAnotherAndWhatThatCost) {
  Harness harness(options_of(64, 32));  // Several chunks.
  const std::vector<std::uint32_t> tokens = count_tokens(100);
  const Asked first = prompt(harness, tokens);
  harness.run();
  std::vector<std::uint32_t> other = tokens;
  other[40] = 500;
  const Asked second = prompt(harness, other);
  harness.run();
  const std::vector<MissRecord> misses = misses_of(harness, second.guest);
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_EQ(misses[0].context, second.context);
  EXPECT_EQ(misses[0].page, 2u);
  EXPECT_EQ(misses[0].position, 32u);
  EXPECT_EQ(misses[0].token_count, 68u);
  EXPECT_EQ(misses[0].why.reason, MissReason::Differs);
  EXPECT_EQ(misses[0].why.field, PageField::Tokens);
  EXPECT_EQ(misses[0].why.slot, 8u);
  EXPECT_EQ(misses[0].why.here, 500u);
  EXPECT_EQ(misses[0].why.there, tokens[40]);
  const InstanceStatistics statistics = harness.controller->statistics(second.guest);
  EXPECT_EQ(statistics.asked_token_count, 100u);
  EXPECT_EQ(statistics.found_token_count, 32u);
  EXPECT_EQ(statistics.computed_token_count, 68u);
  ASSERT_EQ(misses_of(harness, first.guest).size(), 1u);
  EXPECT_EQ(misses_of(harness, first.guest)[0].why.reason, MissReason::NeverSeen);
  EXPECT_EQ(misses_of(harness, first.guest)[0].token_count, 100u);
}

TEST(Misses, ThatWereEvictedSaySo) {
  Harness harness(options_of(8));
  const Asked first = prompt(harness, count_tokens(100, 1));
  harness.run();
  harness.controller->end_instance(first.guest);
  const Asked second = prompt(harness, count_tokens(100, 2));
  harness.run();
  harness.controller->end_instance(second.guest);
  harness.clock.advance_ns(3'000'000'000);
  const Asked again = prompt(harness, count_tokens(100, 1));
  harness.run();
  const std::vector<MissRecord> misses = misses_of(harness, again.guest);
  ASSERT_FALSE(misses.empty());
  EXPECT_EQ(misses[0].why.reason, MissReason::Evicted);
  EXPECT_EQ(misses[0].why.gone_ns, 3'000'000'000u);
}

TEST(Misses, TellTheOperatorOfOtherDomainsAndTheGuestNothing) {
  Harness harness(options_of(64));
  const std::vector<std::uint32_t> tokens = count_tokens(64);
  prompt(harness, tokens, TenantId{1});
  harness.run();
  const Asked second = prompt(harness, tokens, TenantId{2});
  const Asked unknown = prompt(harness, count_tokens(64, 9), TenantId{2});
  harness.run();
  ASSERT_EQ(misses_of(harness, second.guest).size(), 1u);
  EXPECT_EQ(misses_of(harness, second.guest)[0].why.reason, MissReason::OtherDomain);
  // The counters of the two guests are the same, whether another tenant has their tokens or not.
  const auto seen = [&harness](const Asked& asked) {
    const ContextCounters counters = harness.get<ContextState>(asked.guest, asked.done).counters;
    return std::tuple(counters.found_token_count, counters.committed_page_count,
                      harness.controller->statistics(asked.guest).computed_token_count);
  };
  EXPECT_EQ(seen(second), seen(unknown));
}

TEST(Misses, AreForTheirOwnProgramAndItsOwnDomainIfProgramsMayAsk) {
  Harness::Options options = options_of(64);
  Harness silent(options);
  EXPECT_EQ(silent.controller->misses(prompt(silent, count_tokens(64)).guest), std::nullopt);
  options.controller.miss_scope = MissScope::OwnDomain;
  Harness harness(options);
  const std::vector<std::uint32_t> tokens = count_tokens(64);
  prompt(harness, tokens, TenantId{1});
  harness.run();
  std::vector<std::uint32_t> own = tokens;
  own[20] = 500;
  prompt(harness, own, TenantId{2});
  harness.run();
  // The asking tenant has another page there, and the other tenant has this one.
  const Asked asked = prompt(harness, tokens, TenantId{2});
  const Asked unknown = prompt(harness, count_tokens(64, 9), TenantId{3});
  harness.run();
  const auto misses = harness.controller->misses(asked.guest);
  ASSERT_TRUE(misses.has_value());
  ASSERT_EQ(misses->size(), 1u);
  EXPECT_EQ(misses->front().reason, MissReason::Differs);
  EXPECT_EQ(misses->front().position, 16u);
  EXPECT_EQ(misses->front().token_count, 48u);
  EXPECT_EQ(misses->front().slot, 4u);
  EXPECT_EQ(misses->front().there, 500u);
  EXPECT_EQ(harness.controller->misses(unknown.guest)->front().reason, MissReason::NeverSeen);
}

TEST(Misses, TokensThatAnotherComputedMeanwhileAreFoundAndCountedAsWaitedFor) {
  Harness harness(options_of(64, 32));
  const std::vector<std::uint32_t> tokens = count_tokens(100);
  const Asked first = prompt(harness, tokens);
  const Asked second = prompt(harness, tokens);
  harness.run();
  const InstanceStatistics one = harness.controller->statistics(first.guest);
  const InstanceStatistics other = harness.controller->statistics(second.guest);
  EXPECT_EQ(one.found_token_count + other.found_token_count, 96u);
  EXPECT_EQ(one.waited_token_count + other.waited_token_count, 96u);
  EXPECT_EQ(one.asked_token_count + other.asked_token_count, 200u);
  EXPECT_EQ(one.computed_token_count + other.computed_token_count, 104u);
}

TEST(Misses, OfGeneratedTokensAreOneForEachReply) {
  Harness harness(options_of(64));
  const Asked asked = prompt(harness, count_tokens(60));
  harness.run();
  for (std::uint32_t token = 0; token < 50; ++token) {
    harness.send(asked.guest, ContextAppend{asked.context, {token}}, false);
    harness.send(asked.guest, ContextFlush{asked.context}, false);
    harness.run();
  }
  const std::vector<MissRecord> misses = misses_of(harness, asked.guest);
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_EQ(misses[0].token_count, 110u);
  EXPECT_EQ(harness.controller->statistics(asked.guest).asked_token_count, 110u);
}

TEST(Misses, NobodyAsksForCostNothing) {
  Harness::Options options = options_of(64);
  options.controller.miss_count_max = 0;
  Harness harness(options);
  const Asked asked = prompt(harness, count_tokens(100));
  harness.run();
  EXPECT_EQ(harness.controller->miss_log(ModelIndex{0}).noted_count(), 0u);
  EXPECT_EQ(harness.controller->statistics(asked.guest).asked_token_count, 100u);
}

TEST(Misses, OfContextsThatWereSuspendedAskForNoTokenTwice) {
  Harness harness(options_of(8));
  const Asked first = prompt(harness, count_tokens(100, 1));
  harness.run();
  // The first has nothing to compute, and gives its pages up.
  const Asked second = prompt(harness, count_tokens(100, 2));
  for (int step = 0; step < 50 && !harness.has(second.guest, second.done); ++step) harness.step();
  ASSERT_TRUE(harness.has(second.guest, second.done));
  harness.send(first.guest, ContextAppend{first.context, {1, 2, 3}}, false);
  const FutureId more = harness.send(first.guest, ContextFlush{first.context});
  for (int step = 0; step < 50; ++step) harness.step();
  ASSERT_TRUE(harness.has(first.guest, more));
  EXPECT_GT(harness.controller->statistics().suspension_count, 0u);
  EXPECT_EQ(harness.controller->statistics(first.guest).asked_token_count, 103u);
  const std::vector<MissRecord> misses = misses_of(harness, first.guest);
  ASSERT_GE(misses.size(), 2u);
  EXPECT_EQ(misses[1].why.reason, MissReason::Evicted);
  EXPECT_GT(harness.get<ContextState>(second.guest, second.done).counters.seq_len, 0u);
}

}  // namespace
}  // namespace quire::control
