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
  options.controller.costs.choice = TierChoice::Restore;
  if (tier == Tier::Host) options.controller.tiers.host_bytes_max = tier_pages * kPageBytes;
  if (tier == Tier::Disk) options.controller.tiers.disk_page_count_max = tier_pages;
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
  harness.run_until(program.guest, future);
  return harness.get<NextDistribution>(program.guest, future);
}

// A program that comes, computes so many tokens that no other program wants, and goes.
void come_and_go(Harness& harness, std::uint32_t token_count, std::uint32_t seed) {
  const Program other = start(harness);
  append(harness, other, count_tokens(token_count, seed));
  next(harness, other);
  harness.controller->end_instance(other.guest);
  harness.run();
}

// The distribution after a prompt of `count` tokens in a pool with room.
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

// A program whose view has a range for every second slot: more than the header of a page on disk
// has room for.
Program with_a_wide_view(Harness& harness, TenantId tenant) {
  const Program program = start(harness, tenant);
  append(harness, program, count_tokens(1000, 200));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.run();
  for (std::uint32_t slot = 0; slot < 940; slot += 2) {
    harness.send(program.guest, ContextDropRange{program.context, slot, slot + 1}, false);
  }
  append(harness, program, count_tokens(40, 7));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.run();
  return program;
}

TEST(Tiers, APageWhoseViewIsTooLongForTheDiskCostsNobodyElseHisPages) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(96, Tier::Disk, files));
  const Program wide = with_a_wide_view(harness, TenantId{2});
  const Program program = start(harness);
  append(harness, program, count_tokens(100));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.send(program.guest, ContextDropRange{program.context, 20, 70}, false);
  append(harness, program, count_tokens(9, 5));
  next(harness, program);
  for (std::uint32_t seed = 30; seed < 33; ++seed) come_and_go(harness, 8, seed);
  const Program other = start(harness);
  append(harness, other, count_tokens(94 * 16, 3));
  const FutureId served = ask(harness, other);
  for (int turn = 0; turn < 10; ++turn) harness.run();
  harness.controller->end_instance(wide.guest);  // What is not swapped makes room now.
  for (int turn = 0; turn < 10; ++turn) harness.run();
  ASSERT_TRUE(harness.has(other.guest, served));
  EXPECT_FALSE(harness.error(other.guest, served).has_value());
  EXPECT_GE(harness.controller->tier_statistics().swap_count, 1u);
  append(harness, program, count_tokens(20, 11));
  EXPECT_EQ(next(harness, program).tokens, windowed_alone().tokens);
}

TEST(Tiers, AContextThatTheDiskCannotHoldIsNotSwappedToIt) {
  const auto disturbed = [](std::uint32_t page_count, std::uint32_t disturbance) {
    store::SimulatedFileSystem files;
    Harness harness(options_of(page_count, Tier::Disk, files));
    const Program wide = with_a_wide_view(harness, TenantId{2});
    const Program other = start(harness);
    append(harness, other, count_tokens(disturbance * 16, 3));
    const FutureId refused = harness.send(other.guest, ContextFlush{other.context});
    harness.run();
    harness.clock.advance_ns(11'000'000'000);
    harness.run();
    EXPECT_EQ(harness.error(other.guest, refused).has_value(), page_count < 256);
    append(harness, wide, count_tokens(20, 11));
    return next(harness, wide);
  };
  EXPECT_EQ(disturbed(96, 90).tokens, disturbed(256, 90).tokens);
}

TEST(Tiers, WhatTheDiskReadIsThereWhenItsContextIsLoadedThoughOthersLeave) {
  store::SimulatedFileSystem files;
  // Twice as many pages on disk as the context has, of which its tenant may pin half; and as many
  // on the way: who leaves while they are there finds no place.
  Harness::Options options = options_of(9, Tier::Disk, files, 8);
  options.controller.tiers.staged_bytes_max = 4 * kPageBytes;
  Harness harness(options);
  std::uint64_t swaps = 0;
  EXPECT_EQ(windowed(harness, 130, &swaps).tokens, windowed_alone().tokens);
  EXPECT_EQ(swaps, 1u);
  EXPECT_EQ(harness.controller->tier_statistics().damaged_page_count, 0u);
}

// All of its six full pages are on disk from earlier, but not at once in memory on the way.
NextDistribution longer_than_the_way(Harness& harness, bool is_disturbed) {
  // Four of the six leave with the first who needs their places, the others with the second.
  for (std::uint32_t seed = 3; is_disturbed && seed < 5; ++seed) {
    come_and_go(harness, 96, 1);
    come_and_go(harness, 150, seed);
  }
  const Program program = start(harness);
  append(harness, program, count_tokens(100));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.send(program.guest, ContextDropRange{program.context, 20, 30}, false);
  append(harness, program, count_tokens(9, 5));
  next(harness, program);
  if (is_disturbed) come_and_go(harness, 140, 17);
  append(harness, program, count_tokens(20, 11));
  return next(harness, program);
}

TEST(Tiers, AContextWithMorePagesThanTheWayHoldsComesBackInParts) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(10, Tier::Disk, files);
  options.controller.tiers.staged_bytes_max = 4 * kPageBytes;
  Harness harness(options);
  const NextDistribution given = longer_than_the_way(harness, true);
  EXPECT_EQ(harness.controller->tier_statistics().swap_count, 1u);
  EXPECT_EQ(harness.controller->tier_statistics().damaged_page_count, 0u);
  store::SimulatedFileSystem none;
  Harness roomy(options_of(256, Tier::None, none));
  EXPECT_EQ(given.tokens, longer_than_the_way(roomy, false).tokens);
}

