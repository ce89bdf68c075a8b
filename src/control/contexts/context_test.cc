#include "control/contexts/context.h"

#include <gtest/gtest.h>

#include "control/contexts/context_suspend.h"

#include <map>
#include <random>

namespace quire::control {
namespace {

// A device that is only its description.
class NoDevice final : public inference::Backend {
 public:
  explicit NoDevice(std::uint32_t page_count) {
    capabilities_.page_size = 16;
    capabilities_.page_count = page_count;
    capabilities_.sequence_count = 4;
    capabilities_.embed_slot_count = 4;
    capabilities_.row_count_max = 64;
    model_.vocabulary_size = 100;
    model_.context_length = 4096;
  }
  const inference::BackendCapabilities& capabilities() const override { return capabilities_; }
  const inference::ModelInfo& model() const override { return model_; }
  void submit(inference::Batch) override { ADD_FAILURE(); }

 private:
  inference::BackendCapabilities capabilities_;
  inference::ModelInfo model_;
};

PageCacheOptions options_of(std::uint32_t page_count) {
  PageCacheOptions options;
  options.page_count = page_count;
  options.space.page_size = 16;
  return options;
}

struct Fixture {
  explicit Fixture(std::uint32_t page_count)
      : device(page_count), resources(device, options_of(page_count)) {
    open_context(context, resources, resources.cache.root({}));
  }
  void append(std::uint32_t count, std::uint32_t token = 1) {
    append_tokens(context, resources, std::vector<std::uint32_t>(count, token));
  }
  // As one batch would.
  void compute(std::uint32_t count) {
    ASSERT_TRUE(take_pages(context, resources, ledger, queued_count(context), copies));
    begin_flight(context, resources, count);
    verify_context(context, resources);
    end_flight(context, resources, ledger, true);
    verify_context(context, resources);
  }
  NoDevice device;
  ModelResources resources;
  PageLedger ledger;
  Context context;
  std::vector<inference::PageCopy> copies;
};

// The published table: pages [5, 12, 3] of 16 slots.
TEST(Context, ATableOfPages5And12And3PutsTokensWhereThePublishedOneDoes) {
  Fixture fixture(16);
  std::vector<PageId> pages;
  ASSERT_TRUE(fixture.resources.cache.take(16, pages));
  for (const std::uint32_t last : {3u, 12u, 5u}) fixture.resources.cache.release(PageId{last});
  fixture.append(35);
  ASSERT_TRUE(take_pages(fixture.context, fixture.resources, fixture.ledger,
                         queued_count(fixture.context), fixture.copies));
  ASSERT_TRUE(fixture.resources.sequences.acquire(fixture.context, BatchId{1}));
  std::vector<inference::TableChange> changes;
  sync_table(fixture.context, fixture.resources, changes);
  ASSERT_EQ(changes.size(), 1u);
  const std::map<std::uint32_t, std::uint32_t> published{{0, 80},   {15, 95}, {16, 192},
                                                         {31, 207}, {32, 48}, {34, 50}};
  for (const auto& [token, slot] : published) {
    const auto page = static_cast<std::uint32_t>(changes[0].entries[token / 16].page);
    EXPECT_EQ(page * 16 + token % 16, slot) << "token " << token;
  }
}

TEST(Context, TableChangesCarryOnlyWhatTheDeviceLacks) {
  Fixture fixture(16);
  ASSERT_TRUE(fixture.resources.sequences.acquire(fixture.context, BatchId{1}));
  std::vector<inference::TableChange> changes;
  fixture.append(20);
  ASSERT_TRUE(take_pages(fixture.context, fixture.resources, fixture.ledger,
                         queued_count(fixture.context), fixture.copies));
  sync_table(fixture.context, fixture.resources, changes);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].entry_count, 2u);
  fixture.compute(20);
  for (int step = 0; step < 12; ++step) {
    fixture.append(1, 2);
    ASSERT_TRUE(take_pages(fixture.context, fixture.resources, fixture.ledger,
                           queued_count(fixture.context), fixture.copies));
    sync_table(fixture.context, fixture.resources, changes);
    fixture.compute(1);
  }
  EXPECT_EQ(changes.size(), 1u);  // The page had room.
  fixture.append(1, 3);
  ASSERT_TRUE(take_pages(fixture.context, fixture.resources, fixture.ledger,
                         queued_count(fixture.context), fixture.copies));
  sync_table(fixture.context, fixture.resources, changes);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[1].entry_first, 2u);
  EXPECT_EQ(changes[1].entries.size(), 1u);
}

