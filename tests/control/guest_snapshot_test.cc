// Host calls on the real controller, a simulated device and a simulated disk: what a guest is
// answered when it edits contexts, keeps them under a name and brings them back.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "control/call_guest.h"

namespace quire::control::guest_snapshot_test {
namespace {

class GuestSnapshots : public testing::Test {
 protected:
  void SetUp() override { start(); }
  // Anew, where there was an engine: its pages must come from disk.
  void start() {
    harness.reset();
    Harness::Options options;
    options.files = &files;
    harness = std::make_unique<Harness>(std::move(options));
    harness->wall_clock.set_unix_ms(1'000'000);
    page_count = harness->free_page_count();
  }
  // Saved, and the engine started anew. What may follow.
  std::string save_and_start_again(std::string_view name) {
    std::string next;
    {
      Guest author(*harness, TenantId{1});
      const std::int64_t context = author.new_context(40);
      EXPECT_EQ(author.save(context, name), 0) << author.error();
      next = author.next(context);
    }
    harness->run();
    start();
    return next;
  }
  void TearDown() override {
    harness->run();
    harness->controller->verify();
    EXPECT_TRUE(harness->controller->idle());
    EXPECT_EQ(harness->free_page_count(), page_count);
  }

  store::SimulatedFileSystem files;
  std::unique_ptr<Harness> harness;
  std::uint32_t page_count = 0;
};

TEST_F(GuestSnapshots, WhatIsOpenedGoesOnAsWhatWasSavedInAnotherInstanceToo) {
  std::string expected;
  {
    Guest guest(*harness, TenantId{1});
    const std::int64_t context = guest.new_context(43);
    guest.append(context, 5, 100);
    ASSERT_EQ(guest.save(context, "a name"), 0) << guest.error();
    expected = guest.next(context);
  }
  Guest guest(*harness, TenantId{1});
  const std::int64_t opened = guest.open("a name");
  ASSERT_GT(opened, 0) << guest.error();
  EXPECT_EQ(guest.number_at(kBuffer + 4), 5);  // Still queued.
  EXPECT_EQ(guest.call("context", "seq-len", {opened}), 43);
  EXPECT_EQ(guest.next(opened), expected);
  EXPECT_EQ(guest.call("context", "seq-len", {opened}), 48);
}

TEST_F(GuestSnapshots, AContextThatIsTooLongIsSavedWholeOrRefused) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(4096);
  guest.append(context, 1, 100);  // As a token that was drawn last.
  ASSERT_EQ(guest.save(context, "whole"), 0) << guest.error();
  const std::int64_t opened = guest.open("whole");
  ASSERT_GT(opened, 0) << guest.error();
  EXPECT_EQ(guest.number_at(kBuffer + 4), 1);
  EXPECT_EQ(guest.context("flush", {opened}), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(guest.context("truncate", {opened, 1}), 20) << guest.error();
  EXPECT_EQ(guest.context("flush", {opened}), 20) << guest.error();
  guest.append(context, 2, 101);
  EXPECT_EQ(guest.save(context, "cut"), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(guest.error(), "the context would hold 4099 tokens; the model's limit is 4096");
}

TEST_F(GuestSnapshots, AreOverwrittenOnlyWhenAskedListedTakenAndDeleted) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  EXPECT_EQ(guest.save(context, "one"), 0);
  EXPECT_EQ(guest.save(context, "one"), minus(ErrorCode::AlreadyExists));
  EXPECT_EQ(guest.context("rewind", {context, 16}), 20);
  EXPECT_EQ(guest.save(context, "one", kOverwrite), 0);
  EXPECT_EQ(guest.save(context, "two"), 0);
  EXPECT_EQ(guest.context("list", {}), 16 + 2 * (36 + 3));
  EXPECT_EQ(guest.number_at(kBuffer), 2);
  EXPECT_EQ(guest.number_at(kBuffer + 16 + 16), 16);  // Tokens of the first.
  EXPECT_GT(guest.open("one", "take"), 0);
  EXPECT_EQ(guest.open("one", "take"), minus(ErrorCode::NotFound));
  EXPECT_EQ(guest.remove("two"), 0);
  EXPECT_EQ(guest.remove("two"), minus(ErrorCode::NotFound));
  EXPECT_EQ(guest.context("list", {}), 16);
}

TEST_F(GuestSnapshots, ANoteComesBackInAnotherInstanceAfterAStartAndIsReplacedWithItsSnapshot) {
  {
    Guest author(*harness, TenantId{1});
    const std::int64_t context = author.new_context(40);
    EXPECT_EQ(author.save_with_note(context, "chat", "turns"), 0) << author.error();
    EXPECT_EQ(author.note_of(context), "") << "of a snapshot that was opened alone";
  }
  harness->run();
  start();
  Guest guest(*harness, TenantId{1});
  const std::int64_t opened = guest.open("chat");
  ASSERT_GT(opened, 0) << guest.error();
  EXPECT_EQ(guest.note_of(opened), "turns");
  EXPECT_EQ(guest.note_of(opened), "") << "it is given once";
  EXPECT_EQ(guest.save_with_note(opened, "chat", "more turns", kOverwrite), 0) << guest.error();
  EXPECT_EQ(guest.save_with_note(opened, "chat", "lost"), minus(ErrorCode::AlreadyExists));
  EXPECT_EQ(guest.note_of(guest.open("chat")), "more turns");
  EXPECT_EQ(guest.save(opened, "chat", kOverwrite), 0) << guest.error();
  EXPECT_EQ(guest.note_of(guest.open("chat")), "");
}

TEST_F(GuestSnapshots, ATenantReadsTheNotesOfItsOwnSnapshotsAlone) {
  Guest one(*harness, TenantId{1});
  Guest two(*harness, TenantId{2});
  ASSERT_EQ(one.save_with_note(one.new_context(20), "chat", "turns of one"), 0) << one.error();
  EXPECT_EQ(two.open("chat"), minus(ErrorCode::NotFound));
  ASSERT_EQ(two.save_with_note(two.new_context(20), "chat", "turns of two"), 0) << two.error();
  EXPECT_EQ(one.note_of(one.open("chat")), "turns of one");
  EXPECT_EQ(two.note_of(two.open("chat")), "turns of two");
}

TEST_F(GuestSnapshots, TokensThatAnOpenBroughtAreCountedAndAreNoneOfThoseAskedFor) {
  Guest guest(*harness, TenantId{1});
  ASSERT_EQ(guest.save(guest.new_context(40), "kept"), 0) << guest.error();
  const InstanceStatistics before = guest.statistics();
  EXPECT_EQ(before.opened_token_count, 0u);
  ASSERT_GT(guest.open("kept"), 0) << guest.error();
  ASSERT_GT(guest.open("kept"), 0) << guest.error();
  EXPECT_EQ(guest.statistics().opened_token_count, 80u);
  EXPECT_EQ(guest.statistics().asked_token_count, before.asked_token_count);
  EXPECT_EQ(guest.statistics().found_token_count, before.found_token_count);
}

TEST_F(GuestSnapshots, AForkOfAnOpenedContextHasNoNote) {
  Guest guest(*harness, TenantId{1});
  ASSERT_EQ(guest.save_with_note(guest.new_context(20), "chat", "turns"), 0) << guest.error();
  const std::int64_t opened = guest.open("chat");
  ASSERT_EQ(guest.context("fork", {opened}), 4) << guest.error();
  EXPECT_EQ(guest.note_of(guest.number_at(kBuffer)), "");
  EXPECT_EQ(guest.note_of(opened), "turns");
}

TEST_F(GuestSnapshots, ANoteIsTakenWithItsSnapshotAndGoesWithIt) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  ASSERT_EQ(guest.save_with_note(context, "chat", "turns"), 0) << guest.error();
  const std::int64_t taken = guest.open("chat", "take");
  ASSERT_GT(taken, 0) << guest.error();
  EXPECT_EQ(guest.note_of(taken), "turns");
  EXPECT_EQ(guest.save(context, "chat"), 0) << guest.error();
  EXPECT_EQ(guest.note_of(guest.open("chat")), "");
}

TEST_F(GuestSnapshots, AreForgottenWhenTheirTimeIsOver) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  ASSERT_EQ(guest.save(context, "brief", 0, 60), 0);
  harness->wall_clock.set_unix_ms(1'000'000 + 59'999);
  EXPECT_GT(guest.open("brief"), 0);
  harness->wall_clock.set_unix_ms(1'000'000 + 60'000);
  EXPECT_EQ(guest.open("brief"), minus(ErrorCode::NotFound));
}

TEST_F(GuestSnapshots, AreOfTheirTenantAlone) {
  Guest one(*harness, TenantId{1});
  ASSERT_EQ(one.save(one.new_context(20), "mine"), 0);
  Guest other(*harness, TenantId{2});
  EXPECT_EQ(other.open("mine"), minus(ErrorCode::NotFound));
  EXPECT_EQ(other.remove("mine"), minus(ErrorCode::NotFound));
  EXPECT_EQ(other.context("list", {}), 16);
  EXPECT_GT(one.open("mine"), 0);
}

TEST_F(GuestSnapshots, BadNamesAreInvalidArgumentsAndTheNextCallWorks) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"), std::string("a/b"),
        std::string("a\\b"), std::string("a\0b", 3), std::string("a\nb"), std::string("\xff"),
        std::string("\xc3\x28"), std::string("\xed\xa0\x80"), std::string(256, 'n'),
        std::string(4096, 'n')}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(guest.save(context, name), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.open(name), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.open(name, "take"), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.remove(name), minus(ErrorCode::InvalidArgument));
  }
  EXPECT_EQ(guest.context("list", {}), 16);
  for (const std::string& name :
       {std::string("..."), std::string("\xc3\xbc ber"), std::string(255, 'n')}) {
    EXPECT_EQ(guest.save(context, name), 0) << guest.error();
    EXPECT_GT(guest.open(name), 0) << guest.error();
  }
}

