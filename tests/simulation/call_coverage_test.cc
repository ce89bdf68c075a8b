// Over the day's worlds every call of interface/*.wit is made.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "application/hostcalls/calls.h"
#include "base/seeds.h"
#include "simulation/world.h"

namespace quire::simulation::call_coverage_test {
namespace {

constexpr std::uint64_t kSeedCount = 10'000;

std::set<std::string> calls_of_the_interface() {
  std::set<std::string> all;
  for (const sandbox::HostFunction& each : hostcalls::host_functions()) {
    constexpr std::string_view kPrefix = "quire:core/";
    const std::string module = each.module;
    if (!module.starts_with(kPrefix)) continue;  // WASI's.
    all.insert(module.substr(kPrefix.size(), module.find('@') - kPrefix.size()) + "." + each.name);
  }
  return all;
}

TEST(Calls, AreAllMadeInTheWorldsOfADay) {
  std::set<std::string> missing = calls_of_the_interface();
  std::uint64_t world_count = 0;
  for (const std::uint64_t day_seed : campaign_seeds(kSeedCount)) {
    if (missing.empty()) break;
    ++world_count;
    // Some calls are made in worlds of models with states alone.
    const std::uint64_t seed = world_count % 2 == 1 ? day_seed : kStateSeeds + day_seed;
    World world({.knobs = Knobs::of_seed(seed), .seed = seed, .verifies = false});
    world.run();
    for (const auto& [call, count] : world.call_counts()) missing.erase(call);
  }
  std::printf("%llu worlds\n", static_cast<unsigned long long>(world_count));
  for (const std::string& call : missing) ADD_FAILURE() << "never made: " << call;
}

}  // namespace
}  // namespace quire::simulation::call_coverage_test