// A context whose table of two entries a device has.
struct SyncedFixture : Fixture {
  SyncedFixture() : Fixture(16) {
    append(20);
    compute(20);
    EXPECT_TRUE(resources.sequences.acquire(context, BatchId{1}));
    sync_table(context, resources, changes);
    EXPECT_EQ(context.table_clean_count, 2u);
  }
  std::vector<inference::TableChange> changes;
};

TEST(ContextDeathTest, ATableOfWhichTheDeviceHasMoreThanThereIsIsNotSent) {
  SyncedFixture fixture;
  fixture.context.table_clean_count = 3;
  EXPECT_DEATH(sync_table(fixture.context, fixture.resources, fixture.changes), "X8");
  EXPECT_DEATH(verify_context(fixture.context, fixture.resources), "X8");
}

TEST(ContextDeathTest, ASuspendedContextHasNoTableOnTheDevice) {
  SyncedFixture fixture;
  const inference::SequenceId sequence = fixture.context.sequence;
  suspend_context(fixture.context, fixture.resources, fixture.ledger);
  verify_context(fixture.context, fixture.resources);
  fixture.context.sequence = sequence;
  EXPECT_DEATH(verify_context(fixture.context, fixture.resources), "X8");
}

TEST(Context, ForkSealsThePartialPageAndTheFirstWriterCopiesIt) {
  Fixture fixture(8);
  fixture.append(20);
  fixture.compute(20);
  Context child;
  fork_context(fixture.context, child, fixture.resources, fixture.ledger);
  EXPECT_EQ(fixture.ledger.page_count(), 2u);
  append_tokens(child, fixture.resources, std::vector<std::uint32_t>{5});
  EXPECT_EQ(pages_wanted(child, fixture.resources, queued_count(child)), 1u);
  ASSERT_TRUE(
      take_pages(child, fixture.resources, fixture.ledger, queued_count(child), fixture.copies));
  ASSERT_EQ(fixture.copies.size(), 1u);
  EXPECT_EQ(fixture.copies[0].from, fixture.context.tail[0]);
  EXPECT_EQ(fixture.copies[0].to, child.tail[0]);
  EXPECT_EQ(fixture.copies[0].slot_count, 4u);
  // The other is alone with its page now and writes it in place.
  fixture.append(1);
  EXPECT_EQ(pages_wanted(fixture.context, fixture.resources, queued_count(fixture.context)), 0u);
  fixture.compute(1);
  EXPECT_EQ(fixture.copies.size(), 1u);
  EXPECT_EQ(fixture.ledger.page_count(), 3u);
  drop_context(child, fixture.resources, fixture.ledger);
  drop_context(fixture.context, fixture.resources, fixture.ledger);
  EXPECT_EQ(fixture.ledger.page_count(), 0u);
  fixture.resources.cache.verify();
}

TEST(Context, ALookUpEndsWithTheQuotaAndWithItsSliceAndGoesOnFromThere) {
  constexpr std::uint32_t kPages = 100;
  Fixture fixture(kPages);
  const auto append_to = [&](Context& context) {
    std::vector<std::uint32_t> tokens(kPages * 16);
    for (std::uint32_t index = 0; index < tokens.size(); ++index) tokens[index] = index % 99;
    append_tokens(context, fixture.resources, tokens);
  };
  append_to(fixture.context);
  fixture.compute(kPages * 16);
  drop_context(fixture.context, fixture.resources, fixture.ledger);
  Context context;
  open_context(context, fixture.resources, fixture.resources.cache.root({}));
  append_to(context);
  const auto find = [&](std::uint32_t quota, std::uint32_t page_count_max) {
    const FindResult found =
        find_queued(context, fixture.resources, fixture.ledger, quota, page_count_max);
    verify_context(context, fixture.resources);
    fixture.resources.cache.verify();
    return std::pair(found.token_count / 16, found.end);
  };
  EXPECT_EQ(find(5, kPages), std::pair(5u, FindEnd::Quota));
  EXPECT_EQ(find(kPages, 40), std::pair(40u, FindEnd::Slice));
  EXPECT_EQ(find(kPages, 0), std::pair(0u, FindEnd::Slice));
  EXPECT_EQ(find(kPages, kPages), std::pair(55u, FindEnd::NoMore));
  EXPECT_EQ(fixture.ledger.page_count(), kPages);
  EXPECT_EQ(queued_count(context), 0u);
  drop_context(context, fixture.resources, fixture.ledger);
  EXPECT_EQ(fixture.ledger.page_count(), 0u);
}

