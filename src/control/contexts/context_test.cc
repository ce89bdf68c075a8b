#include "control/contexts/context.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "control/contexts/context_edits.h"
#include "control/contexts/model_resources.h"
#include "control/contexts/page_ledger.h"

namespace quire::control {

// Breaks what a context holds, for death tests.
struct ContextPeer {
  static DeviceTable& table(Context& context) { return context.parts().table_; }
};

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
    bind(context);
    context.open(resources.cache.root({}));
  }
  void bind(Context& one) { one.bind({.resources = &resources, .ledger = &ledger}); }
  void append(std::uint32_t count, std::uint32_t token = 1) {
    context.append(std::vector<std::uint32_t>(count, token));
  }
  // As one batch would.
  void compute(std::uint32_t count) {
    ASSERT_TRUE(context.take_pages(context.tokens().queued_count(), copies));
    context.begin_flight(count);
    context.verify();
    context.end_flight(true);
    context.verify();
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
  ASSERT_TRUE(fixture.context.take_pages(fixture.context.tokens().queued_count(), fixture.copies));
  ASSERT_TRUE(fixture.resources.sequences.acquire(fixture.context, BatchId{1}));
  std::vector<inference::TableChange> changes;
  fixture.context.parts().sync_table(changes);
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
  ASSERT_TRUE(fixture.context.take_pages(fixture.context.tokens().queued_count(), fixture.copies));
  fixture.context.parts().sync_table(changes);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].entry_count, 2u);
  fixture.compute(20);
  for (int step = 0; step < 12; ++step) {
    fixture.append(1, 2);
    ASSERT_TRUE(
        fixture.context.take_pages(fixture.context.tokens().queued_count(), fixture.copies));
    fixture.context.parts().sync_table(changes);
    fixture.compute(1);
  }
  EXPECT_EQ(changes.size(), 1u);  // The page had room.
  fixture.append(1, 3);
  ASSERT_TRUE(fixture.context.take_pages(fixture.context.tokens().queued_count(), fixture.copies));
  fixture.context.parts().sync_table(changes);
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
    context.parts().sync_table(changes);
    EXPECT_EQ(context.table().clean_count(), 2u);
  }
  std::vector<inference::TableChange> changes;
};

TEST(ContextDeathTest, ATableOfWhichTheDeviceHasMoreThanThereIsIsNotSent) {
  SyncedFixture fixture;
  ContextPeer::table(fixture.context).note_clean(3);
  EXPECT_DEATH(fixture.context.parts().sync_table(fixture.changes), "X8");
  EXPECT_DEATH(fixture.context.verify(), "X8");
}

TEST(ContextDeathTest, ASuspendedContextHasNoTableOnTheDevice) {
  SyncedFixture fixture;
  const inference::SequenceId sequence = fixture.context.table().sequence();
  fixture.context.suspend();
  fixture.context.verify();
  ContextPeer::table(fixture.context).begin(sequence);
  EXPECT_DEATH(fixture.context.verify(), "X8");
}

TEST(Context, ForkSealsThePartialPageAndTheFirstWriterCopiesIt) {
  Fixture fixture(8);
  fixture.append(20);
  fixture.compute(20);
  Context child;
  fixture.bind(child);
  fixture.context.fork_to(child);
  EXPECT_EQ(fixture.ledger.page_count(), 2u);
  child.append(std::vector<std::uint32_t>{5});
  EXPECT_EQ(child.pages_wanted(child.tokens().queued_count()), 1u);
  ASSERT_TRUE(child.take_pages(child.tokens().queued_count(), fixture.copies));
  ASSERT_EQ(fixture.copies.size(), 1u);
  EXPECT_EQ(fixture.copies[0].from, fixture.context.working().pages()[0]);
  EXPECT_EQ(fixture.copies[0].to, child.working().pages()[0]);
  EXPECT_EQ(fixture.copies[0].slot_count, 4u);
  // The other is alone with its page now and writes it in place.
  fixture.append(1);
  EXPECT_EQ(fixture.context.pages_wanted(fixture.context.tokens().queued_count()), 0u);
  fixture.compute(1);
  EXPECT_EQ(fixture.copies.size(), 1u);
  EXPECT_EQ(fixture.ledger.page_count(), 3u);
  child.drop();
  fixture.context.drop();
  EXPECT_EQ(fixture.ledger.page_count(), 0u);
  fixture.resources.cache.verify();
}

