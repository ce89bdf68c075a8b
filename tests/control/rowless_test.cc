// The part of a batch that work without rows takes: reads of outputs, and copies of pages.
#include <gtest/gtest.h>

#include <algorithm>

#include "control/harness.h"

namespace quire::control::rowless_test {
namespace {

constexpr std::uint32_t kOfOne = 4;     // Of an instance in a batch.
constexpr std::uint32_t kRowsMax = 10;  // So many of all.

struct Guest {
  InstanceId id{};
  ObjectId queue{};
  std::vector<ObjectId> outputs;
};

class Rowless : public testing::Test {
 protected:
  static Harness::Options options_of() {
    Harness::Options options;
    options.device.row_count_max = kRowsMax;
    options.controller.rowless_count_max = kOfOne;
    options.controller.answer_bytes_max = 200;
    return options;
  }
  // With outputs that a pass wrote.
  Guest start(std::uint32_t output_count = 1, TenantId tenant = TenantId{1}) {
    Guest guest;
    guest.id = harness.start(tenant);
    guest.queue = harness.queue(guest.id);
    guest.outputs = harness.embeds(guest.id, guest.queue, output_count);
    const ObjectId context = harness.context(guest.id, guest.queue);
    harness.send(guest.id, ContextAppend{context, count_tokens(output_count, ++first_)}, false);
    harness.send(guest.id, ContextForward{context, guest.outputs});
    harness.run();
    return guest;
  }
  std::vector<FutureId> read(const Guest& guest, std::size_t count, std::uint32_t top_k = 1) {
    std::vector<FutureId> reads;
    for (std::size_t each = 0; each < count; ++each) {
      reads.push_back(harness.send(
          guest.id, GetNextDist{guest.queue, guest.outputs[each % guest.outputs.size()], top_k}));
    }
    return reads;
  }
  std::size_t answered(const Guest& guest, const std::vector<FutureId>& futures) const {
    return static_cast<std::size_t>(
        std::count_if(futures.begin(), futures.end(),
                      [&](FutureId each) { return harness.has(guest.id, each); }));
  }