TEST(Context, CountersTellTheSameWhetherTheContextIsSuspendedOrNot) {
  Fixture fixture(8);
  fixture.append(37);
  fixture.compute(37);
  fixture.append(3);
  const ContextCounters before = counters_of(fixture.context, 16);
  EXPECT_EQ(before.queued_token_count, 3u);
  const auto expect_as_before = [&] {
    const ContextCounters now = counters_of(fixture.context, 16);
    EXPECT_EQ(now.seq_len, before.seq_len);
    EXPECT_EQ(now.committed_page_count, before.committed_page_count);
    EXPECT_EQ(now.working_page_count, before.working_page_count);
    EXPECT_EQ(now.working_page_token_count, before.working_page_token_count);
    EXPECT_EQ(now.queued_token_count, before.queued_token_count);
  };
  suspend_context(fixture.context, fixture.resources, fixture.ledger);
  expect_as_before();
  resume_context(fixture.context, fixture.resources, fixture.ledger, 8);
  EXPECT_GT(fixture.context.lost_count, 0u);
  expect_as_before();
}

TEST(Context, ResumesWithNoMorePagesThanTheInstanceMayHoldAndFindsTheOthersLater) {
  Fixture fixture(8);
  fixture.append(64);
  fixture.compute(64);
  suspend_context(fixture.context, fixture.resources, fixture.ledger);
  std::vector<PageId> handles;
  ASSERT_TRUE(fixture.resources.cache.take(2, handles));
  for (const PageId page : handles) fixture.ledger.acquire(page);
  resume_context(fixture.context, fixture.resources, fixture.ledger, 4);
  EXPECT_EQ(fixture.ledger.page_count(), 4u);
  EXPECT_EQ(fixture.context.lost_count, 32u);
  verify_context(fixture.context, fixture.resources);
  const auto find = [&] {
    return find_queued(fixture.context, fixture.resources, fixture.ledger, 4, 8).end;
  };
  EXPECT_EQ(find(), FindEnd::Quota);
  EXPECT_EQ(fixture.ledger.page_count(), 4u);
  for (const PageId page : handles) fixture.ledger.release(page);
  EXPECT_EQ(find(), FindEnd::NoMore);
  EXPECT_EQ(fixture.ledger.page_count(), 4u);
  EXPECT_EQ(fixture.context.lost_count, 0u);
}

TEST(Context, AForkTakesNothingOfABoundaryPageThatWasEmptied) {
  Fixture fixture(8);
  fixture.append(32);
  fixture.compute(32);
  ASSERT_TRUE(rewind_context(fixture.context, fixture.resources, fixture.ledger, 20).ok());
  ASSERT_TRUE(truncate_page_tokens(fixture.context, fixture.resources, 4).ok());
  ASSERT_EQ(fixture.context.tail.size(), 1u);
  Context child;
  fork_context(fixture.context, child, fixture.resources, fixture.ledger);
  append_tokens(child, fixture.resources, std::vector<std::uint32_t>{5});
  ASSERT_TRUE(take_pages(child, fixture.resources, fixture.ledger, 1, fixture.copies));
  verify_context(child, fixture.resources);
  EXPECT_TRUE(fixture.copies.empty());
  drop_context(child, fixture.resources, fixture.ledger);
  drop_context(fixture.context, fixture.resources, fixture.ledger);
  EXPECT_EQ(fixture.ledger.page_count(), 0u);
  fixture.resources.cache.verify();
}

TEST(Context, TruncateReachesIntoTheTailAndNoFurther) {
  Fixture fixture(8);
  fixture.append(37);
  fixture.compute(37);
  fixture.append(3);
  EXPECT_FALSE(truncate_context(fixture.context, fixture.resources, fixture.ledger, 9).ok());
  EXPECT_TRUE(truncate_context(fixture.context, fixture.resources, fixture.ledger, 8).ok());
  EXPECT_EQ(seq_len(fixture.context, 16), 32u);
  EXPECT_EQ(fixture.context.tail.size(), 0u);
}

}  // namespace
}  // namespace quire::control
