// Pages in host memory and on disk: found instead of computed, swapped instead of refused.
#include <gtest/gtest.h>

#include <cerrno>

#include "control/harness.h"

namespace quire::control {
namespace {

constexpr std::uint64_t kPageBytes = 24 * 16;  // Of the simulated device.

enum class Tier : std::uint8_t { None, Host, Disk };

Harness::Options options_of(std::uint32_t page_count, Tier tier, store::SimulatedFileSystem& files,
                            std::uint32_t tier_pages = 100) {
  Harness::Options options;
  options.device.page_count = page_count;
  options.device.row_count_max = 256;
  options.files = &files;
  options.controller.tier_choice = TierChoice::Restore;
  if (tier == Tier::Host) options.controller.host_tier_bytes = tier_pages * kPageBytes;
  if (tier == Tier::Disk) options.controller.disk_tier_page_count = tier_pages;
  return options;
}

struct Program {
  InstanceId guest{};
  ObjectId queue{};
  ObjectId context{};
  std::vector<ObjectId> output;
};

Program start(Harness& harness, TenantId tenant = TenantId{1}) {
  Program program;
  program.guest = harness.start(tenant);
  program.queue = harness.queue(program.guest);
  program.context = harness.context(program.guest, program.queue);
  program.output = harness.embeds(program.guest, program.queue, 1);
  return program;
}

void append(Harness& harness, const Program& program, const std::vector<std::uint32_t>& tokens) {
  harness.send(program.guest, ContextAppend{program.context, tokens}, false);
}

FutureId ask(Harness& harness, const Program& program) {
  harness.send(program.guest, ContextForward{program.context, program.output}, false);
  return harness.send(program.guest, GetNextDist{program.queue, program.output[0], 8});
}

NextDistribution next(Harness& harness, const Program& program) {
  const FutureId future = ask(harness, program);
  // A context counts as idle when a few batches went without it.
  for (int turn = 0; turn < 10 && !harness.has(program.guest, future); ++turn) harness.run();
  return harness.get<NextDistribution>(program.guest, future);
}

// One that comes, computes so many tokens that nobody else wants, and goes.
void come_and_go(Harness& harness, std::uint32_t token_count, std::uint32_t seed) {
  const Program other = start(harness);
  append(harness, other, count_tokens(token_count, seed));
  next(harness, other);
  harness.controller->end_instance(other.guest);
  harness.run();
}

// What a prompt of `count` tokens gives in a pool with room.
NextDistribution alone(std::uint32_t count) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(256, Tier::None, files));
  const Program program = start(harness);
  append(harness, program, count_tokens(count));
  return next(harness, program);
}

class OnTier : public testing::TestWithParam<Tier> {};
INSTANTIATE_TEST_SUITE_P(Tiers, OnTier, testing::Values(Tier::Host, Tier::Disk));

TEST_P(OnTier, ASecondRequestFindsItsPrefixThereAndComputesOnlyTheRest) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(8, GetParam(), files));
  come_and_go(harness, 96, 1);   // 6 pages, which then go cold,
  come_and_go(harness, 120, 3);  // and are evicted for these 8.
  ASSERT_GE(harness.controller->tier_statistics().kept_page_count, 6u);
  const std::uint64_t before = harness.controller->statistics().row_count;
  const Program second = start(harness);
  append(harness, second, count_tokens(100));
  const NextDistribution given = next(harness, second);
  EXPECT_EQ(given.tokens, alone(100).tokens);
  EXPECT_EQ(given.probabilities, alone(100).probabilities);
  EXPECT_EQ(harness.controller->statistics().row_count - before, 4u);
  EXPECT_EQ(harness.controller->statistics(second.guest).found_token_count, 96u);
  EXPECT_GE(harness.controller->tier_statistics().restored_page_count, 6u);
}

TEST_P(OnTier, NoTenantFindsWhatAnotherKept) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(8, GetParam(), files));
  come_and_go(harness, 96, 1);
  come_and_go(harness, 120, 3);
  const std::uint64_t before = harness.controller->statistics().row_count;
  const Program stranger = start(harness, TenantId{2});
  append(harness, stranger, count_tokens(100));
  next(harness, stranger);
  EXPECT_EQ(harness.controller->statistics().row_count - before, 100u);
}

TEST_P(OnTier, SixteenThatWantTheSameAtOnceBringItBackOnce) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(32, GetParam(), files));
  come_and_go(harness, 96, 1);
  come_and_go(harness, 500, 3);
  const std::uint64_t restored = harness.controller->tier_statistics().restored_page_count;
  const std::uint64_t before = harness.controller->statistics().row_count;
  std::vector<Program> programs;
  std::vector<FutureId> futures;
  for (int each = 0; each < 16; ++each) {
    programs.push_back(start(harness));
    append(harness, programs.back(), count_tokens(97));
    futures.push_back(ask(harness, programs.back()));
  }
  harness.run();
  const NextDistribution wanted = alone(97);
  for (int each = 0; each < 16; ++each) {
    EXPECT_EQ(harness.get<NextDistribution>(programs[each].guest, futures[each]).tokens,
              wanted.tokens);
  }
  EXPECT_EQ(harness.controller->tier_statistics().restored_page_count - restored, 6u);
  EXPECT_EQ(harness.controller->statistics().row_count - before, 16u);
}

