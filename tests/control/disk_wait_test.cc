// An operation that wants pages while other operations wait for the disk waits too, because those
// go on when it answers.
#include <gtest/gtest.h>

#include "control/page_guest.h"

namespace quire::control::disk_wait_test {
namespace {

constexpr std::uint32_t kPageCount = 8;
constexpr std::uint32_t kPageSize = 16;
constexpr TenantId kTenant{1};

class DiskWaits : public testing::Test {
 protected:
  Harness::Options options_of() {
    Harness::Options options;
    options.device.page_count = kPageCount;
    options.device.row_count_max = 256;
    options.files = &files;
    options.controller.costs.choice = TierChoice::Restore;
    options.controller.tiers.disk_page_count_max = 100;
    return options;
  }
  ObjectId context_of(PageGuest& guest, std::uint32_t token_count, std::uint32_t first = 1) {
    const ObjectId context = harness.context(guest.id, guest.queue);
    guest.send(ContextAppend{context, count_tokens(token_count, first)});
    guest.send(ContextFlush{context});
    harness.run();
    return context;
  }
  void come_and_go(std::uint32_t token_count, std::uint32_t first) {
    PageGuest guest(harness, kTenant);
    context_of(guest, token_count, first);
    harness.controller->end_instance(guest.id);
    harness.run();
  }
  // The device works and the disk does not.
  void run_without_disk() {
    for (int turn = 0; turn < 8; ++turn) {
      harness.begin_step();
      while (harness.device.inflight_count() > 0) harness.device.complete_next();
    }
  }
  // The outcome once the disk has answered, and all idle programs count as idle.
  std::optional<ErrorCode> outcome(const PageGuest& guest, FutureId future) {
    harness.run_until(guest.id, future);
    return harness.error(guest.id, future);
  }

