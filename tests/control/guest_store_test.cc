// Values of tenants by key: host calls on the real controller and a simulated disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "control/call_guest.h"
#include "control/controller/store_jobs.h"

namespace quire::control::guest_store_test {
namespace {

constexpr std::uint32_t kValue = kName + 512;
constexpr std::int64_t kAny = -1;

class GuestStore : public testing::Test {
 protected:
  void SetUp() override { start(true); }
  void start(bool has_disk) {
    harness.reset();
    Harness::Options options;
    if (has_disk) options.files = &files;
    harness = std::make_unique<Harness>(std::move(options));
    harness->wall_clock.set_unix_ms(1'000'000);
  }
  void TearDown() override {
    harness->run();
    harness->controller->verify();
    EXPECT_TRUE(harness->controller->idle());
  }

  static std::int64_t begin_put(Guest& guest, std::string_view key, std::string_view value,
                                std::int64_t expected = kAny) {
    return guest.call(
        "store", "put",
        {guest.put(kName, key), static_cast<std::int64_t>(key.size()), guest.put(kValue, value),
         static_cast<std::int64_t>(value.size()), expected});
  }
  static std::int64_t put(Guest& guest, std::string_view key, std::string_view value,
                          std::int64_t expected = kAny) {
    return guest.result_of(begin_put(guest, key, value, expected));
  }
  static std::int64_t get(Guest& guest, std::string_view key) {
    return guest.result_of(
        guest.call("store", "get", {guest.put(kName, key), static_cast<std::int64_t>(key.size())}));
  }
  static std::int64_t remove(Guest& guest, std::string_view key, std::int64_t expected = kAny) {
    return guest.result_of(
        guest.call("store", "delete",
                   {guest.put(kName, key), static_cast<std::int64_t>(key.size()), expected}));
  }
  static std::int64_t list(Guest& guest, std::string_view prefix, std::int64_t count) {
    return guest.result_of(guest.call(
        "store", "list-keys",
        {guest.put(kName, prefix), static_cast<std::int64_t>(prefix.size()), kName, 0, count}));
  }

