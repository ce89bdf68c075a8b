// The published policy for a full pool, by name: the instance that started last ends, the others do
// not notice.
#include <gtest/gtest.h>

#include "control/conversation.h"

namespace quire::control {
namespace {

Harness::Options pool_of(std::uint32_t page_count, WhenFull when_full = WhenFull::FcfsKill) {
  Harness::Options options;
  options.device.page_count = page_count;
  options.device.row_count_max = 256;
  options.controller.when_full = when_full;
  return options;
}

// A program that is killed has its error; one that is done ends if `ends`.
void talk(Harness& harness, std::vector<Conversation>& talks, bool ends = true) {
  converse(harness, talks, {.allowed = ErrorCode::NoFreePage, .ends = ends});
}

TEST(FcfsKill, TheLastToStartEndAndTheFirstGiveWhatTheyGiveInARoomyPool) {
  const auto sixteen = [](Harness& harness) {
    std::vector<Conversation> talks;
    for (std::uint32_t each = 0; each < 16; ++each) {
      talks.push_back(begin(harness, 1 + each, 100, 60));  // 10 pages each in the end.
    }
    talk(harness, talks);
    return talks;
  };
  Harness roomy(pool_of(400));
  const std::vector<Conversation> expected = sixteen(roomy);
  EXPECT_EQ(roomy.controller->statistics().shortage.lost_instance_count, 0u);
  Harness tight(pool_of(40));
  const std::vector<Conversation> talks = sixteen(tight);
  std::size_t finished = 0;
  while (finished < talks.size() && talks[finished].error.empty()) {
    EXPECT_EQ(talks[finished].tokens, expected[finished].tokens);
    EXPECT_FALSE(tight.losses.contains(talks[finished].guest));
    ++finished;
  }
  // 4 x 10 pages are the pool. Every program that is gone started after all that are not.
  EXPECT_GE(finished, 4u);
  EXPECT_LT(finished, talks.size());
  for (std::size_t each = finished; each < talks.size(); ++each) {
    EXPECT_FALSE(talks[each].error.empty()) << each;
    EXPECT_TRUE(tight.losses.contains(talks[each].guest)) << each;
  }
  EXPECT_EQ(tight.controller->statistics().shortage.lost_instance_count, talks.size() - finished);
  EXPECT_EQ(tight.controller->statistics().suspension_count, 0u);
  EXPECT_EQ(tight.free_page_count(), 40u);  // At once, before end_instance() is called for them.
}

TEST(FcfsKill, NamesThePolicyAndTheNumbers) {
  Harness harness(pool_of(8));
  std::vector<Conversation> talks{begin(harness, 1, 64, 40), begin(harness, 2, 60, 40)};
  talk(harness, talks);
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
  std::vector<Conversation> first{begin(harness, 1, 100, 1)};
  talk(harness, first, false);
  std::vector<Conversation> second{begin(harness, 2, 40, 1)};
  talk(harness, second);
  EXPECT_NE(second[0].error.find("the last to start of 1 that hold KV pages, for itself"),
            std::string::npos)
      << second[0].error;
  EXPECT_TRUE(first[0].error.empty());
  EXPECT_FALSE(harness.losses.contains(first[0].guest));
}

TEST(FcfsKill, WhoeverHoldsNoPageLosesNothing) {
  Harness harness(pool_of(8));
  std::vector<Conversation> talks{begin(harness, 1, 64, 40), begin(harness, 2, 60, 40)};
  const InstanceId bystander = harness.start();
  talk(harness, talks);
  EXPECT_TRUE(harness.losses.contains(talks[1].guest));
  EXPECT_FALSE(harness.losses.contains(bystander));
}

TEST(FcfsKill, ALostInstanceGetsTheErrorForAllItStillAsks) {
  Harness harness(pool_of(8));
  std::vector<Conversation> talks{begin(harness, 1, 64, 40), begin(harness, 2, 60, 40)};
  talk(harness, talks);
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

// The disk still does what a lost instance asked of it before.
TEST(FcfsKill, ALostInstanceHasNoAnswerToWhatItDropsSince) {
  store::SimulatedFileSystem files;
  Harness::Options options = pool_of(8);
  options.files = &files;
  Harness harness(options);
  std::vector<Conversation> first{begin(harness, 1, 100, 1)};  // It keeps its pages.
  talk(harness, first, false);
  const Conversation second = begin(harness, 2, 40, 1);
  const InstanceId lost = second.guest;
  const FutureId dropped = harness.send(lost, PutValue{.key = "dropped", .value = "1"});
  const FutureId kept = harness.send(lost, PutValue{.key = "kept", .value = "2"});
  harness.send(lost, ContextFlush{second.context});
  harness.begin_step();
  ASSERT_TRUE(harness.losses.contains(lost));
  ASSERT_FALSE(harness.has(lost, dropped)) << "the disk is to answer after the loss";
  harness.send(lost, DropFuture{dropped}, false);
  harness.run();
  EXPECT_FALSE(harness.has(lost, dropped));
  EXPECT_GT(harness.get<ValueVersion>(lost, kept).version, 0u);
}

TEST(FcfsKill, MoreThanThePoolIsRefusedAndNobodyEnds) {
  Harness harness(pool_of(8));
  std::vector<Conversation> talks{begin(harness, 1, 32, 4)};
  Conversation large = begin(harness, 2, 200, 1);
  const FutureId refused = harness.send(large.guest, ContextFlush{large.context});
  const FutureId pages =
      harness.send(large.guest, AllocPages{.queue = large.queue, .pages = harness.new_objects(9)});
  talk(harness, talks);
  EXPECT_EQ(harness.error(large.guest, refused), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.error(large.guest, pages), ErrorCode::NoFreePage);
  EXPECT_TRUE(harness.losses.empty());
  EXPECT_EQ(talks[0].tokens.size(), 4u);
}

TEST(FcfsKill, ColdPagesGoBeforeAnyInstance) {
  Harness harness(pool_of(8));
  std::vector<Conversation> gone{begin(harness, 1, 100, 1)};
  talk(harness, gone);  // It ends: 6 pages are cold.
  std::vector<Conversation> talks{begin(harness, 2, 60, 4), begin(harness, 3, 40, 4)};
  talk(harness, talks);
  EXPECT_TRUE(harness.losses.empty());
}

TEST(FcfsKill, IsNotTheDefault) {
  EXPECT_EQ(ControllerOptions{}.when_full, WhenFull::Suspend);
  Harness harness(pool_of(8, WhenFull::Suspend));
  std::vector<Conversation> talks{begin(harness, 1, 64, 40), begin(harness, 2, 60, 40)};
  talk(harness, talks);
  EXPECT_TRUE(harness.losses.empty());
  EXPECT_TRUE(talks[1].error.empty()) << talks[1].error;
}

}  // namespace
}  // namespace quire::control
