#include "control/pages/trace_replay.h"

#include <gtest/gtest.h>
#include <quire_paths.h>

#include <algorithm>
#include <random>

#include "base/file.h"

namespace quire::control {
namespace {

// The published rows of this trace, in percent.
struct Row {
  std::uint32_t capacity;
  double lru;
  double s3_fifo;
  double oracle;  // LRU with one bit that says "will be resumed".
};
constexpr Row kRows[] = {{1'000, 8.25, 8.92, 12.49},
                         {5'000, 27.91, 29.38, 40.36},
                         {10'000, 42.35, 43.13, 59.11},
                         {20'000, 57.15, 59.37, 63.96}};

const Trace& mooncake() {
  static const Trace trace = [] {
    const std::string text =
        read_file(QUIRE_SOURCE_DIR "/tests/traces/mooncake_synthetic.txt", 1 << 20).take();
    return parse_compact_trace(text).take();
  }();
  return trace;
}

double rate(const Trace& trace, const ReplayOptions& options) {
  return replay_trace(trace, options).value().hit_rate();
}

TEST(TraceReplay, ReadsTheWholeTrace) {
  std::size_t blocks = 0;
  for (const TraceRequest& request : mooncake().requests) blocks += request.blocks.size();
  EXPECT_EQ(mooncake().requests.size(), 3'993u);
  EXPECT_EQ(blocks, 121'877u);
  EXPECT_EQ(mooncake().block_count, 43'924u);
}

TEST(TraceReplay, PlaysThePublishedLruRow) {
  for (const Row& row : kRows) {
    const ReplayOptions options{.policy = EvictionPolicyKind::Lru, .capacity = row.capacity};
    EXPECT_NEAR(rate(mooncake(), options), row.lru, 0.1) << row.capacity;
  }
}

// Not exactly: here leaves go first, and the row's small queue is not described.
TEST(TraceReplay, PlaysThePublishedS3FifoRowNearly) {
  for (const Row& row : kRows) {
    const ReplayOptions options{.policy = EvictionPolicyKind::S3Fifo, .capacity = row.capacity};
    EXPECT_NEAR(rate(mooncake(), options), row.s3_fifo, 0.5) << row.capacity;
  }
}

TEST(TraceReplay, TheDefaultBeatsThePublishedPoliciesByMoreThanHalfAPoint) {
  for (const Row& row : kRows) {
    const double hit_rate = rate(mooncake(), {.capacity = row.capacity});
    if (row.capacity == 5'000 || row.capacity == 10'000) {
      EXPECT_GE(hit_rate, row.s3_fifo + 1.0) << row.capacity;
    }
    EXPECT_GE(hit_rate, std::max(row.lru, row.s3_fifo)) << row.capacity;
  }
}

// Each half warm: the requests before it are played, and not counted.
TEST(TraceReplay, TheDefaultIsNotBelowS3FifoOnEitherHalf) {
  for (const std::uint32_t capacity : {5'000u, 10'000u}) {
    for (const double from : {0.0, 0.5}) {
      ReplayOptions options{.capacity = capacity, .from = from, .to = from + 0.5};
      const double hit_rate = rate(mooncake(), options);
      options.policy = EvictionPolicyKind::S3Fifo;
      EXPECT_GE(hit_rate, rate(mooncake(), options) + 0.3) << capacity << " from " << from;
    }
  }
}

TEST(TraceReplay, WithHintsTheDefaultComesNearTheOracle) {
  for (const Row& row : kRows) {
    const ReplayOptions options{.capacity = row.capacity, .hints_from_future = true};
    EXPECT_GE(rate(mooncake(), options), row.oracle - 1.0) << row.capacity;
  }
}

// Each half with an empty store at its beginning.
TEST(TraceReplay, TheDefaultIsNotBelowS3FifoOnEitherHalfWhenItStartsCold) {
  for (const std::uint32_t capacity : {5'000u, 10'000u}) {
    ReplayOptions options{.capacity = capacity, .from = 0.5, .is_cold_start = true};
    const double hit_rate = rate(mooncake(), options);
    options.policy = EvictionPolicyKind::S3Fifo;
    EXPECT_GE(hit_rate, rate(mooncake(), options) + 0.2) << capacity;
  }
}

// Requests arrive up to 200 places earlier or later: no order of this trace was fitted.
TEST(TraceReplay, TheDefaultBeatsS3FifoOnAverageWhenRequestsAreShuffled) {
  double gain = 0.0;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    std::mt19937_64 random(seed);
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t index = 0; index < mooncake().requests.size(); ++index) {
      order.emplace_back(static_cast<double>(index) + static_cast<double>(random() % 400), index);
    }
    std::sort(order.begin(), order.end());
    Trace shuffled{.requests = {}, .block_count = mooncake().block_count};
    for (const auto& [place, index] : order)
      shuffled.requests.push_back(mooncake().requests[index]);
    for (const std::uint32_t capacity : {5'000u, 10'000u}) {
      gain += rate(shuffled, {.capacity = capacity}) -
              rate(shuffled, {.policy = EvictionPolicyKind::S3Fifo, .capacity = capacity});
    }
  }
  std::printf("gain over s3-fifo, mean of six: %.2f points\n", gain / 6);
  EXPECT_GE(gain / 6, 0.5);
}

TEST(TraceReplay, RefusesWhatItCannotPlay) {
  EXPECT_FALSE(parse_compact_trace("0 1-2\n0 x\n").ok());
  EXPECT_FALSE(parse_compact_trace("0 5-2\n").ok());
  EXPECT_FALSE(parse_compact_trace("0 1-99999999999\n").ok());
  EXPECT_FALSE(parse_compact_trace("1 -2\n").ok());
  const Trace trace = parse_compact_trace("# two\n0 0-2\n5 0-1 3\n").take();
  EXPECT_FALSE(replay_trace(trace, {.capacity = 0}).ok());
  EXPECT_FALSE(replay_trace(trace, {.capacity = 2}).ok());
  EXPECT_FALSE(replay_trace(trace, {.capacity = 4, .from = 0.5, .to = 0.5}).ok());
  EXPECT_FALSE(replay_trace(Trace{}, {.capacity = 4}).ok());
  EXPECT_FALSE(replay_trace(parse_compact_trace("0 7 7").take(), {.capacity = 4}).ok());
  EXPECT_EQ(replay_trace(trace, {.capacity = 4}).value().hit_count, 2u);
}

TEST(TraceReplay, AColdHalfForgetsWhatCameBefore) {
  const Trace trace = parse_compact_trace("0 0-2\n5 0-2\n").take();
  ReplayOptions options{.capacity = 4, .from = 0.5};
  EXPECT_EQ(replay_trace(trace, options).value().hit_count, 3u);
  options.is_cold_start = true;
  EXPECT_EQ(replay_trace(trace, options).value().hit_count, 0u);
}

}  // namespace
}  // namespace quire::control