TEST(Context, ALookUpEndsWithTheQuotaAndWithItsSliceAndGoesOnFromThere) {
  constexpr std::uint32_t kPages = 100;
  Fixture fixture(kPages);
  const auto append_to = [&](Context& context) {
    std::vector<std::uint32_t> tokens(kPages * 16);
    for (std::uint32_t index = 0; index < tokens.size(); ++index) tokens[index] = index % 99;
    context.append(tokens);
  };
  append_to(fixture.context);
  fixture.compute(kPages * 16);
  fixture.context.drop();
  Context context;
  fixture.bind(context);
  context.open(fixture.resources.cache.root({}));
  append_to(context);
  const auto find = [&](std::uint32_t quota, std::uint32_t page_count_max) {
    const FindResult found = context.find_queued(quota, page_count_max);
    context.verify();
    fixture.resources.cache.verify();
    return std::pair(found.token_count / 16, found.end);
  };
  EXPECT_EQ(find(5, kPages), std::pair(5u, FindEnd::Quota));
  EXPECT_EQ(find(kPages, 40), std::pair(40u, FindEnd::Slice));
  EXPECT_EQ(find(kPages, 0), std::pair(0u, FindEnd::Slice));
  EXPECT_EQ(find(kPages, kPages), std::pair(55u, FindEnd::NoMore));
  EXPECT_EQ(fixture.ledger.page_count(), kPages);
  EXPECT_EQ(context.tokens().queued_count(), 0u);
  context.drop();
  EXPECT_EQ(fixture.ledger.page_count(), 0u);
}

TEST(Context, CountersTellTheSameWhetherTheContextIsSuspendedOrNot) {
  Fixture fixture(8);
  fixture.append(37);
  fixture.compute(37);
  fixture.append(3);
  const ContextCounters before = fixture.context.counters();
  EXPECT_EQ(before.queued_token_count, 3u);
  const auto expect_as_before = [&] {
    const ContextCounters now = fixture.context.counters();
    EXPECT_EQ(now.seq_len, before.seq_len);
    EXPECT_EQ(now.committed_page_count, before.committed_page_count);
    EXPECT_EQ(now.working_page_count, before.working_page_count);
    EXPECT_EQ(now.working_page_token_count, before.working_page_token_count);
    EXPECT_EQ(now.queued_token_count, before.queued_token_count);
  };
  fixture.context.suspend();
  expect_as_before();
  fixture.context.resume(8);
  EXPECT_GT(fixture.context.tokens().lost_count(), 0u);
  expect_as_before();
}

TEST(Context, ResumesWithNoMorePagesThanTheInstanceMayHoldAndFindsTheOthersLater) {
  Fixture fixture(8);
  fixture.append(64);
  fixture.compute(64);
  fixture.context.suspend();
  std::vector<PageId> handles;
  ASSERT_TRUE(fixture.resources.cache.take(2, handles));
  for (const PageId page : handles) fixture.ledger.acquire(page);
  fixture.context.resume(4);
  EXPECT_EQ(fixture.ledger.page_count(), 4u);
  EXPECT_EQ(fixture.context.tokens().lost_count(), 32u);
  fixture.context.verify();
  const auto find = [&] { return fixture.context.find_queued(4, 8).end; };
  EXPECT_EQ(find(), FindEnd::Quota);
  EXPECT_EQ(fixture.ledger.page_count(), 4u);
  for (const PageId page : handles) fixture.ledger.release(page);
  EXPECT_EQ(find(), FindEnd::NoMore);
  EXPECT_EQ(fixture.ledger.page_count(), 4u);
  EXPECT_EQ(fixture.context.tokens().lost_count(), 0u);
}

TEST(Context, AForkTakesNothingOfABoundaryPageThatWasEmptied) {
  Fixture fixture(8);
  fixture.append(32);
  fixture.compute(32);
  ASSERT_TRUE(rewind(fixture.context, 20).ok());
  ASSERT_TRUE(truncate_page_tokens(fixture.context, 4).ok());
  ASSERT_EQ(fixture.context.working().count(), 1u);
  Context child;
  fixture.bind(child);
  fixture.context.fork_to(child);
  child.append(std::vector<std::uint32_t>{5});
  ASSERT_TRUE(child.take_pages(1, fixture.copies));
  child.verify();
  EXPECT_TRUE(fixture.copies.empty());
  child.drop();
  fixture.context.drop();
  EXPECT_EQ(fixture.ledger.page_count(), 0u);
  fixture.resources.cache.verify();
}

TEST(Context, TruncateReachesIntoTheTailAndNoFurther) {
  Fixture fixture(8);
  fixture.append(37);
  fixture.compute(37);
  fixture.append(3);
  EXPECT_FALSE(truncate(fixture.context, 9).ok());
  EXPECT_TRUE(truncate(fixture.context, 8).ok());
  EXPECT_EQ(fixture.context.seq_len(), 32u);
  EXPECT_EQ(fixture.context.working().count(), 0u);
}

}  // namespace
}  // namespace quire::control
