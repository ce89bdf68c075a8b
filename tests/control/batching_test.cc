// When batches are built, and of what: the policies, on the simulated device and clock.
#include <gtest/gtest.h>

#include <chrono>

#include "base/clock.h"
#include "control/conversation.h"

namespace quire::control {
namespace {

constexpr DispatchPolicy kEager{.kind = DispatchKind::Eager};

DispatchPolicy k_only(std::uint32_t count) {
  return {.kind = DispatchKind::KOnly, .command_count = count};
}
DispatchPolicy t_only(std::uint64_t period_ns) {
  return {.kind = DispatchKind::TOnly, .period_ns = period_ns};
}

Harness::Options options_of(const DispatchPolicy& policy) {
  Harness::Options options;
  options.controller.dispatch = policy;
  options.controller.prefill_row_budget = 256;  // Room for every prompt of these tests.
  return options;
}

// Commands that the batch under way answers or goes on with.
std::size_t command_count(const Harness& harness) {
  const inference::Batch& batch = harness.device.next_batch();
  return batch.passes.size() + batch.distributions.size();
}

std::vector<Conversation> talks_of(Harness& harness, std::uint32_t count) {
  std::vector<Conversation> talks;
  for (std::uint32_t each = 0; each < count; ++each) {
    talks.push_back(begin(harness, 1 + each, 3 + 5 * each, 6));
  }
  return talks;
}

TEST(Batching, EveryPolicyGivesTheSameTokens) {
  std::vector<std::vector<std::uint32_t>> first;
  std::vector<int> batch_counts;
  for (const DispatchPolicy& policy : {DispatchPolicy{}, kEager, k_only(1), k_only(3), k_only(100),
                                       t_only(1), t_only(kMillisecond)}) {
    Harness harness(options_of(policy));
    std::vector<Conversation> talks = talks_of(harness, 7);
    batch_counts.push_back(
        converse(harness, talks, {.after_each = [&] { harness.clock.advance_ns(kMillisecond); }}));
    std::vector<std::vector<std::uint32_t>> tokens;
    for (const Conversation& talk : talks) {
      EXPECT_EQ(talk.error, "");
      EXPECT_EQ(talk.tokens.size(), 6u);
      tokens.push_back(talk.tokens);
    }
    if (first.empty()) first = tokens;
    EXPECT_EQ(tokens, first);
  }
  EXPECT_EQ(batch_counts[0], 6) << "adaptive: all seven in each step";
  EXPECT_EQ(batch_counts[1], 2 * 7 * 6) << "eager: each forward and each distribution by itself";
  EXPECT_EQ(batch_counts[2], 7 * 6) << "k-only:1: what comes behind a command joins it";
}

TEST(Batching, AdaptiveTakesAllThatIsReadyWhenTheDeviceIsFree) {
  Harness harness(options_of({}));
  std::vector<Conversation> talks = talks_of(harness, 5);
  ask(harness, talks[0]);
  harness.begin_step();
  EXPECT_EQ(command_count(harness), 2u) << "it waits for nobody";
  for (std::size_t each = 1; each < 5; ++each) ask(harness, talks[each]);
  EXPECT_FALSE(harness.controller->dispatch()) << "the device is busy";
  harness.device.complete_next();
  harness.begin_step();
  EXPECT_EQ(command_count(harness), 8u);
  EXPECT_EQ(harness.controller->next_dispatch_in_ns(), std::nullopt);
}

TEST(Batching, EagerSendsEachCommandByItselfOldestFirst) {
  Harness harness(options_of(kEager));
  std::vector<Conversation> talks = talks_of(harness, 3);
  for (Conversation& talk : talks) ask(harness, talk);
  std::vector<std::size_t> rows;
  while (true) {
    harness.begin_step();
    if (harness.device.inflight_count() == 0) break;
    EXPECT_EQ(command_count(harness), 1u);
    rows.push_back(harness.device.next_batch().rows.size());
    harness.device.complete_next();
  }
  // The forwards of 3, 8 and 13 tokens, each followed by its distribution, in order of issue.
  EXPECT_EQ(rows, (std::vector<std::size_t>{3, 0, 8, 0, 13, 0}));
}

TEST(Batching, KOnlyWaitsUntilKAreReadyAndTakesNoMore) {
  Harness harness(options_of(k_only(4)));
  std::vector<Conversation> talks = talks_of(harness, 6);
  for (int each = 0; each < 3; ++each) ask(harness, talks[each]);
  harness.begin_step();
  EXPECT_EQ(harness.device.inflight_count(), 0u) << "three are ready";
  for (int each = 3; each < 6; ++each) ask(harness, talks[each]);
  harness.begin_step();
  EXPECT_EQ(harness.device.next_batch().passes.size(), 4u);
  EXPECT_EQ(harness.device.next_batch().distributions.size(), 4u) << "which join their forwards";
}

TEST(Batching, KOnlyLeavesNobodyWaitingForOthersThatNeverCome) {
  Harness harness(options_of(k_only(100)));
  std::vector<Conversation> talks = talks_of(harness, 2);
  ask(harness, talks[0]);
  harness.begin_step();
  harness.clock.advance_ns(kMillisecond);
  ask(harness, talks[1]);
  EXPECT_FALSE(harness.controller->dispatch());
  EXPECT_EQ(harness.controller->next_dispatch_in_ns(), kCountWaitNsMax - kMillisecond);
  harness.clock.advance_ns(kCountWaitNsMax - kMillisecond);
  EXPECT_EQ(harness.controller->next_dispatch_in_ns(), 0u);
  EXPECT_TRUE(harness.controller->dispatch());
  EXPECT_EQ(harness.device.next_batch().passes.size(), 2u);
  EXPECT_EQ(harness.controller->next_dispatch_in_ns(), std::nullopt);
}

TEST(Batching, KOnlyDoesNotCountWhoLeftMeanwhile) {
  Harness harness(options_of(k_only(2)));
  std::vector<Conversation> talks = talks_of(harness, 2);
  ask(harness, talks[0]);
  harness.controller->end_instance(talks[0].guest);
  ask(harness, talks[1]);
  EXPECT_FALSE(harness.controller->dispatch());
  harness.controller->end_instance(talks[1].guest);
  EXPECT_FALSE(harness.controller->dispatch());
  EXPECT_EQ(harness.controller->next_dispatch_in_ns(), std::nullopt) << "nobody waits";
  EXPECT_TRUE(harness.controller->idle());
}

TEST(Batching, TOnlyWaitsForItsTicks) {
  Harness harness(options_of(t_only(10 * kMillisecond)));
  harness.clock.advance_ns(3 * kMillisecond);
  std::vector<Conversation> talks = talks_of(harness, 3);
  for (Conversation& talk : talks) ask(harness, talk);
  EXPECT_FALSE(harness.controller->dispatch());
  EXPECT_EQ(harness.controller->next_dispatch_in_ns(), 7 * kMillisecond);
  harness.clock.advance_ns(7 * kMillisecond);
  EXPECT_TRUE(harness.controller->dispatch());
  EXPECT_EQ(harness.device.next_batch().passes.size(), 3u);
  // Busy at the tick of 20 ms, free at 22: the next is that of 30.
  harness.clock.advance_ns(12 * kMillisecond);
  harness.device.complete_next();
  harness.controller->poll();
  ask(harness, talks[0]);
  EXPECT_FALSE(harness.controller->dispatch());
  EXPECT_EQ(harness.controller->next_dispatch_in_ns(), 8 * kMillisecond);
}

// The answer waits for the loop's next turn, and nothing else would wake it.
TEST(Batching, WhatATickFinishesWithoutABatchWakesTheEngine) {
  Harness harness(options_of(t_only(10 * kMillisecond)));
  const InstanceId guest = harness.start();
  const ObjectId queue = harness.queue(guest);
  const FutureId read = harness.send(guest, GetNextDist{queue, harness.embeds(guest, queue, 1)[0]});
  harness.clock.advance_ns(10 * kMillisecond);
  harness.wakeup.wait_for({});  // What was notified so far is over.
  EXPECT_FALSE(harness.controller->dispatch());
  EXPECT_EQ(harness.error(guest, read), ErrorCode::InvalidArgument) << "nothing was put into it";
  const auto begun = std::chrono::steady_clock::now();
  harness.wakeup.wait_for(std::chrono::seconds(20));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

// A pool of a few pages and a tier: what waits for pages and what moves them goes under any policy.
TEST(Batching, NoPolicyHoldsUpPagesThatOthersWaitFor) {
  std::vector<std::vector<std::uint32_t>> first;
  for (const DispatchPolicy& policy :
       {DispatchPolicy{}, kEager, k_only(3), k_only(100), t_only(5 * kMillisecond)}) {
    Harness::Options options = options_of(policy);
    options.device.page_count = 7;
    options.controller.tiers.host_bytes_max = 1 << 16;
    options.controller.costs.choice = TierChoice::Restore;
    Harness harness(options);
    std::vector<Conversation> talks;
    for (std::uint32_t each = 0; each < 5; ++each)
      talks.push_back(begin(harness, 1 + each, 30, 24));
    converse(harness, talks, {.after_each = [&] { harness.clock.advance_ns(kMillisecond); }});
    EXPECT_GT(harness.controller->statistics().suspension_count, 0u);
    std::vector<std::vector<std::uint32_t>> tokens;
    for (const Conversation& talk : talks) {
      EXPECT_EQ(talk.error, "");
      tokens.push_back(talk.tokens);
    }
    if (first.empty()) first = tokens;
    EXPECT_EQ(tokens, first);
  }
}

}  // namespace
}  // namespace quire::control
