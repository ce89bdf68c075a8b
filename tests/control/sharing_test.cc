// Tests of what many instances share (prefixes, batches, pages) and of what they must not share.
#include <gtest/gtest.h>

#include "control/conversation.h"

namespace quire::control::sharing_test {
namespace {

struct Prompted {
  InstanceId id{};
  ObjectId queue{};
  ObjectId context{};
  ObjectId output{};
  FutureId done{};
  FutureId next{};
};

Prompted prompt(Harness& harness, const std::vector<std::uint32_t>& tokens,
                Priority priority = Priority::Normal) {
  Prompted guest;
  guest.id = harness.start();
  guest.queue = harness.queue(guest.id, priority);
  guest.context = harness.context(guest.id, guest.queue);
  guest.output = harness.embeds(guest.id, guest.queue, 1)[0];
  harness.send(guest.id, ContextAppend{guest.context, tokens}, false);
  guest.done = harness.send(guest.id, ContextForward{guest.context, {guest.output}});
  guest.next = harness.send(guest.id, GetNextDist{guest.queue, guest.output});
  return guest;
}

TEST(Sharing, IdenticalPromptsThatArriveTogetherCostOnePrefill) {
  Harness::Options options;
  options.device.row_count_max = 64;  // Several chunks.
  Harness harness(options);
  const auto tokens = count_tokens(16 * 20 + 5);
  std::vector<Prompted> guests;
  for (int index = 0; index < 10; ++index) guests.push_back(prompt(harness, tokens));
  harness.run();
  // One computes the 20 full pages; each its own partial one.
  EXPECT_EQ(harness.controller->statistics().row_count, 16u * 20 + 10 * 5);
  EXPECT_EQ(harness.controller->statistics().committed_page_count, 20u);
  const auto first = harness.get<NextDistribution>(guests[0].id, guests[0].next);
  for (const Prompted& guest : guests) {
    EXPECT_EQ(harness.get<NextDistribution>(guest.id, guest.next).probabilities,
              first.probabilities);
  }
}

TEST(Sharing, SixtyFourProgramsWithOnePromptOf2000TokensPayForItOnce) {
  constexpr std::uint32_t kPageSize = 16;
  constexpr std::uint32_t kPromptTokens = 2000;
  constexpr std::uint32_t kPrograms = 64;
  constexpr std::uint32_t kReplyTokens = 16;
  Harness::Options options;
  options.device.page_count = 2048;
  options.device.row_count_max = 512;
  Harness harness(options);
  std::vector<Conversation> talks;
  for (std::uint32_t each = 0; each < kPrograms; ++each) {
    talks.push_back(begin(harness, 1, kPromptTokens, kReplyTokens));
  }
  std::uint32_t held_most = 0;
  const auto watch = [&] {
    held_most = std::max(held_most, options.device.page_count - harness.free_page_count());
  };
  converse(harness, talks, {.after_each = watch});
  for (const Conversation& talk : talks) EXPECT_EQ(talk.tokens, talks.front().tokens);
  const std::uint64_t rows = harness.controller->statistics().row_count;
  // Each reply's first token comes with the prompt.
  EXPECT_LE(rows, kPromptTokens + kPrograms * kPageSize + kPrograms * (kReplyTokens - 1));
  EXPECT_LE(held_most, kPromptTokens / kPageSize + kPrograms * 2);
  std::cout << rows << " rows, at most " << held_most << " pages\n";

  prompt(harness, count_tokens(kPromptTokens));
  harness.run();
  EXPECT_EQ(harness.controller->statistics().row_count, rows + 1) << "asked again after the end";
}

TEST(Sharing, FortyForksOfAThousandTokensShare62PagesAndCopyOneEach) {
  constexpr std::uint32_t kForks = 40;
  Harness harness;
  const Prompted guest = prompt(harness, count_tokens(1000));
  harness.run();
  const std::uint32_t free_before = harness.free_page_count();
  std::vector<ObjectId> children;
  for (std::uint32_t each = 0; each < kForks; ++each) {
    children.push_back(harness.new_object());
    harness.send(guest.id, ContextFork{guest.context, children.back()}, false);
    harness.send(guest.id, ContextAppend{children.back(), {each}}, false);
    harness.send(guest.id, ContextFlush{children.back()}, false);
  }
  harness.run();
  EXPECT_EQ(harness.controller->statistics(guest.id).page_count_max, 62u + 1 + kForks);
  EXPECT_EQ(harness.free_page_count(), free_before - kForks);
  for (const ObjectId child : children) {
    harness.send(guest.id, ContextDrop{child}, false);
  }
  harness.run();
  EXPECT_EQ(harness.free_page_count(), free_before);
}

TEST(Sharing, PromptsOfWholePagesAskOnlyForTheirLastRowAgain) {
  Harness harness;
  const auto tokens = count_tokens(64);
  prompt(harness, tokens);
  prompt(harness, tokens);
  prompt(harness, tokens);
  harness.run();
  EXPECT_EQ(harness.controller->statistics().row_count, 64u + 2);
}

TEST(Sharing, AClaimLapsesWhenItsInstanceEnds) {
  Harness::Options options;
  options.device.row_count_max = 32;
  Harness harness(options);
  const auto tokens = count_tokens(100);
  const Prompted first = prompt(harness, tokens);
  const Prompted second = prompt(harness, tokens);
  harness.controller->dispatch();  // The first is under way, the second waits for its pages.
  harness.controller->end_instance(first.id);
  harness.controller->verify();
  harness.run();
  EXPECT_TRUE(harness.has(second.id, second.next));
  EXPECT_FALSE(harness.has(first.id, first.next));
}

TEST(Sharing, ALongPromptDelaysDecodersByAtMostAChunk) {
  Harness::Options options;
  options.device.row_count_max = 512;
  options.controller.prefill_row_budget = 64;
  Harness harness(options);
  std::vector<Prompted> decoders;
  for (std::uint32_t index = 0; index < 8; ++index) {
    decoders.push_back(prompt(harness, count_tokens(5, index)));
  }
  harness.run();
  const Prompted reader = prompt(harness, count_tokens(2000));
  int steps = 0;
  while (!harness.has(reader.id, reader.next)) {
    std::vector<FutureId> waits;
    for (Prompted& each : decoders) {
      harness.send(each.id, ContextAppend{each.context, {7}}, false);
      harness.send(each.id, ContextForward{each.context, {each.output}}, false);
      waits.push_back(harness.send(each.id, GetNextDist{each.queue, each.output}));
    }
    ASSERT_TRUE(harness.step());
    ++steps;
    for (std::size_t index = 0; index < waits.size(); ++index) {
      EXPECT_TRUE(harness.has(decoders[index].id, waits[index])) << "a decoder missed a step";
    }
  }
  EXPECT_EQ(steps, (2000 + 63) / 64);
}

TEST(Sharing, TwentyDecodersShareTheirBatches) {
  Harness harness;
  std::vector<Prompted> guests;
  for (std::uint32_t index = 0; index < 20; ++index) {
    guests.push_back(prompt(harness, count_tokens(10 + index, index)));
    harness.controller->poll();
    harness.controller->dispatch();  // They arrive one by one; the device is busy with the first.
  }
  int tokens = 0;
  for (int token = 0; token < 50; ++token) {
    harness.run();
    for (Prompted& each : guests) {
      harness.send(each.id, ContextAppend{each.context, {3}}, false);
      harness.send(each.id, ContextForward{each.context, {each.output}}, false);
      harness.send(each.id, GetNextDist{each.queue, each.output}, false);
      ++tokens;
    }
  }
  harness.run();
  const ControlStatistics statistics = harness.controller->statistics();
  const double mean =
      static_cast<double>(statistics.pass_count) / static_cast<double>(statistics.batch_count);
  EXPECT_GE(mean, 8.0);
}

TEST(Sharing, HigherPriorityGoesFirstWhereTheDeviceIsFull) {
  Harness::Options options;
  options.device.row_count_max = 4;
  Harness harness(options);
  std::vector<Prompted> low;
  for (std::uint32_t index = 0; index < 8; ++index) {
    low.push_back(prompt(harness, {index + 1}, Priority::Low));
  }
  const Prompted high = prompt(harness, {100}, Priority::High);
  harness.step();
  EXPECT_TRUE(harness.has(high.id, high.next));
  EXPECT_FALSE(harness.has(low.back().id, low.back().next));
  harness.run();
  EXPECT_TRUE(harness.has(low.back().id, low.back().next));
}

TEST(Sharing, AForkSharesItsPrefixAndCopiesOnlyThePartialPage) {
  Harness harness;
  const Prompted guest = prompt(harness, count_tokens(40));
  harness.run();
  const ControlStatistics before = harness.controller->statistics();
  std::vector<ObjectId> children;
  std::vector<FutureId> nexts;
  for (std::uint32_t index = 0; index < 4; ++index) {
    const ObjectId child = harness.new_object();
    const FutureId forked = harness.send(guest.id, ContextFork{guest.context, child});
    EXPECT_TRUE(harness.has(guest.id, forked)) << "a fork waits for nothing";
    children.push_back(child);
  }
  EXPECT_EQ(harness.free_page_count(), before.page_count_free);
  for (const ObjectId child : children) {
    const ObjectId output = harness.embeds(guest.id, guest.queue, 1)[0];
    harness.send(guest.id, ContextAppend{child, {9}}, false);
    harness.send(guest.id, ContextForward{child, {output}}, false);
    nexts.push_back(harness.send(guest.id, GetNextDist{guest.queue, output}));
  }
  EXPECT_EQ(harness.run(), 1);
  EXPECT_EQ(harness.free_page_count(), before.page_count_free - 4);
  const auto first = harness.get<NextDistribution>(guest.id, nexts[0]);
  for (const FutureId next : nexts) {
    EXPECT_EQ(harness.get<NextDistribution>(guest.id, next).probabilities, first.probabilities);
  }
}

// Three conversations end, one at a time; then another program wants the place of one of them.
TEST(Sharing, WhatProgramsSayOfTheirContextsDecidesWhoseCacheIsGivenUp) {
  for (const auto policy :
       {EvictionPolicyKind::Default, EvictionPolicyKind::Lru, EvictionPolicyKind::S3Fifo}) {
    Harness::Options options;
    options.device.page_count = 12;
    options.controller.eviction = policy;
    Harness harness(options);
    constexpr ContextHintKind kHints[] = {ContextHintKind::WillResume, ContextHintKind::None,
                                          ContextHintKind::Done};
    const auto tokens = [](std::uint32_t chat) { return count_tokens(64, 1 + 100 * chat); };
    for (std::uint32_t chat = 0; chat < 3; ++chat) {
      const Prompted guest = prompt(harness, tokens(chat));
      harness.send(guest.id, ContextHint{guest.context, kHints[chat], 0}, false);
      harness.run();
      if (chat == 1) harness.send(guest.id, ContextEdit{guest.context, ContextEditKind::Rewind, 0});
      if (chat == 2) harness.send(guest.id, ContextDropRange{guest.context, 0, 64});
      harness.run();
      harness.controller->end_instance(guest.id);
    }
    for (std::uint32_t other = 3; other < 5; ++other) {  // Takes the place of one, then another.
      const Prompted guest = prompt(harness, tokens(other));
      harness.run();
      EXPECT_FALSE(harness.error(guest.id, guest.done));
    }
    const Prompted again = prompt(harness, tokens(0));
    harness.run();
    EXPECT_EQ(harness.controller->statistics().found_token_count, 64u) << name_of(policy);
    EXPECT_FALSE(harness.error(again.id, again.done));
  }
}

TEST(Sharing, ColdPagesCountAsFreeAndAreFoundUntilTheyAreNeeded) {
  Harness::Options options;
  options.device.page_count = 8;
  Harness harness(options);
  const Prompted first = prompt(harness, count_tokens(64, 1));
  harness.run();
  harness.controller->end_instance(first.id);
  EXPECT_EQ(harness.free_page_count(), 8u);
  EXPECT_EQ(harness.controller->statistics().page_count_cold, 4u);
  const Prompted again = prompt(harness, count_tokens(64, 1));
  harness.run();
  EXPECT_EQ(harness.controller->statistics().found_token_count, 64u);
  harness.controller->end_instance(again.id);
  const Prompted other = prompt(harness, count_tokens(8 * 16, 2));  // Wants every page.
  harness.run();
  EXPECT_FALSE(harness.error(other.id, other.done));
  EXPECT_EQ(harness.controller->statistics().page_count_cold, 0u);
}

}  // namespace
}  // namespace quire::control::sharing_test