// A pool of ten, and two pages at once in memory on the way.
Harness::Options narrow_way(store::SimulatedFileSystem& files) {
  Harness::Options options = options_of(10, Tier::Disk, files);
  options.controller.tiers.staged_bytes_max = 2 * kPageBytes;
  return options;
}

// A program whose context has given way, its full pages on disk from earlier.
Program swapped_out(Harness& harness) {
  for (std::uint32_t seed = 3; seed < 5; ++seed) {
    come_and_go(harness, 48, 1);
    come_and_go(harness, 150, seed);
  }
  const Program program = start(harness);
  append(harness, program, count_tokens(60));
  harness.send(program.guest, ContextFlush{program.context}, false);
  harness.send(program.guest, ContextDropRange{program.context, 20, 30}, false);
  next(harness, program);
  come_and_go(harness, 150, 17);
  EXPECT_EQ(harness.controller->tier_statistics().swap_count, 1u);
  return program;
}

TEST(Tiers, AnInstanceThatEndsWhileItsContextComesBackLeavesNothing) {
  store::SimulatedFileSystem files;
  for (int steps = 0; steps < 12; ++steps) {
    SCOPED_TRACE(steps);
    Harness harness(narrow_way(files));
    const Program program = swapped_out(harness);
    ASSERT_FALSE(HasFailure());
    append(harness, program, count_tokens(20, 11));
    ask(harness, program);
    for (int step = 0; step < steps; ++step) harness.step();
    harness.controller->end_instance(program.guest);
    harness.run();
    EXPECT_EQ(harness.free_page_count(), 10u);
    EXPECT_TRUE(harness.controller->idle());
  }
}

TEST(Tiers, WhoWaitsForPagesGetsThoseOfAnInstanceThatEndsWhileItsContextComesBack) {
  store::SimulatedFileSystem files;
  for (int steps = 0; steps < 12; ++steps) {
    SCOPED_TRACE(steps);
    Harness harness(narrow_way(files));
    const Program program = swapped_out(harness);
    ASSERT_FALSE(HasFailure());
    append(harness, program, count_tokens(80, 11));
    ask(harness, program);
    const InstanceId other = harness.start(TenantId{2});
    const FutureId pages =
        harness.send(other, AllocPages{harness.queue(other), harness.new_objects(10)});
    for (int step = 0; step < steps; ++step) harness.step();
    harness.disk->run_one();
    harness.controller->poll();
    harness.controller->end_instance(program.guest);
    harness.run_until(other, pages);
    ASSERT_TRUE(harness.has(other, pages));
    EXPECT_FALSE(harness.error(other, pages)) << harness.message(other, pages);
  }
}