  store::SimulatedFileSystem files;
  Harness harness{options_of()};
};

TEST_F(DiskWaits, WhileATierIsReadNobodyIsToldThatThereIsNoPage) {
  come_and_go(64, 1);
  come_and_go(kPageCount * kPageSize, 3);  // These pages are on disk now.
  PageGuest older(harness, kTenant);
  older.alloc(2);
  harness.run();
  const ObjectId context = harness.context(older.id, older.queue);
  older.send(ContextAppend{context, count_tokens(64)});
  const FutureId found = older.send(ContextFlush{context});
  PageGuest younger(harness, kTenant);
  const FutureId wanted =
      younger.send(AllocPages{younger.queue, harness.new_objects(kPageCount - 1)});
  run_without_disk();
  ASSERT_FALSE(harness.has(older.id, found)) << "it waits for the disk";
  EXPECT_FALSE(harness.has(younger.id, wanted));
  EXPECT_FALSE(outcome(older, found));
  EXPECT_EQ(harness.get<ContextState>(older.id, found).counters.found_token_count, 64u);
}

TEST_F(DiskWaits, WhileAContextIsSavedItsPagesMayYetBeFree) {
  PageGuest older(harness, kTenant);
  const ObjectId context = context_of(older, 96);
  const FutureId saved = older.send(ContextSave{context, "it", false, {}});
  PageGuest younger(harness, kTenant);
  const FutureId wanted = younger.send(AllocPages{younger.queue, harness.new_objects(kPageCount)});
  run_without_disk();
  ASSERT_FALSE(harness.has(older.id, saved));
  EXPECT_FALSE(harness.has(younger.id, wanted));
  EXPECT_FALSE(outcome(older, saved));
  EXPECT_FALSE(outcome(younger, wanted)) << "the context is idle, and gives way";
}

TEST_F(DiskWaits, WhileASnapshotIsOpenedToo) {
  PageGuest older(harness, kTenant);
  const ObjectId context = context_of(older, 64);
  EXPECT_FALSE(outcome(older, older.send(ContextSave{context, "it", false, {}})));
  older.send(ContextDrop{context});
  older.alloc(1);
  harness.run();
  const FutureId opened = older.send(ContextOpen{harness.new_object(), older.queue, "it", false});
  PageGuest younger(harness, kTenant);
  const FutureId wanted = younger.send(AllocPages{younger.queue, harness.new_objects(kPageCount)});
  run_without_disk();
  ASSERT_FALSE(harness.has(older.id, opened));
  EXPECT_FALSE(harness.has(younger.id, wanted));
  EXPECT_FALSE(outcome(older, opened));
}

TEST_F(DiskWaits, ADiskThatNeverAnswersKeepsThemForTenSeconds) {
  PageGuest older(harness, kTenant);
  const ObjectId context = context_of(older, 96);
  older.send(ContextSave{context, "it", false, {}});
  PageGuest younger(harness, kTenant);
  const FutureId wanted = younger.send(AllocPages{younger.queue, harness.new_objects(kPageCount)});
  run_without_disk();
  harness.clock.advance_ns(10'000'000'000);
  run_without_disk();
  ASSERT_TRUE(harness.has(younger.id, wanted));
  EXPECT_EQ(harness.error(younger.id, wanted), ErrorCode::NoFreePage);
}

TEST_F(DiskWaits, ASynchronizeBehindASaveIsAnsweredThoughNothingElseEverHappens) {
  PageGuest guest(harness, kTenant);
  const ObjectId context = context_of(guest, 40);
  const FutureId saved = guest.send(ContextSave{context, "it", false, {}});
  const FutureId behind = guest.send(Synchronize{guest.queue});
  harness.run();
  ASSERT_TRUE(harness.has(guest.id, saved));
  ASSERT_TRUE(harness.has(guest.id, behind)) << "the save was the last of what came before it";
  EXPECT_FALSE(harness.error(guest.id, behind));
}

TEST_F(DiskWaits, AQueueDestroyedBehindASaveIsGoneWithIt) {
  PageGuest guest(harness, kTenant);
  const ObjectId queue = harness.queue(guest.id);
  const ObjectId context = harness.context(guest.id, queue);
  guest.send(ContextAppend{context, count_tokens(40)});
  guest.send(ContextFlush{context});
  harness.run();
  guest.send(ContextSave{context, "it", false, {}});
  const FutureId destroyed = guest.send(DestroyQueue{queue});
  harness.run();
  ASSERT_TRUE(harness.has(guest.id, destroyed));
  EXPECT_FALSE(harness.error(guest.id, destroyed));
}

// More than the disk has room for, of either kind; what another tenant wants of it is not refused.
TEST_F(DiskWaits, WhoOpensAndSavesMoreThanTheDiskHasRoomForKeepsNobodyFromIt) {
  constexpr std::size_t kMany = store::kDiskJobCountMax + 44;
  PageGuest many(harness, kTenant);
  const ObjectId context = context_of(many, 16);
  EXPECT_FALSE(outcome(many, many.send(ContextSave{context, "it", false, {}})));
  for (const bool opens : {true, false}) {
    std::vector<FutureId> wanted;
    std::vector<ObjectId> made;
    for (std::size_t each = 0; each < kMany; ++each) {
      made.push_back(harness.new_object());
      wanted.push_back(opens ? many.send(ContextOpen{made.back(), many.queue, "it", false})
                             : many.send(ContextSave{context, std::to_string(each), false, {}}));
    }
    run_without_disk();
    PageGuest other(harness, TenantId{2});
    const FutureId value = other.send(PutValue{"key", "value", -1});
    run_without_disk();
    EXPECT_FALSE(harness.has(other.id, value)) << "nobody has asked the disk yet";
    EXPECT_FALSE(outcome(other, value));
    for (const FutureId each : wanted) EXPECT_FALSE(outcome(many, each));
    for (const ObjectId each : made) {
      if (opens) many.send(ContextDrop{each});
    }
    harness.run();
  }
}

// A tenant that has all its contexts saved again and again leaves places for another's save and
// open.
TEST_F(DiskWaits, WhoSavesAndOpensWithoutEndKeepsNoOtherTenantFromIt) {
  constexpr std::size_t kMany = 4 * SnapshotSaves::kCountMax;
  PageGuest many(harness, kTenant);
  const ObjectId context = context_of(many, 16);
  EXPECT_FALSE(outcome(many, many.send(ContextSave{context, "it", false, {}})));
  PageGuest other(harness, TenantId{2});
  const ObjectId others = context_of(other, 16);
  EXPECT_FALSE(outcome(other, other.send(ContextSave{others, "its", false, {}})));
  for (const bool opens : {true, false}) {
    for (std::size_t each = 0; each < kMany; ++each) {
      if (opens) {
        many.send(ContextOpen{harness.new_object(), many.queue, "it", false});
      } else {
        many.send(ContextSave{context, "it", true, {}});
      }
    }
    run_without_disk();
    const FutureId wanted =
        opens ? other.send(ContextOpen{harness.new_object(), other.queue, "its", false})
              : other.send(ContextSave{others, "its", true, {}});
    std::size_t job_count = 0;
    for (; !harness.has(other.id, wanted) && job_count < kMany; ++job_count) {
      run_without_disk();
      if (!harness.disk->run_one()) break;
    }
    ASSERT_TRUE(harness.has(other.id, wanted)) << "behind " << job_count << " jobs of the disk";
    EXPECT_FALSE(harness.error(other.id, wanted));
    harness.run();
  }
}

// An open that waits for pages itself frees none.
TEST_F(DiskWaits, OpensThatWaitForPagesKeepNobody) {
  PageGuest older(harness, kTenant);
  const ObjectId context = context_of(older, 64);
  EXPECT_FALSE(outcome(older, older.send(ContextSave{context, "it", false, {}})));
  older.send(ContextDrop{context});
  older.alloc(5);
  harness.run();
  PageGuest younger(harness, kTenant);
  younger.alloc(3);
  harness.run();
  const FutureId opened = older.send(ContextOpen{harness.new_object(), older.queue, "it", false});
  const FutureId wanted = younger.send(AllocPages{younger.queue, harness.new_objects(1)});
  harness.run();
  ASSERT_TRUE(harness.has(younger.id, wanted)) << "at once";
  EXPECT_EQ(harness.error(younger.id, wanted), ErrorCode::NoFreePage);
  EXPECT_FALSE(harness.has(older.id, opened)) << "for the younger one may let go yet";
}

}  // namespace
}  // namespace quire::control::disk_wait_test
