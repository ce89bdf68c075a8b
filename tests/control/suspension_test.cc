// Tests of a pool that runs out of pages: no program is killed, and each gets the results of an
// unconstrained run.
#include <gtest/gtest.h>

#include "control/conversation.h"

namespace quire::control {
namespace {

Harness::Options pool_of(std::uint32_t page_count) {
  Harness::Options options;
  options.device.page_count = page_count;
  options.device.row_count_max = 256;
  return options;
}

struct Outcome {
  int batch_count = 0;
  std::uint64_t row_count = 0;
  std::uint64_t suspension_count = 0;
  std::vector<std::vector<std::uint32_t>> tokens;
};

Outcome sixteen(std::uint32_t page_count) {
  Harness harness(pool_of(page_count));
  std::vector<Conversation> talks;
  for (std::uint32_t each = 0; each < 16; ++each) {
    talks.push_back(begin(harness, 1 + each, 100, 60));  // 10 pages each in the end.
  }
  Outcome outcome{.batch_count = converse(harness, talks), .tokens = {}};
  for (const Conversation& talk : talks) {
    EXPECT_EQ(talk.error, "");
    outcome.tokens.push_back(talk.tokens);
  }
  outcome.row_count = harness.controller->statistics().row_count;
  outcome.suspension_count = harness.controller->statistics().suspension_count;
  EXPECT_EQ(harness.free_page_count(), page_count);
  return outcome;
}

TEST(Suspension, SixteenConversationsInAQuarterOfThePoolGiveWhatTheyGiveInAllOfIt) {
  const Outcome roomy = sixteen(400);
  EXPECT_EQ(roomy.suspension_count, 0u);
  const Outcome tight = sixteen(40);
  EXPECT_EQ(tight.tokens, roomy.tokens);
  EXPECT_GT(tight.suspension_count, 0u);
  // Work done twice stays within limits: rows are what a device's time goes by.
  EXPECT_LE(static_cast<double>(tight.row_count), 2.5 * static_cast<double>(roomy.row_count));
  std::cout << "batches " << roomy.batch_count << " and " << tight.batch_count << ", rows "
            << roomy.row_count << " and " << tight.row_count << ", suspensions "
            << tight.suspension_count << "\n";
}

TEST(Suspension, TwoThatHoldHalfEachAndWantMoreBothFinish) {
  Harness harness(pool_of(8));
  std::vector<Conversation> talks;
  for (std::uint32_t each = 0; each < 2; ++each) talks.push_back(begin(harness, 1 + each, 64, 40));
  converse(harness, talks);
  for (const Conversation& talk : talks) {
    EXPECT_EQ(talk.error, "");
    EXPECT_EQ(talk.tokens.size(), 40u);
  }
}

// The limit on the wait of a context that never had pages does not end one that gave them up.
TEST(Suspension, WhoeverGaveWayComesBackHoweverLongTheOlderOnesTake) {
  Harness harness(pool_of(8));
  std::vector<Conversation> talks;
  for (std::uint32_t each = 0; each < 2; ++each) talks.push_back(begin(harness, 1 + each, 64, 40));
  converse(harness, talks, {.after_each = [&] { harness.clock.advance_ns(1'000'000'000); }});
  for (const Conversation& talk : talks) EXPECT_EQ(talk.error, "");
  EXPECT_GT(harness.controller->statistics().suspension_count, 0u);
}

TEST(Suspension, WhoeverIdlesGivesWayAndComesBackWithTheSameBits) {
  std::vector<std::uint32_t> alone;
  {
    Harness harness(pool_of(64));
    std::vector<Conversation> talks{begin(harness, 1, 64, 10)};
    converse(harness, talks);
    alone = talks[0].tokens;
  }
  Harness harness(pool_of(8));
  std::vector<Conversation> first{begin(harness, 1, 64, 5)};
  // The program of the context thinks after five tokens; the context stays.
  Conversation& idle = first[0];
  idle.left = 5;
  ask(harness, idle);
  for (int token = 0; token < 5; ++token) {
    harness.run();
    const auto drawn = harness.get<NextDistribution>(idle.guest, idle.next).tokens.front();
    idle.tokens.push_back(drawn);
    harness.send(idle.guest, ContextAppend{idle.context, {drawn}}, false);
    if (token < 4) ask(harness, idle);
  }
  std::vector<Conversation> others;
  others.push_back(begin(harness, 7, 90, 20));
  converse(harness, others);
  EXPECT_EQ(others[0].error, "");
  EXPECT_GT(harness.controller->statistics().suspension_count, 0u);
  for (int token = 0; token < 5; ++token) {
    ask(harness, idle);
    harness.run();
    const auto drawn = harness.get<NextDistribution>(idle.guest, idle.next).tokens.front();
    idle.tokens.push_back(drawn);
    harness.send(idle.guest, ContextAppend{idle.context, {drawn}}, false);
  }
  EXPECT_EQ(idle.tokens, alone);
}

// The older one has the lower priority, and each needs several batches to have its tokens back.
TEST(Suspension, TwoThatBothComeBackDoNotTakeTurnsForEver) {
  Harness::Options options = pool_of(1);
  options.device.row_count_max = 1;
  Harness harness(options);
  const InstanceId old = harness.start();
  const ObjectId low = harness.queue(old, Priority::Low);
  const ObjectId first = harness.context(old, low);
  const auto output = harness.embeds(old, low, 1);
  const InstanceId young = harness.start();
  const ObjectId high = harness.queue(young, Priority::High);
  const ObjectId second = harness.context(young, high);
  harness.send(young, ContextAppend{second, {1, 2, 3}}, false);
  harness.send(young, ContextFlush{second}, false);
  harness.run();
  harness.send(old, ContextAppend{first, {9}}, false);
  const FutureId written = harness.send(old, ContextFlush{first});  // The page of one who idles.
  for (int batch = 0; batch < 10 && !harness.has(old, written); ++batch) harness.step();
  ASSERT_TRUE(harness.has(old, written));
  ASSERT_FALSE(harness.error(old, written));
  const FutureId next = harness.send(old, ContextForward{first, output});
  const FutureId restored =
      harness.send(young, ContextEdit{second, ContextEditKind::CommitPages, 0});
  for (int batch = 0; batch < 50 && !harness.has(old, next); ++batch) harness.step();
  ASSERT_TRUE(harness.has(old, next));
  ASSERT_TRUE(harness.has(young, restored));
  EXPECT_FALSE(harness.error(old, next));
  EXPECT_FALSE(harness.error(young, restored));
}

// All that the younger one asks for is found, so that it needs no new page. But it runs the rows of
// its outputs again, for which it takes several batches.
TEST(Suspension, OneThatFindsAllItNeedsLeavesItsPagesToWhoIsMoreImportant) {
  Harness::Options options = pool_of(3);
  options.device.row_count_max = 2;
  Harness harness(options);
  const InstanceId old = harness.start();
  const ObjectId old_queue = harness.queue(old);
  const InstanceId young = harness.start();
  const ObjectId young_queue = harness.queue(young);
  const ObjectId writer = harness.context(young, young_queue);
  harness.send(young, ContextAppend{writer, count_tokens(32)}, false);
  harness.send(young, ContextFlush{writer}, false);
  harness.run();
  harness.send(young, ContextDrop{writer}, false);
  const ObjectId reader = harness.context(young, young_queue);
  harness.send(young, ContextAppend{reader, count_tokens(32)}, false);
  const FutureId read =
      harness.send(young, ContextForward{reader, harness.embeds(young, young_queue, 5)});
  harness.step();
  const ObjectId context = harness.context(old, old_queue);
  harness.send(old, ContextAppend{context, count_tokens(32, 3)}, false);
  const FutureId written = harness.send(old, ContextFlush{context});
  for (int batch = 0; batch < 50 && !harness.has(old, written); ++batch) harness.step();
  ASSERT_TRUE(harness.has(old, written)) << "they take turns for ever";
  EXPECT_FALSE(harness.error(old, written));
  harness.controller->end_instance(old);
  harness.run();
  ASSERT_TRUE(harness.has(young, read));
  EXPECT_FALSE(harness.error(young, read));
  EXPECT_GT(harness.controller->statistics().suspension_count, 0u);
}

TEST(Suspension, OneThatNeedsMoreThanThePoolIsToldTheNumbersAndNobodyElseNotices) {
  Harness harness(pool_of(8));
  std::vector<Conversation> talks{begin(harness, 1, 32, 4)};
  Conversation large = begin(harness, 2, 200, 1);
  const FutureId refused = harness.send(large.guest, ContextFlush{large.context});
  converse(harness, talks);
  EXPECT_EQ(harness.error(large.guest, refused), ErrorCode::NoFreePage);
  EXPECT_NE(harness.message(large.guest, refused).find("13 KV pages; the pool has 8"),
            std::string::npos)
      << harness.message(large.guest, refused);
  EXPECT_EQ(talks[0].tokens.size(), 4u);
}

// Handles keep the pool full, so that no context can give anything up.
TEST(Suspension, AProgramThatWaitsLooksForContextsOnceATurnHoweverMuchItWants) {
  Harness harness(pool_of(8));
  const InstanceId holder = harness.start();
  harness.pages(holder, harness.queue(holder), 8);
  const InstanceId guest = harness.start();
  const ObjectId queue = harness.queue(guest);
  const auto searches = [&] { return harness.controller->statistics().shortage.search_count; };
  const std::uint64_t before = searches();
  for (int each = 0; each < 100; ++each) {
    harness.send(guest, AllocPages{queue, harness.new_objects(1)});
    const ObjectId context = harness.context(guest, queue);
    harness.send(guest, ContextAppend{context, count_tokens(20)}, false);
    harness.send(guest, ContextFlush{context});
  }
  EXPECT_EQ(searches() - before, 1u);
  harness.begin_step();
  EXPECT_EQ(searches() - before, 2u);
  harness.begin_step();
  EXPECT_EQ(searches() - before, 3u);
}

TEST(Suspension, ALookThatFoundTooLittleIsMadeAgainForAHigherPriority) {
  Harness harness(pool_of(8));
  const InstanceId older = harness.start();
  const ObjectId low = harness.queue(older, Priority::Low);
  const InstanceId holder = harness.start();
  const ObjectId context = harness.context(holder, harness.queue(holder));
  harness.send(holder, ContextAppend{context, count_tokens(100)}, false);
  harness.send(holder, ContextFlush{context});
  harness.run();
  // The holder is at work, so that it does not count as idle.
  harness.send(holder, ContextAppend{context, count_tokens(1)}, false);
  harness.send(holder, ContextFlush{context});
  const FutureId waits = harness.send(older, AllocPages{low, harness.new_objects(8)});
  EXPECT_FALSE(harness.has(older, waits));
  const FutureId high =
      harness.send(older, AllocPages{harness.queue(older), harness.new_objects(8)});
  EXPECT_FALSE(harness.error(older, high)) << "the holder is newer";
}

}  // namespace
}  // namespace quire::control
