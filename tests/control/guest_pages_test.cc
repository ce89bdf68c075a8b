// Host calls on the real controller and a simulated device: pages that a guest copies, leaves under
// a name for another, and takes from a context.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "control/call_guest.h"

namespace quire::control::guest_pages_test {
namespace {

constexpr std::uint32_t kPages = 12288;
constexpr std::uint32_t kMorePages = 12352;

class GuestPages : public testing::Test {
 protected:
  void TearDown() override {
    harness.run();
    harness.controller->verify();
    EXPECT_TRUE(harness.controller->idle());
  }
  // The context of `of`'s pages and those tokens.
  static std::int64_t back(Guest& guest, std::int64_t page_count, std::uint32_t token_count) {
    const std::vector<std::uint32_t> tokens = count_tokens(token_count);
    guest.put(kTokens, {reinterpret_cast<const char*>(tokens.data()), tokens.size() * 4});
    const std::int64_t bytes =
        guest.context("from-pages", {guest.queue, kPages, page_count, kTokens, token_count});
    return bytes < 0 ? bytes : guest.number_at(kBuffer);
  }

  Harness harness;
};

TEST_F(GuestPages, OfAContextGoThroughAnExportToAnotherProgramAndBack) {
  std::string expected;
  {
    Guest author(harness, TenantId{1});
    const std::int64_t context = author.new_context(43);
    ASSERT_EQ(author.context("pages", {context, 0, 3, kPages}), 3 * 8) << author.error();
    EXPECT_EQ(author.number_at(kBuffer + 20), (1 << 11) - 1);
    const std::int64_t name = author.put(kName, "prompt");
    ASSERT_EQ(author.page("export-kvpage", {author.queue, kPages, 3, name, 6, 0}), 0);
    author.append(context, 5, 100);
    expected = author.next(context);
  }
  Guest reader(harness, TenantId{1});
  const std::int64_t name = reader.put(kName, "prompt");
  EXPECT_EQ(reader.page("list-exports", {}), 8 + 16 + 6);
  EXPECT_EQ(reader.number_at(kBuffer + 8), 3);
  EXPECT_EQ(reader.number_at(kBuffer + 12), 43);
  ASSERT_EQ(reader.page("import-kvpage", {reader.queue, name, 6, 3, kPages}), 3 * 8);
  const std::int64_t context = back(reader, 3, 43);
  ASSERT_GT(context, 0) << reader.error();
  const std::uint64_t before = harness.controller->statistics().row_count;
  reader.append(context, 5, 100);
  EXPECT_EQ(reader.next(context), expected);
  // The page that the author filled since is found; its last token runs once more.
  EXPECT_EQ(harness.controller->statistics().row_count, before + 1);
  EXPECT_EQ(reader.page("unexport-kvpage", {name, 6}), 0);
  EXPECT_EQ(reader.page("unexport-kvpage", {name, 6}), minus(ErrorCode::NotFound));
}

TEST_F(GuestPages, CopiedIntoAPageOfItsOwnAreACopyAndNotFound) {
  Guest guest(harness, TenantId{1});
  const std::int64_t context = guest.new_context(16);
  ASSERT_EQ(guest.context("pages", {context, 0, 1, kMorePages}), 8);
  ASSERT_EQ(guest.call("allocate", "alloc-kvpage", {guest.queue, 1, kPages}), 1);
  ASSERT_EQ(guest.page("copy-kvpage", {guest.queue, guest.number_at(kMorePages),
                                       guest.number_at(kPages), 0, 0, 16}),
            0)
      << guest.error();
  const std::int64_t again = back(guest, 1, 16);
  ASSERT_GT(again, 0) << guest.error();
  guest.append(context, 3, 50);
  guest.append(again, 3, 50);
  EXPECT_EQ(guest.next(again), guest.next(context));
  EXPECT_EQ(guest.page("copy-kvpage", {guest.queue, guest.number_at(kPages),
                                       guest.number_at(kMorePages), 0, 0, 1}),
            minus(ErrorCode::PageCommitted));
}

TEST_F(GuestPages, HandlesThatFailedToComeAreGivenBackLikeOthers) {
  Guest guest(harness, TenantId{1});
  const std::int64_t name = guest.put(kName, "absent");
  EXPECT_EQ(guest.page("import-kvpage", {guest.queue, name, 6, 2, kPages}),
            minus(ErrorCode::NotFound));
  const std::int64_t context = guest.new_context(16);
  EXPECT_EQ(guest.context("pages", {context, 0, 2, kMorePages}), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(guest.call("allocate", "dealloc-kvpage", {guest.queue, kPages, 2}), 0);
  EXPECT_EQ(guest.call("future", "drop", {guest.number_at(kMorePages)}), 0);
  EXPECT_EQ(guest.call("allocate", "dealloc-kvpage", {guest.queue, kMorePages + 4, 1}), 0);
  EXPECT_EQ(guest.call("allocate", "dealloc-kvpage", {guest.queue, kPages, 1}),
            minus(ErrorCode::NotFound));
}

// A handle is of one instance: in another instance the number is not found.
TEST_F(GuestPages, ForeignHandlesAreNotFound) {
  Guest one(harness, TenantId{1});
  ASSERT_EQ(one.call("allocate", "alloc-kvpage", {one.queue, 8, kPages}), 8);
  const std::int32_t foreign = one.number_at(kPages + 28);
  Guest two(harness, TenantId{1});
  ASSERT_EQ(two.call("allocate", "alloc-kvpage", {two.queue, 1, kMorePages}), 1);
  const std::int32_t own = two.number_at(kMorePages);
  two.put(kPages, {reinterpret_cast<const char*>(&foreign), 4});
  const std::int64_t name = two.put(kName, "theft");
  EXPECT_EQ(two.page("copy-kvpage", {two.queue, foreign, own, 0, 0, 1}),
            minus(ErrorCode::NotFound));
  EXPECT_EQ(two.page("copy-kvpage", {two.queue, own, foreign, 0, 0, 1}),
            minus(ErrorCode::NotFound));
  EXPECT_EQ(two.page("export-kvpage", {two.queue, kPages, 1, name, 5, 0}),
            minus(ErrorCode::NotFound));
  EXPECT_EQ(back(two, 1, 1), minus(ErrorCode::NotFound));
}

}  // namespace
}  // namespace quire::control::guest_pages_test
