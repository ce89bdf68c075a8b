// Host calls on the real controller, a simulated device and a simulated disk: what a guest is
// answered when it edits contexts, keeps them under a name and brings them back.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "control/call_guest.h"

namespace quire::control {
namespace {

class GuestSnapshots : public testing::Test {
 protected:
  void SetUp() override {
    Harness::Options options;
    options.files = &files;
    harness = std::make_unique<Harness>(std::move(options));
    harness->wall_clock.set_unix_ms(1'000'000);
    page_count = harness->free_page_count();
  }
  void TearDown() override {
    harness->run();
    harness->controller->verify();
    EXPECT_TRUE(harness->controller->idle());
    EXPECT_EQ(harness->free_page_count(), page_count);
  }

  store::SimulatedFileSystem files;
  std::unique_ptr<Harness> harness;
  std::uint32_t page_count = 0;
};

TEST_F(GuestSnapshots, WhatIsOpenedGoesOnAsWhatWasSavedInAnotherInstanceToo) {
  std::string expected;
  {
    Guest guest(*harness, TenantId{1});
    const std::int64_t context = guest.new_context(43);
    guest.append(context, 5, 100);
    ASSERT_EQ(guest.save(context, "a name"), 0) << guest.error();
    expected = guest.next(context);
  }
  Guest guest(*harness, TenantId{1});
  const std::int64_t opened = guest.open("a name");
  ASSERT_GT(opened, 0) << guest.error();
  EXPECT_EQ(guest.number_at(kBuffer + 4), 5);  // Still queued.
  EXPECT_EQ(guest.call("context", "seq-len", {opened}), 43);
  EXPECT_EQ(guest.next(opened), expected);
  EXPECT_EQ(guest.call("context", "seq-len", {opened}), 48);
}

TEST_F(GuestSnapshots, AreOverwrittenOnlyWhenAskedListedTakenAndDeleted) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  EXPECT_EQ(guest.save(context, "one"), 0);
  EXPECT_EQ(guest.save(context, "one"), minus(ErrorCode::AlreadyExists));
  EXPECT_EQ(guest.context("rewind", {context, 16}), 20);
  EXPECT_EQ(guest.save(context, "one", kOverwrite), 0);
  EXPECT_EQ(guest.save(context, "two"), 0);
  EXPECT_EQ(guest.context("list", {}), 16 + 2 * (36 + 3));
  EXPECT_EQ(guest.number_at(kBuffer), 2);
  EXPECT_EQ(guest.number_at(kBuffer + 16 + 16), 16);  // Tokens of the first.
  EXPECT_GT(guest.open("one", "take"), 0);
  EXPECT_EQ(guest.open("one", "take"), minus(ErrorCode::NotFound));
  EXPECT_EQ(guest.remove("two"), 0);
  EXPECT_EQ(guest.remove("two"), minus(ErrorCode::NotFound));
  EXPECT_EQ(guest.context("list", {}), 16);
}

TEST_F(GuestSnapshots, AreForgottenWhenTheirTimeIsOver) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  ASSERT_EQ(guest.save(context, "brief", 0, 60), 0);
  harness->wall_clock.set_unix_ms(1'000'000 + 59'999);
  EXPECT_GT(guest.open("brief"), 0);
  harness->wall_clock.set_unix_ms(1'000'000 + 60'000);
  EXPECT_EQ(guest.open("brief"), minus(ErrorCode::NotFound));
}

TEST_F(GuestSnapshots, AreOfTheirTenantAlone) {
  Guest one(*harness, TenantId{1});
  ASSERT_EQ(one.save(one.new_context(20), "mine"), 0);
  Guest other(*harness, TenantId{2});
  EXPECT_EQ(other.open("mine"), minus(ErrorCode::NotFound));
  EXPECT_EQ(other.remove("mine"), minus(ErrorCode::NotFound));
  EXPECT_EQ(other.context("list", {}), 16);
  EXPECT_GT(one.open("mine"), 0);
}

TEST_F(GuestSnapshots, BadNamesAreInvalidArgumentsAndTheNextCallWorks) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t context = guest.new_context(20);
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"), std::string("a/b"),
        std::string("a\\b"), std::string("a\0b", 3), std::string("a\nb"), std::string("\xff"),
        std::string("\xc3\x28"), std::string("\xed\xa0\x80"), std::string(256, 'n'),
        std::string(4096, 'n')}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(guest.save(context, name), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.open(name), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.open(name, "take"), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.remove(name), minus(ErrorCode::InvalidArgument));
  }
  EXPECT_EQ(guest.context("list", {}), 16);
  for (const std::string& name :
       {std::string("..."), std::string("\xc3\xbc ber"), std::string(255, 'n')}) {
    EXPECT_EQ(guest.save(context, name), 0) << guest.error();
    EXPECT_GT(guest.open(name), 0) << guest.error();
  }
}

// Else the limit would be reached by contexts that no one can name.
TEST_F(GuestSnapshots, AnOpenThatFailedOrWasDroppedLeavesNoContextInTheControlLayer) {
  Guest guest(*harness, TenantId{1}, {.context_count_max = 2});
  const std::int64_t context = guest.new_context(40);
  ASSERT_EQ(guest.save(context, "name"), 0);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(guest.open("no such name"), minus(ErrorCode::NotFound));
    EXPECT_EQ(guest.open("bad/name"), minus(ErrorCode::InvalidArgument));
    EXPECT_EQ(guest.call("future", "drop", {guest.begin_open("name")}), 0);
    guest.settle();
  }
  EXPECT_GT(guest.open("name"), 0) << guest.error();
  EXPECT_EQ(guest.open("name"), minus(ErrorCode::QuotaExceeded));
}

TEST_F(GuestSnapshots, AContextSplicedFromItselfOrAnotherComputesAsIfAppended) {
  Guest guest(*harness, TenantId{1});
  const std::int64_t source = guest.new_context(40);
  const std::int64_t spliced = guest.call("context", "create", {guest.queue});
  EXPECT_EQ(guest.context("splice", {spliced, source, 0, 40}), 20);
  EXPECT_EQ(guest.next(spliced), guest.next(source));
  EXPECT_EQ(guest.context("splice", {source, source, 0, 40}), 20);
  EXPECT_EQ(guest.context("flush", {source}), 20);
  EXPECT_EQ(guest.call("context", "seq-len", {source}), 80);
  EXPECT_EQ(guest.context("splice", {source, spliced, 0, 41}), minus(ErrorCode::OutOfRange));
}

}  // namespace
}  // namespace quire::control