// Else the limit would be reached by contexts that no one can name.
TEST_F(GuestSnapshots, AnOpenThatFailedOrWasDroppedLeavesNoContextInTheControlLayer) {
  Guest guest(*harness, TenantId{1}, {.context_count_max = 2});
  const std::int64_t context = guest.new_context(40);
  ASSERT_EQ(guest.save(context, "name"), 0);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(guest.open("no such name"), minus(ErrorCode::NotFound));
    EXPECT_EQ(guest.open("bad/name"), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.call("future", "drop", {guest.begin_open("name")}), 0);
    guest.settle();
  }
  EXPECT_GT(guest.open("name"), 0) << guest.error();
  EXPECT_EQ(guest.open("name"), minus(ErrorCode::QuotaExceeded));
}

TEST_F(GuestSnapshots, ATakeWhoseFutureIsDroppedAtAnyTimeLeavesTheSnapshot) {
  const std::string expected = save_and_start_again("name");
  for (int steps = 0; steps < 10; ++steps) {
    SCOPED_TRACE(std::to_string(steps) + " steps");
    Guest guest(*harness, TenantId{1});
    const std::int64_t future = guest.begin_open("name", "take");
    ASSERT_GT(future, 0);
    for (int step = 0; step < steps; ++step) harness->step();
    if (steps == 9) guest.settle();  // It is ready, and the guest could have it.
    EXPECT_EQ(guest.call("future", "drop", {future}), 0);
    guest.settle();
    guest.context("list", {});
    EXPECT_EQ(guest.number_at(kBuffer), 1);
  }
  Guest guest(*harness, TenantId{1});
  const std::int64_t taken = guest.open("name", "take");
  ASSERT_GT(taken, 0) << guest.error();
  EXPECT_EQ(guest.next(taken), expected);
  guest.context("list", {});
  EXPECT_EQ(guest.number_at(kBuffer), 0);
}

