// What ControlPort::pending() says an instance has on its way: all of it, until it is done.
#include <gtest/gtest.h>

#include "control/page_guest.h"

namespace quire::control {
namespace {

Harness::Options options_of(store::SimulatedFileSystem& files) {
  Harness::Options options;
  options.device.page_count = 4;
  options.files = &files;
  return options;
}

class Pending : public testing::Test {
 protected:
  void SetUp() override { harness.run(); }
  FutureId send(CommandBody body, std::uint32_t bytes) {
    harness.next_argument_bytes = bytes;
    return guest.send(std::move(body));
  }
  void expect(std::uint32_t count, std::uint64_t bytes) {
    const PendingCommands pending = harness.controller->pending(guest.id);
    EXPECT_EQ(pending.count, count);
    EXPECT_EQ(pending.bytes, bytes);
  }

  store::SimulatedFileSystem files;
  Harness harness{options_of(files)};
  PageGuest guest{harness, TenantId{1}};
};

TEST_F(Pending, CountsWhatComesBehindACommandThatWaitsThoughAnotherIsAnswered) {
  expect(0, 0);
  send(AllocPages{guest.queue, harness.new_objects(4)}, 3);
  expect(0, 0);  // Done at once.
  const ObjectId context = harness.context(guest.id, guest.queue);
  send(ContextAppend{context, count_tokens(40)}, 160);
  const FutureId waits = send(ContextFlush{context}, 5);
  send(ContextAppend{context, count_tokens(7)}, 28);
  const FutureId embed = send(EmbedText{guest.queue, {harness.new_object()}, {1}, {0}}, 9);
  ASSERT_TRUE(harness.has(guest.id, embed)) << "no such embed: refused at once";
  expect(2, 5 + 28);
  harness.run();
  ASSERT_EQ(harness.error(guest.id, waits), ErrorCode::NoFreePage);
  expect(0, 0);
}

TEST_F(Pending, WhatNobodyWaitsForCountsUntilItIsDone) {
  const ObjectId context = harness.context(guest.id, guest.queue);
  send(ContextAppend{context, count_tokens(20)}, 80);
  const FutureId dropped = send(ContextFlush{context}, 6);
  send(DropFuture{dropped}, 1);
  expect(1, 6);
  harness.begin_step();
  expect(1, 6);
  harness.run();
  expect(0, 0);
}

TEST_F(Pending, CountsJobsOfTheDiskAndTakesOffReadsThatWereDropped) {
  for (std::size_t put = 0; put < StoreJobs::kOnDiskCountMax; ++put) {
    send(PutValue{.key = "key", .value = "value"}, 100);
  }
  const std::uint32_t there = StoreJobs::kOnDiskCountMax;
  const FutureId read = send(GetValue{.key = "key"}, 7);
  const FutureId put = send(PutValue{.key = "key", .value = "last"}, 50);
  expect(there + 2, 100 * there + 57);
  send(DropFuture{read}, 1);
  send(DropFuture{put}, 1);
  expect(there + 1, 100 * there + 50);
  harness.run();
  expect(0, 0);
}

TEST_F(Pending, IsNothingForAnInstanceThatHasEnded) {
  const ObjectId context = harness.context(guest.id, guest.queue);
  send(ContextAppend{context, count_tokens(20)}, 80);
  send(ContextFlush{context}, 6);
  send(PutValue{.key = "key", .value = "value"}, 100);
  expect(2, 106);
  harness.controller->end_instance(guest.id);
  expect(0, 0);
  harness.run();
}

}  // namespace
}  // namespace quire::control
