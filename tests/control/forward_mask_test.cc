// Masks of a forward pass: which column speaks of which slot.
#include <gtest/gtest.h>

#include "control/harness.h"

namespace quire::control::forward_mask_test {
namespace {

constexpr std::uint32_t kPageSize = 16;
constexpr std::uint32_t kWritten = 5;

using Mask = std::vector<std::uint8_t>;

// Slots of one page, of which one is left out.
Mask all_but(std::uint32_t slot) {
  Mask mask(kPageSize, 1);
  mask[slot] = 0;
  return mask;
}

Mask joined(Mask first, const Mask& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class ForwardMask : public testing::Test {
 protected:
  // A page with the same first tokens.
  ObjectId new_page() {
    const ObjectId page = harness.pages(guest, queue, 1).front();
    const auto inputs = harness.embeds(guest, queue, kWritten);
    harness.send(guest, EmbedText{queue, inputs, count_tokens(kWritten), {0, 1, 2, 3, 4}}, false);
    harness.send(guest, Forward{queue, {}, inputs, {page}, {}, {}, false}, false);
    return page;
  }
  FutureId begin(const std::vector<ObjectId>& ikv, const std::vector<ObjectId>& okv, Mask mask) {
    harness.send(guest, EmbedText{queue, {input}, {7}, {kWritten}}, false);
    return harness.send(guest, Forward{queue, ikv, {input}, okv, {output}, std::move(mask), false});
  }
  // The distribution after one more token, which sees the slots that the mask shows.
  std::vector<float> next(const std::vector<ObjectId>& ikv, const std::vector<ObjectId>& okv,
                          const Mask& mask) {
    begin(ikv, okv, mask);
    const FutureId next = harness.send(guest, GetNextDist{queue, output, 8});
    harness.run();
    return harness.get<NextDistribution>(guest, next).probabilities;
  }

  Harness harness;
  const InstanceId guest = harness.start();
  const ObjectId queue = harness.queue(guest);
  const ObjectId input = harness.embeds(guest, queue, 1).front();
  const ObjectId output = harness.embeds(guest, queue, 1).front();
};

TEST_F(ForwardMask, APageThatIsReadAndWrittenHasTwoColumnsOfWhichEitherShowsASlot) {
  const ObjectId once = new_page();
  const std::vector<float> all = next({}, {once}, Mask(kPageSize, 1));
  const std::vector<float> without = next({}, {new_page()}, all_but(2));
  ASSERT_NE(all, without);
  const ObjectId first = new_page();
  EXPECT_EQ(next({first}, {first}, Mask(2 * kPageSize, 1)), all);
  const ObjectId second = new_page();
  EXPECT_EQ(next({second}, {second}, joined(all_but(2), all_but(2))), without);
  const ObjectId third = new_page();
  EXPECT_EQ(next({third}, {third}, joined(all_but(2), Mask(kPageSize, 1))), all);
  const ObjectId fourth = new_page();
  EXPECT_EQ(next({fourth}, {fourth}, joined(Mask(kPageSize, 1), all_but(2))), all);
}

// Old slots where the page is read, the token's own where it is written.
TEST_F(ForwardMask, ColumnsMayBeSharedOutBetweenTheTwo) {
  const ObjectId once = new_page();
  const std::vector<float> all = next({}, {once}, Mask(kPageSize, 1));
  Mask old(kPageSize, 0);
  Mask own(kPageSize, 0);
  for (std::uint32_t slot = 0; slot < kPageSize; ++slot) (slot < kWritten ? old : own)[slot] = 1;
  const ObjectId page = new_page();
  EXPECT_EQ(next({page}, {page}, joined(old, own)), all);
}

TEST_F(ForwardMask, HolesAndOtherPagesKeepTheirColumns) {
  const ObjectId read = new_page();
  const ObjectId both = new_page();
  const ObjectId written = new_page();
  const Mask every(kPageSize, 1);
  const Mask nothing(kPageSize, 0);
  const Mask hole_and_read = joined(every, all_but(1));
  const std::vector<float> wanted = next({kNoObject, read}, {both}, joined(hole_and_read, every));
  const ObjectId again = new_page();
  EXPECT_EQ(next({kNoObject, read, again}, {again, written},
                 joined(hole_and_read, joined(every, joined(nothing, nothing)))),
            wanted);
}

TEST_F(ForwardMask, AMaskWithoutTheSecondColumnIsRefusedWithTheNumbers) {
  const ObjectId page = new_page();
  const FutureId refused = begin({page}, {page}, Mask(kPageSize, 1));
  harness.run();
  EXPECT_EQ(harness.error(guest, refused), ErrorCode::InvalidArgument);
  EXPECT_EQ(harness.message(guest, refused), "the mask has 16 entries, not 1 tokens x 32 slots");
}

}  // namespace
}  // namespace quire::control::forward_mask_test
