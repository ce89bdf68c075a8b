// Slots of the device for outputs: who may have how many, and who waits for one.
#include <gtest/gtest.h>

#include "control/harness.h"

namespace quire::control::embed_slots_test {
namespace {

constexpr std::uint32_t kSlotCount = 16;

struct Guest {
  InstanceId id{};
  ObjectId queue{};
};

class EmbedSlots : public testing::Test {
 protected:
  static Harness::Options options_of() {
    Harness::Options options;
    options.device.embed_slot_count = kSlotCount;
    options.device.row_count_max = 32;
    return options;
  }
  Guest start(std::uint32_t tenant) {
    Guest guest;
    guest.id = harness.start(TenantId{tenant});
    guest.queue = harness.queue(guest.id);
    return guest;
  }
  // A forward of that many tokens into outputs, of a context of its own.
  FutureId begin(const Guest& guest, std::uint32_t token_count,
                 const std::vector<ObjectId>& outputs) {
    const ObjectId context = harness.context(guest.id, guest.queue);
    harness.send(guest.id, ContextAppend{context, count_tokens(token_count, ++first_)}, false);
    return harness.send(guest.id, ContextForward{context, outputs});
  }
  void expect_done(const Guest& guest, FutureId future) {
    harness.run();
    ASSERT_TRUE(harness.has(guest.id, future));
    EXPECT_TRUE(harness.at(guest.id, future).ok()) << harness.message(guest.id, future);
  }
  // The same, done: its outputs, which take slots.
  std::vector<ObjectId> take(const Guest& guest, std::uint32_t count) {
    const auto outputs = harness.embeds(guest.id, guest.queue, count);
    expect_done(guest, begin(guest, count, outputs));
    return outputs;
  }
  void expect_refused(const Guest& guest, ErrorCode code, const std::string& message) {
    const FutureId refused = begin(guest, 1, harness.embeds(guest.id, guest.queue, 1));
    harness.run();
    ASSERT_EQ(harness.error(guest.id, refused), code);
    EXPECT_EQ(harness.message(guest.id, refused), message);
  }

  Harness harness{options_of()};
  std::uint32_t first_ = 0;
};

TEST_F(EmbedSlots, WhoIsAloneMayHaveAll) {
  const Guest alone = start(1);
  take(alone, kSlotCount);
  expect_refused(alone, ErrorCode::Unavailable, "no free embed slot: 1 wanted, 0 of 16 free");
}

TEST_F(EmbedSlots, ATenantLeavesHalfOfWhatOthersLeave) {
  const Guest first = start(1);
  const Guest second = start(1);
  const Guest other = start(2);
  take(first, 5);
  take(second, 3);
  expect_refused(
      second, ErrorCode::QuotaExceeded,
      "output_embed_count_max: 1 more wanted for outputs, those of tenant 1 take 8 of 8, half of "
      "what other holders leave of 16");
  take(other, 4);
  expect_refused(
      other, ErrorCode::QuotaExceeded,
      "output_embed_count_max: 1 more wanted for outputs, this program's take 4 of 4, half of what "
      "other holders leave of 16");
  take(start(3), 2);
}

TEST_F(EmbedSlots, AProgramLeavesSomeToOthersOfItsTenant) {
  const Guest first = start(1);
  const Guest second = start(1);
  const auto outputs = take(first, 8);
  expect_refused(
      first, ErrorCode::QuotaExceeded,
      "output_embed_count_max: 1 more wanted for outputs, this program's take 8 of 8, half of what "
      "other holders leave of 16");
  take(second, 4);
  harness.send(first.id, DeallocEmbeds{first.queue, {outputs[0], outputs[1]}}, false);
  harness.run();
  take(second, 1);
}

TEST_F(EmbedSlots, AnOutputThatReplacesOneTakesNoSlotMore) {
  const Guest guest = start(1);
  start(2);
  const auto outputs = take(guest, 8);
  for (int again = 0; again < 3; ++again) expect_done(guest, begin(guest, 8, outputs));
  harness.send(guest.id, EmbedText{guest.queue, {outputs[0]}, {1}, {0}}, false);
  harness.run();
  take(guest, 1);
}

// The last of a prompt's three chunks has the outputs.
TEST_F(EmbedSlots, AChunkWithoutOutputsNeedsNone) {
  const Guest guest = start(1);
  const auto held = take(guest, kSlotCount);
  const FutureId done = begin(guest, 90, harness.embeds(guest.id, guest.queue, 8));
  EXPECT_TRUE(harness.step());
  EXPECT_TRUE(harness.step());
  EXPECT_FALSE(harness.has(guest.id, done));
  harness.send(guest.id, DeallocEmbeds{guest.queue, held}, false);
  expect_done(guest, done);
}

TEST_F(EmbedSlots, SlotsThatTheBatchGivesBackAreWaitedFor) {
  const Guest guest = start(1);
  const auto held = take(guest, kSlotCount);
  const FutureId read = harness.send(guest.id, GetNextDist{guest.queue, held[0], 4});
  harness.send(guest.id, DeallocEmbeds{guest.queue, {held[0]}}, false);
  const FutureId done = begin(guest, 1, harness.embeds(guest.id, guest.queue, 1));
  EXPECT_TRUE(harness.step());
  EXPECT_TRUE(harness.has(guest.id, read));
  EXPECT_FALSE(harness.has(guest.id, done));
  expect_done(guest, done);
}

TEST_F(EmbedSlots, WhatAnEndedProgramHadIsAnothers) {
  const Guest first = start(1);
  take(first, kSlotCount);
  const Guest second = start(2);
  harness.controller->end_instance(first.id);
  harness.run();
  take(second, kSlotCount);
}

}  // namespace
}  // namespace quire::control::embed_slots_test
