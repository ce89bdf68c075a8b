#include "inference/devices/cpu/kv_store.h"

#include <gtest/gtest.h>

#include <random>

namespace quire::inference {
namespace {

constexpr KvHeads kHeads[] = {{1, 16}, {1, 16}};

KvLayout small_layout() {
  return KvLayout(kHeads, 16, KvFormat::F16);
}
std::size_t page_bytes() {
  return small_layout().page_bytes();
}

KvStore make_store(KvMode mode) {
  return KvStore::create(
             {.layout = small_layout(), .mode = mode, .page_count = 64, .sequence_count = 8})
      .take();
}

TableChange whole_table(std::uint32_t sequence, const std::vector<std::uint32_t>& pages) {
  TableChange change{.sequence = SequenceId{sequence}};
  for (const std::uint32_t page : pages) change.entries.push_back({PageId{page}, 0xffff});
  change.entry_count = static_cast<std::uint32_t>(pages.size());
  return change;
}

// The worked example of the published text: physical slot = page * 16 + offset.
TEST(KvStore, PublishedTablePutsTokensIntoThePublishedSlots) {
  KvStore store = make_store(KvMode::Paged);
  store.apply(whole_table(0, {5, 12, 3}));
  store.apply(whole_table(1, {0}));
  const std::byte* base = store.slot(SequenceId{1}, 0).page;
  const auto physical = [&](std::uint32_t token) {
    const SlotAddress address = store.slot(SequenceId{0}, token);
    const auto page = static_cast<std::size_t>(address.page - base) / page_bytes();
    return page * 16 + address.page_slot;
  };
  EXPECT_EQ(physical(0), 80u);
  EXPECT_EQ(physical(15), 95u);
  EXPECT_EQ(physical(16), 192u);
  EXPECT_EQ(physical(31), 207u);
  EXPECT_EQ(physical(32), 48u);
  EXPECT_EQ(physical(34), 50u);
}

TEST(KvStore, RandomChangesKeepItsInvariantsInBothModes) {
  for (const KvMode mode : {KvMode::Paged, KvMode::Basic}) {
    std::mt19937 random(17);
    KvStore store = make_store(mode);
    std::uint32_t counts[8] = {};
    for (int step = 0; step < 2000; ++step) {
      const auto id = static_cast<std::uint32_t>(random() % 8);
      TableChange change{.sequence = SequenceId{id}};
      if (random() % 16 == 0 && store.tables().exists(change.sequence)) {
        change.release = true;
        counts[id] = 0;
      } else {
        change.entry_first = static_cast<std::uint32_t>(random() % (counts[id] + 1));
        const auto count = static_cast<std::uint32_t>(random() % 5);
        for (std::uint32_t i = 0; i < count; ++i) {
          TableEntry entry;
          if (random() % 4 != 0) {
            entry = {PageId{static_cast<std::uint32_t>(random() % 64)},
                     static_cast<std::uint32_t>(random() & 0xffff)};
          }
          change.entries.push_back(entry);
        }
        change.entry_count =
            std::max(change.entry_first + count, random() % 2 == 0 ? counts[id] : std::uint32_t{0});
        counts[id] = change.entry_count;
      }
      store.apply(change);
      store.verify();
    }
  }
}

TEST(KvStore, AttentionIsToldOnlyOfSpansThatHaveSomethingToSee) {
  KvStore store = make_store(KvMode::Paged);
  TableChange change{.sequence = SequenceId{0}, .entry_count = 1000};
  change.entries.resize(1000);  // Holes.
  change.entries[0] = {PageId{1}, 0x000f};
  change.entries[15] = {PageId{2}, 0xffff};  // The last of the first span.
  change.entries[500] = {PageId{3}, 0};      // There, but hidden from everyone.
  change.entries[999] = {PageId{4}, 0x0001};
  store.apply(change);
  const auto spans = [&] {
    const std::span<const std::uint32_t> all = store.spans(SequenceId{0});
    return std::vector<std::uint32_t>(all.begin(), all.end());
  };
  EXPECT_EQ(spans(), (std::vector<std::uint32_t>{0, 62}));
  store.apply({.sequence = SequenceId{0},
               .entry_first = 500,
               .entries = {{PageId{3}, 1}},
               .entry_count = 501});
  EXPECT_EQ(spans(), (std::vector<std::uint32_t>{0, 31}));
  store.apply({.sequence = SequenceId{0}, .entries = {{}}, .entry_count = 501});
  EXPECT_EQ(spans(), (std::vector<std::uint32_t>{0, 31})) << "the other page of the span is there";
  store.verify();
}

TEST(KvStore, BasicBuffersKeepTheirBytesWhenTheyMove) {
  KvStore store = make_store(KvMode::Basic);
  store.apply(whole_table(0, {7}));
  store.slot(SequenceId{0}, 3).page[0] = std::byte{42};
  *store.slot(SequenceId{0}, 3).position = 3;
  store.apply(whole_table(0, {7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(store.slot(SequenceId{0}, 3).page[0], std::byte{42});
  EXPECT_EQ(store.views(SequenceId{0})[0].positions[3], 3u);
  EXPECT_EQ(store.views(SequenceId{0})[5].base - store.views(SequenceId{0})[0].base,
            static_cast<std::ptrdiff_t>(5 * page_bytes()));
}

TEST(KvStoreDeathTest, CopyWithoutPagesStopsTheProcess) {
  KvStore store = make_store(KvMode::Basic);
  EXPECT_DEATH(store.copy({}), "paged");
}

}  // namespace
}  // namespace quire::inference