// An attention sink with a window: its tokens alone do not give its bits.
NextDistribution windowed(Harness& harness, std::uint32_t disturbance, std::uint64_t* swaps) {
  const Program program = start(harness);
  append(harness, program, count_tokens(100));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.send(program.guest, ContextDropRange{program.context, 20, 70}, false);
  append(harness, program, count_tokens(9, 5));
  next(harness, program);
  if (disturbance > 0) come_and_go(harness, disturbance, 3);
  append(harness, program, count_tokens(20, 11));
  const NextDistribution given = next(harness, program);
  if (swaps != nullptr) *swaps = harness.controller->tier_statistics().swap_count;
  return given;
}

NextDistribution windowed_alone() {
  store::SimulatedFileSystem files;
  Harness harness(options_of(256, Tier::None, files));
  return windowed(harness, 0, nullptr);
}

TEST_P(OnTier, AContextThatDroppedSlotsIsSwappedAndGoesOnWithTheSameBits) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(9, GetParam(), files));
  std::uint64_t swaps = 0;
  const NextDistribution given = windowed(harness, 130, &swaps);
  EXPECT_EQ(swaps, 1u);
  EXPECT_EQ(given.tokens, windowed_alone().tokens);
  EXPECT_EQ(given.probabilities, windowed_alone().probabilities);
}

TEST_P(OnTier, AForkOfASwappedContextIsSwappedTooAndBothGoOn) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(16, GetParam(), files));
  const Program program = start(harness);
  append(harness, program, count_tokens(100));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.send(program.guest, ContextDropRange{program.context, 20, 70}, false);
  append(harness, program, count_tokens(9, 5));
  next(harness, program);
  come_and_go(harness, 250, 3);
  ASSERT_EQ(harness.controller->tier_statistics().swap_count, 1u);
  Program child = program;
  child.context = harness.new_object();
  const FutureId forked = harness.send(program.guest, ContextFork{program.context, child.context});
  harness.run();
  EXPECT_FALSE(harness.error(program.guest, forked).has_value());
  for (const Program& each : {program, child}) {
    append(harness, each, count_tokens(20, 11));
    EXPECT_EQ(next(harness, each).tokens, windowed_alone().tokens);
  }
}

TEST(Tiers, WithoutOneAContextThatDroppedSlotsStaysAndTheOtherIsToldTheNumbers) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(9, Tier::None, files));
  const Program program = start(harness);
  append(harness, program, count_tokens(100));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.send(program.guest, ContextDropRange{program.context, 20, 70}, false);
  harness.run();
  const Program other = start(harness);
  append(harness, other, count_tokens(130, 3));
  const FutureId refused = harness.send(other.guest, ContextFlush{other.context});
  harness.run();
  harness.clock.advance_ns(11'000'000'000);
  harness.run();
  EXPECT_EQ(harness.error(other.guest, refused), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.controller->tier_statistics().swap_count, 0u);
}

TEST(Tiers, WhereTheyHaveNoRoomForItNeither) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(9, Tier::Host, files, 3));  // It needs 4.
  const Program program = start(harness);
  append(harness, program, count_tokens(100));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.send(program.guest, ContextDropRange{program.context, 32, 64}, false);
  harness.run();
  const Program other = start(harness);
  append(harness, other, count_tokens(140, 3));
  const FutureId refused = harness.send(other.guest, ContextFlush{other.context});
  harness.run();
  harness.clock.advance_ns(11'000'000'000);
  harness.run();
  EXPECT_EQ(harness.error(other.guest, refused), ErrorCode::NoFreePage);
  EXPECT_EQ(harness.controller->tier_statistics().swap_count, 0u);
}

TEST(Tiers, HostMemoryHoldsWhatItMayAndTheDiskTheRest) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(8, Tier::Host, files, 3);
  options.controller.disk_tier_page_count = 50;
  Harness harness(options);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) come_and_go(harness, 112, seed);
  const TierStatistics tiers = harness.controller->tier_statistics();
  EXPECT_EQ(tiers.host_page_count, 3u);
  EXPECT_GE(tiers.disk_page_count, 20u);
  EXPECT_EQ(tiers.damaged_page_count, 0u);
  const std::uint64_t before = harness.controller->statistics().row_count;
  const Program again = start(harness);
  append(harness, again, count_tokens(113, 2));
  next(harness, again);
  EXPECT_EQ(harness.controller->statistics().row_count - before, 1u);
}

TEST(Tiers, APageThatTheDeviceLosesOnItsWayBackIsComputed) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(8, Tier::Host, files);
  int failures = 2;
  options.device.fail_load = [&](const inference::Batch&, std::size_t) -> std::optional<Error> {
    if (failures-- <= 0) return std::nullopt;
    return Error(ErrorCode::Io, "lost");
  };
  Harness harness(options);
  come_and_go(harness, 96, 1);
  come_and_go(harness, 120, 3);
  const Program second = start(harness);
  append(harness, second, count_tokens(100));
  EXPECT_EQ(next(harness, second).tokens, alone(100).tokens);
  EXPECT_EQ(harness.controller->tier_statistics().damaged_page_count, 2u);
}