TEST(Tiers, NoBatchWaitsForMorePagesThanItsShare) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(256, Tier::Host, files, 1000);
  std::size_t load_count_max = 0;
  std::size_t save_count_max = 0;
  options.device.duration_ns = [&](const inference::Batch& batch) -> std::uint64_t {
    load_count_max = std::max(load_count_max, batch.loads.size());
    save_count_max = std::max(save_count_max, batch.saves.size());
    return 1'000;
  };
  Harness harness(options);
  std::vector<Program> programs;
  for (std::uint32_t each = 0; each < 5; ++each) {  // 40 pages and a part of one, each.
    programs.push_back(start(harness));
    append(harness, programs.back(), count_tokens(650, 1 + each));
    harness.send(programs.back().guest, ContextFlush{programs.back().context}, false);
    harness.send(programs.back().guest, ContextDropRange{programs.back().context, 20, 30}, false);
    harness.run();
  }
  const Program other = start(harness);
  append(harness, other, count_tokens(250 * 16, 90));
  next(harness, other);
  harness.send(other.guest, ContextHint{other.context, ContextHintKind::Done, 0}, false);
  harness.run();
  harness.controller->end_instance(other.guest);  // It leaves nothing that a tier would keep.
  EXPECT_EQ(harness.controller->tier_statistics().swap_count, 5u);
  EXPECT_GE(save_count_max, 64u);
  EXPECT_LE(save_count_max, 64u + 41u);
  load_count_max = 0;
  std::vector<FutureId> futures;
  for (const Program& each : programs) {
    append(harness, each, count_tokens(1));
    futures.push_back(ask(harness, each));
  }
  for (int turn = 0; turn < 10; ++turn) harness.run();
  for (std::size_t each = 0; each < programs.size(); ++each) {
    ASSERT_TRUE(harness.has(programs[each].guest, futures[each]));
    EXPECT_FALSE(harness.error(programs[each].guest, futures[each]).has_value());
  }
  EXPECT_EQ(load_count_max, 64u);
}

TEST(Tiers, HostMemoryHoldsWhatItMayAndTheDiskTheRest) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(8, Tier::Host, files, 3);
  options.controller.tiers.disk_page_count_max = 50;
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

// A program whose pages go to a disk with the faults of `inject` meanwhile, and with none after
// that.
struct SwappedUnderFaults {
  explicit SwappedUnderFaults(store::SimulatedFileSystem& files)
      : harness(options_of(9, Tier::Disk, files)), program(start(harness)) {
    append(harness, program, count_tokens(100));
    harness.send(program.guest, ContextFlush{program.context}, false);
    harness.send(program.guest, ContextDropRange{program.context, 20, 70}, false);
    append(harness, program, count_tokens(9, 5));
    next(harness, program);
  }
  NextDistribution go_on() {
    append(harness, program, count_tokens(20, 11));
    return next(harness, program);
  }
  Harness harness;
  Program program;
};

std::function<store::SimulatedFault(const store::SimulatedCall&)> failing(store::CallKind kind,
                                                                          int error_number) {
  return [=](const store::SimulatedCall& call) {
    const bool is_page_file = call.path.find("/pages-") != std::string::npos;
    return store::SimulatedFault{.error_number =
                                     call.kind == kind && is_page_file ? error_number : 0};
  };
}

// One byte of the keys and values in every slot.
void damage_page_files(store::SimulatedFileSystem& files) {
  constexpr std::uint64_t kBlock =
      4096;  // Headers of the file and of a slot; a slot has two blocks.
  std::vector<std::string> names;
  ASSERT_EQ(files.list_folder("store", names).error_number, 0);
  for (const std::string& name : names) {
    if (!name.starts_with("pages-")) continue;
    const auto opened = files.open("store/" + name, store::OpenMode::ReadWrite);
    const auto file = static_cast<store::Descriptor>(opened.value);
    const auto bytes = static_cast<std::uint64_t>(files.file_bytes(file).value);
    for (std::uint64_t at = 2 * kBlock + 5; at < bytes; at += 2 * kBlock) {
      const std::array<std::byte, 1> wrong{std::byte{0xa5}};
      ASSERT_EQ(files.pwrite(file, wrong, at).value, 1);
    }
    files.close(file);
  }
}

TEST(Tiers, ADiskThatIsFullForAWhileCostsASwappedContextNothing) {
  store::SimulatedFileSystem files;
  SwappedUnderFaults swapped(files);
  files.inject = failing(store::CallKind::Write, ENOSPC);
  come_and_go(swapped.harness, 130, 3);
  ASSERT_EQ(swapped.harness.controller->tier_statistics().swap_count, 1u);
  files.inject = {};
  EXPECT_EQ(swapped.go_on().tokens, windowed_alone().tokens);
}

