// Over the day's worlds every call of interface/*.wit is made, or it is said here why not.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "application/hostcalls/calls.h"
#include "base/seeds.h"
#include "simulation/world.h"

namespace quire::simulation {
namespace {

constexpr std::uint64_t kSeedCount = 10'000;

// By "interface.name", with the reason.
const std::map<std::string, const char*>& calls_left_out() {
  static const std::map<std::string, const char*> all = {
      {"store.delete", "what a counter was would not be known any more"},
  };
  return all;
}

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
  for (const auto& [call, reason] : calls_left_out()) {
    EXPECT_EQ(missing.erase(call), 1u) << call << " is no call, and left out because " << reason;
  }
  std::uint64_t world_count = 0;
  for (const std::uint64_t seed : campaign_seeds(kSeedCount)) {
    if (missing.empty()) break;
    ++world_count;
    World world({.knobs = Knobs::of_seed(seed), .seed = seed, .verifies = false});
    world.run();
    for (const auto& [call, count] : world.call_counts()) missing.erase(call);
  }
  std::printf("%llu worlds\n", static_cast<unsigned long long>(world_count));
  for (const std::string& call : missing) ADD_FAILURE() << "never made: " << call;
}

}  // namespace
}  // namespace quire::simulation