TEST(Tiers, PagesOfADiskThatFailsAreComputed) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(8, Tier::Disk, files));
  come_and_go(harness, 96, 1);
  come_and_go(harness, 120, 3);
  ASSERT_GE(harness.controller->tier_statistics().disk_page_count, 6u);
  files.inject = [](const store::SimulatedCall& call) {
    return store::SimulatedFault{.error_number = call.kind == store::CallKind::Read ? EIO : 0};
  };
  const Program second = start(harness);
  append(harness, second, count_tokens(100));
  EXPECT_EQ(next(harness, second).tokens, alone(100).tokens);
  EXPECT_GT(harness.controller->tier_statistics().damaged_page_count, 0u);
}

TEST(Tiers, ASwappedContextWhosePagesAreLostSaysSoAndNobodyElseNotices) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(9, Tier::Host, files);
  bool fails = true;
  options.device.fail_save = [&](const inference::Batch&, std::size_t) -> std::optional<Error> {
    if (!fails) return std::nullopt;
    return Error(ErrorCode::Io, "lost");
  };
  Harness harness(options);
  const Program program = start(harness);
  append(harness, program, count_tokens(100));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.send(program.guest, ContextDropRange{program.context, 20, 70}, false);
  harness.run();
  come_and_go(harness, 130, 3);
  ASSERT_EQ(harness.controller->tier_statistics().swap_count, 1u);
  fails = false;
  const FutureId lost = harness.send(program.guest, ContextFlush{program.context});
  harness.run();
  EXPECT_EQ(harness.error(program.guest, lost), ErrorCode::Io);
  EXPECT_NE(harness.message(program.guest, lost).find("lost"), std::string::npos);
  const Program other = start(harness);
  append(harness, other, count_tokens(100));
  EXPECT_EQ(next(harness, other).tokens, alone(100).tokens);
  harness.controller->end_instance(program.guest);
  harness.controller->end_instance(other.guest);
  harness.run();
  EXPECT_EQ(harness.free_page_count(), 9u);
}

TEST(Tiers, AfterARestartTheDisksPagesAreComputedAgain) {
  store::SimulatedFileSystem files;
  {
    Harness harness(options_of(8, Tier::Disk, files));
    come_and_go(harness, 96, 1);
    come_and_go(harness, 120, 3);
    ASSERT_GE(harness.controller->tier_statistics().disk_page_count, 6u);
  }
  Harness harness(options_of(8, Tier::Disk, files));
  EXPECT_EQ(harness.controller->tier_statistics().disk_page_count, 0u);
  const Program again = start(harness);
  append(harness, again, count_tokens(100));
  EXPECT_EQ(next(harness, again).tokens, alone(100).tokens);
  EXPECT_EQ(harness.controller->statistics().row_count, 100u);
}

TEST(Tiers, WhatAProgramIsDoneWithIsNotKept) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(8, Tier::Host, files));
  const Program done = start(harness);
  append(harness, done, count_tokens(96));
  next(harness, done);
  harness.send(done.guest, ContextHint{done.context, ContextHintKind::Done, 0}, false);
  harness.run();
  harness.controller->end_instance(done.guest);
  come_and_go(harness, 112, 3);
  EXPECT_EQ(harness.controller->tier_statistics().kept_page_count, 0u);
}

TEST(Tiers, WhoSaysThatItWillResumeFindsItsPagesReadFromDisk) {
  const auto batches_until_back = [](bool says_so) {
    store::SimulatedFileSystem files;
    Harness harness(options_of(8, Tier::Disk, files));
    const Program idle = start(harness);
    append(harness, idle, count_tokens(96));
    next(harness, idle);
    come_and_go(harness, 128, 3);
    EXPECT_GT(harness.controller->statistics().suspension_count, 0u);
    if (says_so) {
      harness.send(idle.guest, ContextHint{idle.context, ContextHintKind::WillResume, 0}, false);
    }
    harness.run();
    append(harness, idle, count_tokens(1));
    const FutureId future = ask(harness, idle);
    int steps = 0;
    for (; !harness.has(idle.guest, future) && steps < 100; ++steps) harness.step();
    EXPECT_TRUE(harness.has(idle.guest, future));
    return steps;
  };
  EXPECT_LT(batches_until_back(true), batches_until_back(false));
}

TEST(Tiers, TheirFiguresAreMeasured) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(8, Tier::Host, files));
  come_and_go(harness, 96, 1);
  come_and_go(harness, 120, 3);
  const Program second = start(harness);
  append(harness, second, count_tokens(100));
  next(harness, second);
  const TierStatistics tiers = harness.controller->tier_statistics();
  EXPECT_GT(tiers.compute_ns_per_token, 0.0);
  EXPECT_GT(tiers.load_ns_per_page, 0.0);
}

}  // namespace
}  // namespace quire::control
