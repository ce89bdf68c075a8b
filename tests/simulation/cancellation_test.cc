// Tests of stops: by the operator, by clients, by clients that leave, and of dropped futures. After
// each, everything returns to base: held objects, waits, and messages on their way.
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "simulation/world.h"

namespace quire::simulation {
namespace {

constexpr std::uint64_t kWorldCount = 10;  // Two of each scenario.

// Small, so that it can be stopped at each of its events.
WorldOptions small_world(std::uint64_t seed) {
  WorldOptions options{.knobs = Knobs::of_seed(seed), .seed = seed};
  options.knobs.direct_count = 3;
  options.knobs.peer_count = 2;
  options.knobs.client_action_count = 10;
  return options;
}

class Cancellations : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Cancellations, AtAnyEventReturnEverythingToBase) {
  const WorldOptions options = small_world(GetParam());
  World whole(options);
  whole.run();
  ASSERT_EQ(whole.finding(), "");
  for (const std::uint64_t event : campaign_seeds(whole.event_count())) {
    for (std::uint32_t kind = 0; kind < kCancellationCount; ++kind) {
      WorldOptions broken_off = options;
      broken_off.cancel_at = event + 1;
      broken_off.cancellation = static_cast<Cancellation>(kind);
      SCOPED_TRACE("seed " + std::to_string(options.seed) + ", behind event " +
                   std::to_string(event + 1) + " " + cancellation_name(broken_off.cancellation));
      World world(broken_off);
      world.run();
      ASSERT_EQ(world.finding(), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Cancellations, testing::Range(std::uint64_t{0}, kWorldCount));
INSTANTIATE_TEST_SUITE_P(WithAdapters, Cancellations,
                         testing::Range(kAdapterSeeds,
                                        kAdapterSeeds + std::uint64_t{kScenarioCount}));

}  // namespace
}  // namespace quire::simulation