  Harness harness{options_of()};
  std::uint32_t first_ = 0;
};

// One output or several: each read makes the next one ready while the batch is built.
TEST_F(Rowless, ReadsOfOneInstanceTakeFewOfABatchWhileOthersHaveTheirs) {
  for (const std::uint32_t output_count : {1u, 3u}) {
    const Guest hoarder = start(output_count);
    const Guest other = start();
    const auto many = read(hoarder, 3 * kOfOne);
    const auto one = read(other, 1);
    for (std::size_t batch = 1; batch <= 3; ++batch) {
      EXPECT_TRUE(harness.step());
      EXPECT_EQ(answered(hoarder, many), batch * kOfOne);
      EXPECT_EQ(answered(other, one), 1u);
    }
    EXPECT_FALSE(harness.step());
  }
}

TEST_F(Rowless, ReadsOfAllAreAsManyAsRowsAtMost) {
  std::vector<Guest> guests;
  for (int each = 0; each < 4; ++each) guests.push_back(start());
  std::vector<std::vector<FutureId>> reads;
  for (const Guest& each : guests) reads.push_back(read(each, kOfOne));
  const auto all = [&] {
    std::size_t count = 0;
    for (std::size_t each = 0; each < guests.size(); ++each) {
      count += answered(guests[each], reads[each]);
    }
    return count;
  };
  EXPECT_TRUE(harness.step());
  EXPECT_EQ(all(), kRowsMax);
  EXPECT_TRUE(harness.step());
  EXPECT_EQ(all(), 4 * kOfOne);
}

// No program is charged rows for a read, and still a tenant that does nothing else goes first only
// as often as its share says. A program that decodes beside it has each of its tokens with the next
// batch or the one after that.
TEST_F(Rowless, ATenantThatOnlyReadsKeepsNoOtherFromItsTokens) {
  std::vector<Guest> readers;
  for (std::uint32_t each = 0; each < kRowsMax; ++each) readers.push_back(start());
  const Guest other = start(1, TenantId{2});
  const ObjectId context = harness.context(other.id, other.queue);
  for (const Guest& each : readers) read(each, 100);
  constexpr std::size_t kTokenCount = 20;
  std::size_t batch_count = 0;
  for (std::uint32_t token = 0; token < kTokenCount; ++token) {
    harness.send(other.id, ContextAppend{context, count_tokens(1, token + 1)}, false);
    harness.send(other.id, ContextForward{context, other.outputs}, false);
    const auto next = read(other, 1);
    for (; answered(other, next) == 0 && batch_count < 2 * kTokenCount; ++batch_count) {
      EXPECT_TRUE(harness.step());
    }
    ASSERT_EQ(answered(other, next), 1u) << "token " << token << " after " << batch_count;
  }
}

// All pages but the first are of another context than the chain that the first one begins.
TEST_F(Rowless, PagesThatAContextIsMadeOfByCopyingCountAsReads) {
  constexpr std::uint32_t kPageSize = 16;
  const Guest guest = start();
  std::vector<ObjectId> pages;
  for (const std::uint32_t first : {100u, 300u}) {
    const ObjectId context = harness.context(guest.id, guest.queue);
    harness.send(guest.id, ContextAppend{context, count_tokens(3 * kPageSize, first)}, false);
    harness.send(guest.id, ContextFlush{context}, false);
    std::vector<ObjectId> of_one = harness.new_objects(3);
    harness.send(guest.id, ContextPages{context, 0, of_one}, false);
    pages.insert(pages.end(), of_one.begin(), of_one.end());
  }
  harness.run();
  // One page of its own, two that are copied: two of these, and the third has no room.
  const std::vector<ObjectId> mixed{pages[0], pages[4], pages[5]};
  std::vector<std::uint32_t> tokens = count_tokens(kPageSize, 100);
  const std::vector<std::uint32_t> others = count_tokens(3 * kPageSize, 300);
  tokens.insert(tokens.end(), others.begin() + kPageSize, others.end());
  std::vector<FutureId> made;
  for (std::uint32_t each = 0; each < 3; ++each) {
    made.push_back(
        harness.send(guest.id, ContextFromPages{harness.new_object(), guest.queue, mixed, tokens}));
  }
  EXPECT_TRUE(harness.step());
  EXPECT_EQ(answered(guest, made), 2u);
  EXPECT_TRUE(harness.step());
  ASSERT_EQ(answered(guest, made), 3u);
  for (const FutureId each : made) EXPECT_FALSE(harness.error(guest.id, each));
}

// 200 bytes are three of eight tokens and their probabilities.
TEST_F(Rowless, AnswersOfABatchAreBoundedInBytesAndOneLongerThanThatComesAlone) {
  const Guest guest = start();
  const auto reads = read(guest, 4, 8);
  EXPECT_TRUE(harness.step());
  EXPECT_EQ(answered(guest, reads), 3u);
  const auto large = read(guest, 2, 100);
  EXPECT_TRUE(harness.step());
  EXPECT_EQ(answered(guest, reads), 4u);
  EXPECT_EQ(answered(guest, large), 0u);
  for (std::size_t batch = 1; batch <= 2; ++batch) {
    EXPECT_TRUE(harness.step());
    EXPECT_EQ(answered(guest, large), batch);
  }
}

TEST_F(Rowless, CopiesOfOneInstanceTakeFewOfABatch) {
  Guest guest = start();
  const auto pages = harness.pages(guest.id, guest.queue, 2);
  harness.send(guest.id, EmbedText{guest.queue, guest.outputs, {7}, {0}}, false);
  Forward forward;
  forward.queue = guest.queue;
  forward.input_embeds = guest.outputs;
  forward.output_pages = {pages[0]};
  harness.send(guest.id, forward);
  harness.run();
  std::vector<FutureId> copies;
  for (std::uint32_t each = 0; each < 3 * kOfOne; ++each) {
    copies.push_back(harness.send(guest.id, CopyPage{guest.queue, pages[0], pages[1], 0, each, 1}));
  }
  for (std::size_t batch = 1; batch <= 3; ++batch) {
    EXPECT_TRUE(harness.step());
    EXPECT_EQ(answered(guest, copies), batch * kOfOne);
  }
  EXPECT_FALSE(harness.step());
}

}  // namespace
}  // namespace quire::control::rowless_test
