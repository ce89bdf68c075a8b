#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "inference/memory/basic_buffer.h"
#include "inference/memory/kv_pool.h"
#include "inference/memory/page_tables.h"

namespace quire::inference {
namespace {

// Layers of other heads, and one without any.
constexpr KvHeads kMixed[] = {{3, 16}, {0, 0}, {1, 32}};

// Marks every element of a slot with one 16-bit number.
void mark(KvPool& pool, PageId page, std::uint32_t slot, std::uint16_t number) {
  const KvLayout& layout = pool.layout();
  for (std::uint32_t layer = 0; layer < layout.layer_count(); ++layer) {
    for (std::uint32_t head = 0; head < layout.head_count(layer); ++head) {
      auto* keys =
          reinterpret_cast<std::uint16_t*>(pool.page(page) + layout.head_offset(layer, head));
      std::uint16_t* values = keys + layout.head(layer).head_dim * layout.page_size();
      for (std::uint32_t d = 0; d < layout.head(layer).head_dim; ++d) {
        keys[d * layout.page_size() + slot] = number;
        values[slot * layout.head(layer).head_dim + d] = number;
      }
    }
  }
  pool.positions(page)[slot] = number;
}

// The number that marks all of a slot, or nothing where elements differ.
std::optional<std::uint16_t> mark_of(KvPool& pool, PageId page, std::uint32_t slot) {
  const KvLayout& layout = pool.layout();
  const auto number = static_cast<std::uint16_t>(pool.positions(page)[slot]);
  for (std::uint32_t layer = 0; layer < layout.layer_count(); ++layer) {
    for (std::uint32_t head = 0; head < layout.head_count(layer); ++head) {
      const auto* keys =
          reinterpret_cast<const std::uint16_t*>(pool.page(page) + layout.head_offset(layer, head));
      const std::uint16_t* values = keys + layout.head(layer).head_dim * layout.page_size();
      for (std::uint32_t d = 0; d < layout.head(layer).head_dim; ++d) {
        if (keys[d * layout.page_size() + slot] != number) return std::nullopt;
        if (values[slot * layout.head(layer).head_dim + d] != number) return std::nullopt;
      }
    }
  }
  return number;
}

TEST(KvPool, CopiesOfRandomSlotsEqualThoseOfAPlainArray) {
  std::mt19937 random(3);
  for (const std::uint32_t page_size : {8u, 16u, 32u}) {
    const KvLayout layout(kMixed, page_size, KvFormat::F16);
    KvPool pool = KvPool::create(layout, 5).take();
    std::vector<std::uint16_t> model(5 * page_size);
    for (std::uint32_t i = 0; i < model.size(); ++i) {
      model[i] = static_cast<std::uint16_t>(i + 1);
      mark(pool, PageId{i / page_size}, i % page_size, model[i]);
    }
    for (int step = 0; step < 200; ++step) {
      PageCopy copy{.from = PageId{static_cast<std::uint32_t>(random() % 5)},
                    .to = PageId{static_cast<std::uint32_t>(random() % 5)}};
      copy.slot_count = static_cast<std::uint32_t>(random() % (page_size + 1));
      copy.from_slot = static_cast<std::uint32_t>(random() % (page_size - copy.slot_count + 1));
      copy.to_slot = static_cast<std::uint32_t>(random() % (page_size - copy.slot_count + 1));
      pool.copy(copy);
      std::memmove(&model[static_cast<std::uint32_t>(copy.to) * page_size] + copy.to_slot,
                   &model[static_cast<std::uint32_t>(copy.from) * page_size] + copy.from_slot,
                   copy.slot_count * sizeof(std::uint16_t));
      for (std::uint32_t i = 0; i < model.size(); ++i) {
        ASSERT_EQ(mark_of(pool, PageId{i / page_size}, i % page_size), model[i])
            << "step " << step << ", slot " << i;
      }
    }
  }
}

TEST(KvPool, SavedSlotsLoadIntoAnyPageAndOthersComeAsZeros) {
  std::mt19937 random(5);
  for (const std::uint32_t page_size : {8u, 16u, 32u}) {
    const KvLayout layout(kMixed, page_size, KvFormat::F16);
    KvPool pool = KvPool::create(layout, 5).take();
    std::vector<std::uint16_t> model(5 * page_size);
    for (std::uint32_t i = 0; i < model.size(); ++i) {
      model[i] = static_cast<std::uint16_t>(i + 1);
      mark(pool, PageId{i / page_size}, i % page_size, model[i]);
    }
    std::vector<std::byte> bytes(layout.transfer_bytes());
    for (int step = 0; step < 200; ++step) {
      const auto from = static_cast<std::uint32_t>(random() % 5);
      const auto to = static_cast<std::uint32_t>(random() % 5);
      const auto slots = step % 4 == 0 ? kAllSlots : static_cast<std::uint32_t>(random());
      std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
      pool.save(PageId{from}, slots, bytes);
      pool.load(PageId{to}, bytes);
      for (std::uint32_t slot = 0; slot < page_size; ++slot) {
        const bool is_wanted = (slots >> slot & 1u) != 0;
        model[to * page_size + slot] =
            is_wanted ? model[from * page_size + slot] : std::uint16_t{0};
      }
      for (std::uint32_t i = 0; i < model.size(); ++i) {
        ASSERT_EQ(mark_of(pool, PageId{i / page_size}, i % page_size), model[i])
            << "step " << step << ", slot " << i;
      }
    }
  }
}

TEST(KvPool, RefusesMoreMemoryThanThereIsAddressSpace) {
  const std::vector<KvHeads> many(1 << 15, {128, 256});
  const KvLayout layout(many, 16, KvFormat::F16);
  for (const std::uint32_t page_count : {0x10000000u, 0xf0000000u}) {  // 2^64 bytes, and less.
    const auto pool = KvPool::create(layout, page_count);
    ASSERT_FALSE(pool.ok());
    EXPECT_EQ(pool.error().code(), ErrorCode::Unavailable);
  }
}

TEST(BasicBuffer, GrowthKeepsBlocksAndPositions) {
  const std::vector<KvHeads> heads(2, {1, 16});
  const KvLayout layout(heads, 8, KvFormat::F16);
  BasicBuffer buffer(layout);
  for (std::uint32_t count = 1; count < 40; ++count) {
    ASSERT_TRUE(buffer.grow(count).ok());
    std::memset(buffer.block(count - 1), static_cast<int>(count), layout.page_bytes());
    buffer.positions(count - 1)[7] = count;
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(buffer.block(i)[layout.page_bytes() - 1], static_cast<std::byte>(i + 1));
      ASSERT_EQ(buffer.positions(i)[7], i + 1);
    }
  }
}

TEST(PageTables, RandomChangesLeaveWhatPlainVectorsHold) {
  std::mt19937 random(9);
  PageTables tables({.sequence_count = 8, .page_count = 64, .page_size = 16});
  std::map<std::uint32_t, std::vector<std::uint32_t>> model;  // Page ids; 64: a hole.
  for (int step = 0; step < 3000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % 8);
    if (random() % 20 == 0 && model.contains(id)) {
      TableChange change{.sequence = SequenceId{id}, .release = true};
      tables.apply(change);
      model.erase(id);
    } else {
      std::vector<std::uint32_t>& table = model[id];
      TableChange change{.sequence = SequenceId{id}};
      change.entry_first = static_cast<std::uint32_t>(random() % (table.size() + 1));
      const auto count = static_cast<std::uint32_t>(random() % 6);
      const std::uint32_t end = change.entry_first + count;
      change.entry_count = end;
      if (end < table.size()) {
        change.entry_count += static_cast<std::uint32_t>(random() % (table.size() - end + 1));
      }
      table.resize(change.entry_count);
      for (std::uint32_t i = change.entry_first; i < end; ++i) {
        table[i] = static_cast<std::uint32_t>(random() % 65);
        change.entries.push_back(table[i] == 64 ? TableEntry{} : TableEntry{PageId{table[i]}, 1});
      }
      tables.apply(change);
    }
    tables.verify();
    ASSERT_EQ(tables.sequence_count(), model.size());
    for (const auto& [sequence, pages] : model) {
      const auto entries = tables.entries(SequenceId{sequence});
      ASSERT_EQ(entries.size(), pages.size());
      for (std::size_t i = 0; i < pages.size(); ++i) {
        ASSERT_EQ(entries[i].page, pages[i] == 64 ? kNoPage : PageId{pages[i]});
      }
    }
  }
}

TEST(PageTablesDeathTest, BrokenLimitsStopTheProcess) {
  PageTables tables({.sequence_count = 1, .page_count = 4, .page_size = 8});
  const auto change = [](std::uint32_t sequence, TableEntry entry) {
    return TableChange{.sequence = SequenceId{sequence}, .entries = {entry}, .entry_count = 1};
  };
  tables.apply(change(0, {PageId{3}, 0xff}));
  EXPECT_DEATH(tables.apply(change(0, {PageId{4}, 0})), "PT2");
  EXPECT_DEATH(tables.apply(change(0, {PageId{3}, 0x100})), "PT3");
  EXPECT_DEATH(tables.apply(change(0, {kNoPage, 1})), "PT3");
  EXPECT_DEATH(tables.apply(change(1, {PageId{3}, 1})), "PT1");
  EXPECT_DEATH(tables.apply({.sequence = SequenceId{5}, .release = true}), "released");
}

}  // namespace
}  // namespace quire::inference