  store::SimulatedFileSystem files;
  std::unique_ptr<Harness> harness;
};

TEST_F(GuestStore, WhatOneProgramPutAnotherOfItsTenantReadsAfterARestart) {
  {
    Guest author(*harness, TenantId{1});
    EXPECT_EQ(put(author, "key", "value"), 8);
    EXPECT_EQ(author.number_at(kBuffer), 1);  // The version.
  }
  harness->run();
  start(true);
  Guest reader(*harness, TenantId{1});
  EXPECT_EQ(get(reader, "key"), 8 + 5);
  EXPECT_EQ(list(reader, "k", 10), 8 + 16 + 3);
  Guest stranger(*harness, TenantId{2});
  EXPECT_EQ(get(stranger, "key"), minus(ErrorCode::NotFound));
  EXPECT_EQ(list(stranger, "", 10), 8);
  EXPECT_EQ(put(stranger, "key", "mine"), 8);
  EXPECT_EQ(get(reader, "key"), 8 + 5) << "and is not overwritten";
}

TEST_F(GuestStore, ChangesThatExpectAnotherVersionAreRefusedByTheDisk) {
  Guest guest(*harness, TenantId{1});
  EXPECT_EQ(put(guest, "key", "one", 0), 8);
  EXPECT_EQ(put(guest, "key", "two", 0), minus(ErrorCode::AlreadyExists));
  EXPECT_EQ(put(guest, "key", "two", 1), 8);
  EXPECT_EQ(remove(guest, "key", 1), minus(ErrorCode::AlreadyExists));
  EXPECT_EQ(remove(guest, "key", 2), 0);
  EXPECT_EQ(remove(guest, "key"), minus(ErrorCode::NotFound));
  EXPECT_EQ(get(guest, "key"), minus(ErrorCode::NotFound));
}

TEST_F(GuestStore, WrongArgumentsAreErrorsAtOnceWithFigures) {
  Guest guest(*harness, TenantId{1});
  EXPECT_EQ(begin_put(guest, "", "value"), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(begin_put(guest, std::string(256, 'k'), ""), minus(ErrorCode::TooLarge));
  EXPECT_EQ(guest.error(), "key: 256 bytes; 255 at most");
  EXPECT_EQ(guest.call("store", "put", {kName, 3, kValue, 65'537, -1}), minus(ErrorCode::TooLarge));
  EXPECT_EQ(begin_put(guest, "key", "value", -2), minus(ErrorCode::InvalidArgument));
  EXPECT_EQ(guest.call("store", "get", {65'530, 100}), minus(ErrorCode::OutOfRange));
  EXPECT_EQ(guest.call("store", "list-keys", {kName, 0, kName, 0, 0}),
            minus(ErrorCode::OutOfRange));
  EXPECT_EQ(guest.call("store", "list-keys", {kName, 0, kName, 0, 1001}),
            minus(ErrorCode::OutOfRange));
}

TEST_F(GuestStore, AServerWithoutAStoreSaysSo) {
  start(false);
  Guest guest(*harness, TenantId{1});
  EXPECT_EQ(put(guest, "key", "value"), minus(ErrorCode::NotSupported));
  EXPECT_EQ(guest.error(), "the store is off: this engine was started without one");
}

// Ten times what the disk has room for.
TEST_F(GuestStore, AFloodOfPutsTakesEffectInOrderAndDelaysOnlyItsOwnTenant) {
  Guest flood(*harness, TenantId{1});
  std::vector<std::int64_t> futures;
  for (int i = 0; i < 2'560; ++i) {
    futures.push_back(begin_put(flood, "key", std::to_string(i)));
    ASSERT_GT(futures.back(), 0) << flood.error();
  }
  Guest other(*harness, TenantId{2});
  const std::int64_t theirs = begin_put(other, "key", "theirs");
  // The other tenant's turn comes after the jobs that the disk has, and one more.
  for (std::size_t job = 0; job < StoreJobs::kOnDiskCountMax + 2; ++job) harness->disk->run_one();
  harness->controller->poll();
  for (std::size_t job = 0; job < StoreJobs::kOnDiskCountMax + 2; ++job) harness->disk->run_one();
  harness->controller->poll();
  EXPECT_TRUE(std::any_of(harness->answers.begin(), harness->answers.end(), [](const auto& each) {
    return each.first.first == InstanceId{2};
  })) << "the other tenant waits for the flood";
  EXPECT_GT(theirs, 0);
  flood.settle();
  for (const std::int64_t future : futures) {
    EXPECT_EQ(flood.call("future", "take", {future, kBuffer, 64}), 8);
  }
  EXPECT_EQ(get(flood, "key"), 8 + 4);
  EXPECT_EQ(flood.number_at(kBuffer + 8), 0x39353532) << "the last one, 2559";
}

TEST_F(GuestStore, WhatAnEndedProgramLeftWaitingIsForgottenAndADroppedFutureIsNot) {
  {
    Guest guest(*harness, TenantId{1});
    EXPECT_EQ(guest.call("future", "drop", {begin_put(guest, "dropped", "value")}), 0);
    for (int i = 0; i < 200; ++i) {
      ASSERT_GT(begin_put(guest, "many/" + std::to_string(100 + i), "value"), 0);
    }
  }
  harness->run();
  EXPECT_TRUE(harness->controller->idle());
  Guest reader(*harness, TenantId{1});
  EXPECT_EQ(get(reader, "dropped"), 8 + 5);
  ASSERT_GT(list(reader, "many/", 1000), 8);
  EXPECT_EQ(reader.number_at(kBuffer), static_cast<int>(StoreJobs::kOnDiskCountMax) - 1);
}

TEST_F(GuestStore, ADroppedReadThatWaitsIsNotDoneAndADroppedPutCountsUntilItIs) {
  Guest guest(*harness, TenantId{1});
  for (std::size_t i = 0; i < StoreJobs::kOnDiskCountMax; ++i) begin_put(guest, "key", "value");
  const auto begin_get = [&] { return guest.call("store", "get", {guest.put(kName, "key"), 3}); };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(guest.call("future", "drop", {begin_get()}), 0);
  EXPECT_EQ(guest.call("future", "drop", {begin_put(guest, "key", "last")}), 0);
  std::size_t job_count = 0;
  do {
    harness->controller->poll();
    while (harness->disk->run_one()) ++job_count;
  } while (harness->controller->poll());
  EXPECT_EQ(job_count, StoreJobs::kOnDiskCountMax + 1) << "the puts alone";
  EXPECT_EQ(get(guest, "key"), 8 + 4);
}

TEST_F(GuestStore, AFailingDiskIsTheCallersErrorAndTheNextCallWorks) {
  Guest guest(*harness, TenantId{1});
  EXPECT_EQ(put(guest, "key", "one"), 8);
  files.inject = [](const store::SimulatedCall&) {
    return store::SimulatedFault{.error_number = 5};
  };
  EXPECT_EQ(put(guest, "key", "two"), minus(ErrorCode::Io));
  files.inject = nullptr;
  EXPECT_EQ(get(guest, "key"), 8 + 3);
  EXPECT_EQ(put(guest, "key", "three"), 8);
}

}  // namespace
}  // namespace quire::control::guest_store_test
