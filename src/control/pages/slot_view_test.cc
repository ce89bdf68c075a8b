#include "control/pages/slot_view.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace quire::control {
namespace {

TEST(SlotSet, AgreesWithASetOfNumbers) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SlotSet slots;
    std::set<std::uint32_t> model;
    for (int step = 0; step < 30; ++step) {
      const auto begin = static_cast<std::uint32_t>(random() % 100);
      const auto end = begin + static_cast<std::uint32_t>(random() % 20);
      if (random() % 6 == 0) {
        slots.clip(begin);
        model.erase(model.lower_bound(begin), model.end());
      } else {
        slots.add({begin, end});
        for (std::uint32_t slot = begin; slot < end; ++slot) model.insert(slot);
      }
      ASSERT_EQ(slots.count(), model.size());
      for (std::uint32_t slot = 0; slot < 125; ++slot) {
        ASSERT_EQ(slots.contains(slot), model.contains(slot)) << slot;
      }
      for (std::size_t index = 1; index < slots.ranges().size(); ++index) {
        ASSERT_LT(slots.ranges()[index - 1].end, slots.ranges()[index].begin);
      }
      std::uint32_t outside = 0;
      while (model.contains(outside)) ++outside;
      ASSERT_EQ(slots.first_outside(), outside);
      const std::uint32_t bits = slots.visible_bits(begin, 16);
      for (std::uint32_t slot = 0; slot < 16; ++slot) {
        ASSERT_EQ((bits >> slot & 1) != 0, !model.contains(begin + slot));
      }
      std::set<std::uint32_t> missing;
      for (const SlotRange& part : slots.missing({begin, end})) {
        for (std::uint32_t slot = part.begin; slot < part.end; ++slot) missing.insert(slot);
      }
      for (std::uint32_t slot = begin; slot < end; ++slot) {
        ASSERT_EQ(missing.contains(slot), !model.contains(slot));
      }
      ASSERT_EQ(slots.covers({begin, end + 1}), [&] {
        for (std::uint32_t slot = begin; slot <= end; ++slot) {
          if (!model.contains(slot)) return false;
        }
        return true;
      }());
    }
  }
}

TEST(SlotView, AContextThatDroppedNothingAddsNothingToANames) {
  SlotView view;
  EXPECT_TRUE(view.is_plain());
  EXPECT_TRUE(view.encode(0, 16).empty());
  view.drop({4, 4}, 40);
  EXPECT_TRUE(view.is_plain());
}

TEST(SlotView, OnlySlotsWrittenAfterADropSayIt) {
  SlotView view;
  view.drop({0, 8}, 40);
  EXPECT_TRUE(view.encode(16, 16).empty());
  EXPECT_FALSE(view.encode(32, 16).empty());
  EXPECT_NE(view.encode(32, 16), view.encode(48, 16))
      << "from the ninth slot on, and from the first";
  SlotView other;
  other.drop({0, 8}, 41);
  EXPECT_NE(view.encode(32, 16), other.encode(32, 16));
  EXPECT_EQ(view.encode(48, 16), other.encode(48, 16)) << "the same view";
}

TEST(SlotView, HowARangeWasDroppedDoesNotMatter) {
  SlotView once;
  once.drop({4, 20}, 64);
  SlotView twice;
  twice.drop({4, 10}, 64);
  twice.drop({10, 20}, 64);
  EXPECT_EQ(once.encode(64, 16), twice.encode(64, 16));
}

TEST(SlotView, ForgettingKeepsWhatPagesToComeNeed) {
  SlotView view;
  view.drop({0, 2}, 10);
  view.drop({2, 4}, 20);
  view.drop({4, 6}, 37);
  const auto before = view.encode(32, 16);
  view.forget_before(32);
  EXPECT_EQ(view.encode(32, 16), before);
}

TEST(SlotView, ARewindKeepsTheHistoryOfThePageItEndsIn) {
  SlotView view;
  view.drop({0, 2}, 20);
  view.drop({2, 4}, 24);
  const auto page = view.encode(16, 16);
  view.forget_before(32);
  view.drop({4, 40}, 50);
  view.rewind(30, 16, page);
  EXPECT_EQ(view.dropped().ranges().back().end, 30u) << "what was dropped stays dropped";
  SlotView plain;
  plain.drop({0, 2}, 20);
  plain.drop({2, 4}, 24);
  plain.drop({4, 30}, 30);
  EXPECT_EQ(view.encode(16, 16), plain.encode(16, 16));
}

TEST(SlotView, OfAPageSaysWhichOfItsSlotsCanBeSeen) {
  SlotView view;
  view.drop({4, 18}, 24);
  view.drop({20, 22}, 30);
  const auto page = view.encode(16, 16);
  EXPECT_EQ(SlotView::visible_bits(page, 16, 16), 0xffffu & ~0b110011u);
  EXPECT_EQ(SlotView::visible_bits({}, 16, 16), 0xffffu);
  EXPECT_EQ(SlotView::visible_bits(view.encode(32, 16), 32, 16), 0xffffu) << "of pages before it";
}

TEST(SlotView, TellsBytesThatNoPageCouldHave) {
  SlotView view;
  view.drop({4, 18}, 24);
  view.drop({20, 22}, 30);
  const auto page = view.encode(16, 16);
  EXPECT_TRUE(SlotView::is_encoding(page, 16, 16));
  EXPECT_TRUE(SlotView::is_encoding({}, 16, 16));
  EXPECT_FALSE(SlotView::is_encoding(page, 16, 14)) << "a slot behind the page";
  EXPECT_FALSE(SlotView::is_encoding(page, 0, 16)) << "dropped before it was written";
  for (std::size_t bytes = 1; bytes < page.size(); ++bytes) {
    const bool ends_with_a_stretch = bytes == 16;
    EXPECT_EQ(SlotView::is_encoding(std::span(page).first(bytes), 16, 16), ends_with_a_stretch)
        << bytes;
  }
  std::vector<std::uint8_t> many(8, 0xff);  // More ranges than there are bytes.
  many[0] = many[1] = many[2] = many[3] = 0;
  EXPECT_FALSE(SlotView::is_encoding(many, 16, 16));
}

TEST(SlotView, IsNotMadeOfChangesToSlotsThatCameLater) {
  SlotView view;
  view.drop({4, 18}, 24);
  std::vector<std::uint8_t> bytes;
  view.serialise(bytes);
  ASSERT_TRUE(SlotView::deserialise(bytes, 30));
  bytes[4] = 17;  // The slot of the change.
  EXPECT_FALSE(SlotView::deserialise(bytes, 30));
}

}  // namespace
}  // namespace quire::control