TEST_F(GuestSnapshots, ATakeThatFailsLeavesTheSnapshot) {
  const std::string expected = save_and_start_again("name");
  Guest guest(*harness, TenantId{1});
  files.inject = [](const store::SimulatedCall& call) {
    const bool is_page_file = call.path.ends_with(".quire");
    return store::SimulatedFault{.error_number =
                                     is_page_file && call.kind == store::CallKind::Read ? EIO : 0};
  };
  EXPECT_EQ(guest.open("name", "take"), minus(ErrorCode::Io));
  files.inject = nullptr;
  EXPECT_EQ(guest.next(guest.open("name")), expected);
}

TEST_F(GuestSnapshots, OfTwoThatTakeAtOnceOneGetsIt) {
  Guest guest(*harness, TenantId{1});
  ASSERT_EQ(guest.save(guest.new_context(20), "name"), 0);
  const std::int64_t first = guest.begin_open("name", "take");
  const std::int64_t second = guest.begin_open("name", "take");
  EXPECT_GT(guest.result_of(first), 0) << guest.error();
  EXPECT_EQ(guest.result_of(second), minus(ErrorCode::Unavailable));
  EXPECT_EQ(guest.open("name", "take"), minus(ErrorCode::NotFound));
}

TEST_F(GuestSnapshots, AProgramThatEndsBeforeItHasWhatItTookLeavesIt) {
  const std::string expected = save_and_start_again("name");
  for (const bool is_ready : {false, true}) {
    Guest guest(*harness, TenantId{1});
    ASSERT_GT(guest.begin_open("name", "take"), 0);
    if (is_ready) guest.settle();
  }
  harness->run();
  Guest guest(*harness, TenantId{1});
  EXPECT_EQ(guest.next(guest.open("name", "take")), expected);
  EXPECT_EQ(guest.open("name"), minus(ErrorCode::NotFound));
}

TEST_F(GuestSnapshots, AContextSplicedFromItselfOrAnotherComputesAsIfAppended) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t source = guest.new_context(40);
  const std::int64_t spliced = guest.call("context", "create", {guest.queue});
  EXPECT_EQ(guest.context("splice", {spliced, source, 0, 40}), 20);
  EXPECT_EQ(guest.next(spliced), guest.next(source));
  EXPECT_EQ(guest.context("splice", {source, source, 0, 40}), 20);
  EXPECT_EQ(guest.context("flush", {source}), 20);
  EXPECT_EQ(guest.call("context", "seq-len", {source}), 80);
  EXPECT_EQ(guest.context("splice", {source, spliced, 0, 41}), minus(ErrorCode::OutOfRange));
}

}  // namespace
}  // namespace quire::control::guest_snapshot_test
