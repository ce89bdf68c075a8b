// copy_kvpage: what is copied, in which order with forwards, and what is refused.
#include <gtest/gtest.h>

#include "control/page_guest.h"

namespace quire::control::page_copy_test {
namespace {

constexpr std::uint32_t kPageSize = 8;

Harness::Options options_of(std::uint32_t page_count = 16) {
  Harness::Options options;
  options.device.page_size = kPageSize;
  options.device.page_count = page_count;
  return options;
}

class PageCopies : public testing::Test {
 protected:
  std::optional<ErrorCode> outcome(FutureId future) {
    harness.run();
    return harness.error(guest.id, future);
  }
  std::string probe(const std::vector<ObjectId>& pages) { return guest.probe(pages, kPageSize); }

  Harness harness{options_of()};
  PageGuest guest{harness, TenantId{1}};
};

TEST_F(PageCopies, ACopiedPageReadsAsItsOrigin) {
  const auto pages = guest.alloc(3);
  guest.write({pages[0]}, count_tokens(kPageSize), 0);
  guest.write({pages[1]}, count_tokens(5, 60), kPageSize, {pages[0]});
  EXPECT_FALSE(outcome(guest.copy(pages[1], pages[2], 0, 0, 5)));
  EXPECT_EQ(probe({pages[0], pages[2]}), probe({pages[0], pages[1]}));
}

// The published use: parts of prompts, put together.
TEST_F(PageCopies, SlotsOfSeveralPagesComeTogetherAtTheirPositions) {
  const auto pages = guest.alloc(4);
  guest.write({pages[0]}, count_tokens(6), 0);
  guest.write({pages[1]}, count_tokens(6, 100), 20);
  guest.copy(pages[0], pages[2], 2, 0, 4);
  EXPECT_FALSE(outcome(guest.copy(pages[1], pages[2], 1, 4, 3)));
  // The same tokens seen where they were written, the others masked.
  guest.mask(pages[0], {0, 0, 1, 1, 1, 1, 0, 0});
  guest.mask(pages[1], {0, 1, 1, 1, 0, 0, 0, 0});
  EXPECT_EQ(probe({pages[2]}), probe({pages[0], pages[1]}));
}

TEST_F(PageCopies, WithinOnePageSlotsMoveAsIfThroughACopyOfThem) {
  const auto pages = guest.alloc(2);
  guest.write({pages[0]}, count_tokens(4), 0);
  guest.copy(pages[0], pages[1], 0, 0, 1);
  guest.copy(pages[0], pages[1], 0, 1, 4);
  EXPECT_FALSE(outcome(guest.copy(pages[0], pages[0], 0, 1, 4)));
  EXPECT_EQ(probe({pages[0]}), probe({pages[1]}));
}

TEST_F(PageCopies, ForwardGoesOnBehindTheLastCopiedSlot) {
  const auto pages = guest.alloc(3);
  guest.write({pages[0]}, count_tokens(6), 0);
  guest.copy(pages[0], pages[1], 0, 0, 3);
  guest.write({pages[1]}, {50, 51}, 30, {pages[1]});
  guest.write({pages[2]}, count_tokens(3), 0);
  guest.write({pages[2]}, {50, 51}, 30, {pages[2]});
  harness.run();
  EXPECT_EQ(probe({pages[1]}), probe({pages[2]}));
  EXPECT_EQ(outcome(guest.write({pages[1]}, {1, 2, 3, 4}, 40)), ErrorCode::OutOfRange);
}

// A batch copies before its passes; the order of issue holds all the same.
TEST_F(PageCopies, TakeEffectInTheOrderOfIssueWithForwardsOfTheSamePages) {
  const auto pages = guest.alloc(3);
  guest.write({pages[0]}, count_tokens(4), 0);
  guest.write({pages[1]}, count_tokens(4, 90), 0);
  harness.run();
  const std::string first = probe({pages[0]});
  const std::string second = probe({pages[1]});
  // In one go: written, copied, read, overwritten, read.
  guest.write({pages[0]}, {33, 34}, 10);
  guest.copy(pages[0], pages[2], 0, 0, 4);
  const FutureId before = guest.begin_probe({pages[2]}, kPageSize);
  guest.copy(pages[1], pages[2], 0, 0, 4);
  const FutureId after = guest.begin_probe({pages[2]}, kPageSize);
  harness.run();
  EXPECT_EQ(guest.text_of(before), first);
  EXPECT_EQ(guest.text_of(after), second);
  // A copy after a pass that writes its source has what the pass wrote.
  guest.write({pages[1]}, {35, 36}, 10);
  EXPECT_FALSE(outcome(guest.copy(pages[1], pages[2], 4, 4, 2)));
  EXPECT_EQ(probe({pages[2]}), probe({pages[1]}));
}

TEST_F(PageCopies, ACopyAndTheForwardBehindItAreOneStep) {
  const auto pages = guest.alloc(2);
  guest.write({pages[0]}, count_tokens(4), 0);
  harness.run();
  guest.copy(pages[0], pages[1], 0, 0, 4);
  guest.begin_probe({pages[1]}, kPageSize);
  EXPECT_EQ(harness.run(), 1);
}

TEST_F(PageCopies, WhatTheSourceHeldStaysWhenItGoes) {
  const auto pages = guest.alloc(2);
  guest.write({pages[0]}, count_tokens(4), 0);
  const std::string before = probe({pages[0]});
  guest.copy(pages[0], pages[1], 0, 0, 4);
  guest.dealloc({pages[0]});
  const auto others = guest.alloc(14);
  for (const ObjectId page : others) guest.write({page}, count_tokens(8, 200), 0);
  harness.run();
  EXPECT_EQ(probe({pages[1]}), before);
}

TEST_F(PageCopies, MasksAreOfTheHandleAndNotCopied) {
  const auto pages = guest.alloc(2);
  guest.write({pages[0]}, count_tokens(2), 0);
  const std::string both = probe({pages[0]});
  guest.mask(pages[0], {1, 0, 1, 1, 1, 1, 1, 1});
  guest.copy(pages[0], pages[1], 0, 0, 2);
  harness.run();
  EXPECT_EQ(probe({pages[1]}), both);
  EXPECT_NE(probe({pages[0]}), both);
}

TEST_F(PageCopies, AreRefusedWithTheReasonAndChangeNothing) {
  const auto pages = guest.alloc(2);
  guest.write({pages[0]}, count_tokens(4), 0);
  guest.write({pages[1]}, count_tokens(2, 70), 0);
  const std::string before = probe({pages[1]});
  EXPECT_EQ(outcome(guest.copy(pages[0], pages[1], 0, 6, 3)), ErrorCode::OutOfRange);
  EXPECT_EQ(outcome(guest.copy(pages[0], pages[1], 7, 0, 2)), ErrorCode::OutOfRange);
  EXPECT_EQ(outcome(guest.copy(pages[0], pages[1], 0xffffffffu, 0, 2)), ErrorCode::OutOfRange);
  const FutureId unwritten = guest.copy(pages[0], pages[1], 2, 0, 4);
  EXPECT_EQ(outcome(unwritten), ErrorCode::PageNotFull);
  EXPECT_EQ(harness.message(guest.id, unwritten),
            "copy of slot 4 of the source page, which was never written");
  EXPECT_EQ(outcome(guest.copy(pages[0], ObjectId{9999}, 0, 0, 1)), ErrorCode::NotFound);
  EXPECT_EQ(outcome(guest.copy(ObjectId{9999}, pages[0], 0, 0, 1)), ErrorCode::NotFound);
  EXPECT_EQ(outcome(guest.copy(guest.queue, pages[0], 0, 0, 1)), ErrorCode::NotFound);
  EXPECT_FALSE(outcome(guest.copy(pages[0], pages[1], 8, 8, 0)));
  PageGuest other(harness, TenantId{1});
  EXPECT_EQ(harness.error(other.id, other.copy(pages[0], pages[1], 0, 0, 1)), ErrorCode::NotFound);
  guest.export_pages({pages[0]}, "copy");
  const auto shared = guest.import_pages("copy", 1);
  EXPECT_EQ(outcome(guest.copy(pages[1], shared[0], 0, 0, 1)), ErrorCode::PageCommitted);
  EXPECT_FALSE(outcome(guest.copy(shared[0], pages[0], 0, 4, 4)));
  EXPECT_EQ(probe({pages[1]}), before);
}

TEST_F(PageCopies, OfAPageThatWasNeverAllocatedAreNoFreePage) {
  const auto all = guest.alloc(16);
  const std::vector<ObjectId> none = harness.new_objects(1);
  const FutureId failed = guest.send(AllocPages{guest.queue, none});
  EXPECT_EQ(outcome(failed), ErrorCode::NoFreePage);
  const FutureId from_none = guest.copy(none[0], all[0], 0, 0, 1);
  EXPECT_EQ(outcome(from_none), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.message(guest.id, from_none), "the source page was never allocated");
  const FutureId to_none = guest.copy(all[0], none[0], 0, 0, 1);
  EXPECT_EQ(outcome(to_none), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.message(guest.id, to_none), "the target page was never allocated");
  const FutureId exported = guest.export_pages({all[0], none[0]}, "these");
  EXPECT_EQ(outcome(exported), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.message(guest.id, exported), "pages[1] was never allocated");
}

TEST_F(PageCopies, OfWhatAFailedPassShouldHaveWrittenAreRefused) {
  Harness::Options options = options_of();
  options.device.fail_pass = [](const inference::Batch&, std::size_t) -> std::optional<Error> {
    return Error(ErrorCode::Io, "the device lost a pass");
  };
  Harness failing(options);
  PageGuest author(failing, TenantId{1});
  const auto pages = author.alloc(2);
  author.write({pages[0]}, count_tokens(2), 0);
  const FutureId copy = author.copy(pages[0], pages[1], 0, 0, 2);
  failing.run();
  EXPECT_EQ(failing.error(author.id, copy), ErrorCode::PageNotFull);
}

}  // namespace
}  // namespace quire::control::page_copy_test