TEST(Tiers, ADiskThatStaysFullDoesNotEither) {
  store::SimulatedFileSystem files;
  SwappedUnderFaults swapped(files);
  files.inject = failing(store::CallKind::Write, ENOSPC);
  for (std::uint32_t seed = 3; seed < 8; ++seed) {
    come_and_go(swapped.harness, 130, seed);
    swapped.harness.clock.advance_ns(1'000'000'000);
  }
  EXPECT_EQ(swapped.go_on().tokens, windowed_alone().tokens);
}

TEST(Tiers, AReadThatFailsOnceIsToldAndTheNextOneSucceeds) {
  store::SimulatedFileSystem files;
  SwappedUnderFaults swapped(files);
  come_and_go(swapped.harness, 130, 3);
  ASSERT_EQ(swapped.harness.controller->tier_statistics().swap_count, 1u);
  files.inject = failing(store::CallKind::Read, EIO);
  Harness& harness = swapped.harness;
  const Program& program = swapped.program;
  const FutureId failed = harness.send(program.guest, ContextFlush{program.context});
  harness.run();
  EXPECT_EQ(harness.error(program.guest, failed), ErrorCode::Io);
  EXPECT_NE(harness.message(program.guest, failed).find("page 0 of this context"),
            std::string::npos)
      << harness.message(program.guest, failed);
  files.inject = {};
  EXPECT_EQ(swapped.go_on().tokens, windowed_alone().tokens);
}

TEST(Tiers, ADamagedPageOfASwappedContextIsNamedWithItsReason) {
  store::SimulatedFileSystem files;
  SwappedUnderFaults swapped(files);
  Harness& harness = swapped.harness;
  const Program& program = swapped.program;
  come_and_go(harness, 130, 3);
  ASSERT_EQ(harness.controller->tier_statistics().swap_count, 1u);
  damage_page_files(files);
  const FutureId lost = harness.send(program.guest, ContextFlush{program.context});
  harness.run();
  EXPECT_EQ(harness.error(program.guest, lost), ErrorCode::Io);
  const std::string message = harness.message(program.guest, lost);
  EXPECT_NE(message.find("page 0 of this context"), std::string::npos) << message;
  EXPECT_NE(message.find("checksum"), std::string::npos) << message;
  harness.controller->end_instance(program.guest);
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

TEST(Tiers, APageThatIsEvictedWhileItsTierHasItCountsAsWantedThen) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(8, Tier::Host, files, 14);
  options.controller.eviction = EvictionPolicyKind::Lru;
  Harness harness(options);
  std::uint32_t seed = 10;
  const auto others = [&](int count) {  // One full page each.
    for (int each = 0; each < count; ++each) come_and_go(harness, 17, ++seed);
  };
  const auto wanted = [&] {
    const Program program = start(harness);
    append(harness, program, count_tokens(17));
    next(harness, program);
    return program;
  };
  harness.controller->end_instance(wanted().guest);
  others(8);
  const Program holder = wanted();  // It is brought back,
  others(3);
  harness.controller->end_instance(holder.guest);
  others(8);  // and evicted again before the last of these.
  others(5);
  const std::uint64_t before = harness.controller->statistics().row_count;
  wanted();
  EXPECT_EQ(harness.controller->statistics().row_count - before, 1u);
}

TEST(Tiers, WhatWasBroughtBackForOneWhoLeftIsLetGoWhenTheLastOneIsDone) {
  store::SimulatedFileSystem files;
  Harness harness(options_of(16, Tier::Host, files));
  come_and_go(harness, 96, 1);
  come_and_go(harness, 250, 3);
  const Program other = start(harness);
  const Program leaver = start(harness);
  append(harness, leaver, count_tokens(100));
  ask(harness, leaver);
  for (std::uint32_t turn = 0; turn < 10; ++turn) {
    append(harness, other, count_tokens(1, 100 + turn));
    harness.send(other.guest, ContextFlush{other.context}, false);
    harness.begin_step();
    ASSERT_EQ(harness.device.inflight_count(), 1u);
    if (!harness.device.next_batch().loads.empty()) break;
    harness.device.complete_next();
  }
  ASSERT_FALSE(harness.device.next_batch().loads.empty());
  // The drop waits for the batch, and for nothing else.
  harness.send(other.guest, ContextDropRange{other.context, 0, 1}, false);
  harness.controller->poll();
  harness.controller->end_instance(leaver.guest);
  harness.device.complete_next();
  harness.run();
  harness.controller->end_instance(other.guest);
  harness.run();
  EXPECT_EQ(harness.free_page_count(), 16u);
}

TEST(Tiers, TheirFiguresAreMeasured) {
  store::SimulatedFileSystem files;
  Harness::Options options = options_of(8, Tier::Host, files);
  options.controller.costs.copy_ns_per_byte = 0;
  options.device.duration_ns = [](const inference::Batch& batch) -> std::uint64_t {
    return 1'000 + (batch.loads.empty() ? 0 : 1'000'000);
  };
  Harness harness(options);
  come_and_go(harness, 96, 1);
  come_and_go(harness, 120, 3);
  const Program second = start(harness);
  append(harness, second, count_tokens(100));
  next(harness, second);
  const TierStatistics tiers = harness.controller->tier_statistics();
  EXPECT_GT(tiers.compute_ns_per_token, 0.0);
  // One sample weighs an eighth: 1,000 us for six pages.
  EXPECT_GT(tiers.load_ns_per_page, 20'000.0);
}

}  // namespace
}  // namespace quire::control
