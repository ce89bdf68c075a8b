// Worlds by their seeds: nothing that must not happen happens, all ends and leaves nothing, and one
// seed gives one trace.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/seeds.h"
#include "simulation/world.h"
#include "support/process.h"

namespace quire::simulation {
namespace {

constexpr std::uint64_t kSeedCount = 10'000;
constexpr std::uint64_t kAdapterSeedCount = 2'000;   // From kAdapterSeeds on.
constexpr std::uint64_t kStateSeedCount = 1'500;     // From kStateSeeds on.
constexpr std::uint64_t kShortageSeedCount = 1'500;  // From kShortageSeeds on.
constexpr std::uint64_t kOtherProcessCount = 80;
constexpr std::uint64_t kTestCount = 8;  // That share the seeds, so that none takes long.

constexpr std::uint64_t kReplayedSeed = 6;  // Where none is asked for.

// With QUIRE_SIMULATION_SEED set, that seed alone, its trace on standard output.
std::optional<std::uint64_t> wanted_seed() {
  const char* text = std::getenv("QUIRE_SIMULATION_SEED");
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::uint64_t run(std::uint64_t seed, bool verifies, std::FILE* output = nullptr) {
  World world(
      {.knobs = Knobs::of_seed(seed), .seed = seed, .output = output, .verifies = verifies});
  world.run();
  EXPECT_EQ(world.finding(), "") << scenario_name(Knobs::of_seed(seed).scenario)
                                 << "; replay it with QUIRE_SIMULATION_SEED=" << seed;
  return world.hash();
}

std::vector<std::uint64_t> seeds_of_today() {
  std::vector<std::uint64_t> seeds = campaign_seeds(kSeedCount);
  for (const std::uint64_t seed : campaign_seeds(kAdapterSeedCount)) {
    seeds.push_back(kAdapterSeeds + seed);
  }
  for (const std::uint64_t seed : campaign_seeds(kStateSeedCount)) {
    seeds.push_back(kStateSeeds + seed);
  }
  for (const std::uint64_t seed : campaign_seeds(kShortageSeedCount)) {
    seeds.push_back(kShortageSeeds + seed);
  }
  return seeds;
}

class Worlds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Worlds, KeepEveryPromiseAndOneSeedGivesOneTrace) {
  if (wanted_seed()) GTEST_SKIP() << "one seed is wanted";
  for (const std::uint64_t seed : seeds_of_today()) {
    if (seed / 8 % kTestCount != GetParam()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::uint64_t hash = run(seed, true);
    if (HasFailure()) return;
    EXPECT_EQ(run(seed, false), hash) << "another trace the second time";
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Shares, Worlds, testing::Range(std::uint64_t{0}, kTestCount));

TEST(World, ReplaysTheSeedThatIsAskedFor) {
  const std::uint64_t seed = wanted_seed().value_or(kReplayedSeed);
  std::FILE* output = wanted_seed() ? stdout : std::tmpfile();
  ASSERT_NE(output, nullptr);
  const std::uint64_t hash = run(seed, true, output);
  std::printf("seed %llu: hash %016llx\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(hash));
  if (wanted_seed()) return;
  EXPECT_GT(std::ftell(output), 0) << "no trace was printed";
  EXPECT_EQ(run(seed, true), hash) << "another trace where it is not printed";
  std::fclose(output);
}

// For comparisons of two commits: tools/trace_hashes.sh reads these lines. A seed that fails has a
// line as well, and the next seed follows. A seed may end the process, so each line is written at
// once.
TEST(World, PrintsTheHashesOfTheFirstSeedsThatAreAskedFor) {
  const char* text = std::getenv("QUIRE_SIMULATION_HASHES");
  const std::uint64_t count = text == nullptr ? 2 : std::strtoull(text, nullptr, 10);
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    World world({.knobs = Knobs::of_seed(seed), .seed = seed, .verifies = false});
    world.run();
    const std::string& finding = world.finding();
    EXPECT_EQ(finding, "") << "replay it with QUIRE_SIMULATION_SEED=" << seed;
    if (text == nullptr) continue;
    const auto number = static_cast<unsigned long long>(seed);
    if (finding.empty()) {
      std::printf("hash of seed %llu: %016llx\n", number,
                  static_cast<unsigned long long>(world.hash()));
    } else {
      std::printf("failure of seed %llu: %s\n", number, finding.c_str());
    }
    std::fflush(stdout);
  }
}

// Addresses and the order of hash tables differ there.
TEST(World, GivesTheSameTraceInAnotherProcess) {
  if (wanted_seed()) GTEST_SKIP() << "one seed is wanted";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (const std::uint64_t seed : campaign_seeds(kOtherProcessCount)) {
    const test::ProcessResult other =
        test::run_process({self, "--gtest_filter=World.ReplaysTheSeedThatIsAskedFor"},
                          {.environment = {{"QUIRE_SIMULATION_SEED", std::to_string(seed)}}});
    const std::size_t at = other.out.rfind("hash ");
    ASSERT_NE(at, std::string::npos) << other.err;
    const std::uint64_t hash = std::stoull(other.out.substr(at + 5), nullptr, 16);
    EXPECT_EQ(run(seed, true), hash) << "seed " << seed;
  }
}

}  // namespace
}  // namespace quire::simulation
