// Would the simulation notice? Each fault of the application, and of the control layer's answers to
// it, is switched on in a process of its own. That runs worlds until one has a finding.
#include <gtest/gtest.h>

#include <iterator>

#include "base/seeds.h"
#include "simulation/world.h"
#include "support/planted_faults.h"

namespace quire {

Fault planted_fault = Fault::None;

namespace {

using test::PlantedFaults;

constexpr std::uint64_t kSeedCountMax = 1'000;
constexpr std::uint64_t kSeedCountUnplanted = 20;
constexpr std::uint64_t kBeginningCount = 4;  // Of seeds; `make test` takes one of them.

void run_world(std::uint64_t seed, bool verifies) {
  simulation::World world(
      {.knobs = simulation::Knobs::of_seed(seed), .seed = seed, .verifies = verifies});
  world.run();
  if (!world.finding().empty()) ADD_FAILURE() << world.finding();
}

constexpr test::Driver kWorlds{"worlds", [](std::uint64_t seed) { run_world(seed, true); }};
constexpr test::Driver kWorldsWithAdapters{
    "adapters", [](std::uint64_t seed) { run_world(simulation::kAdapterSeeds + seed, true); }};
constexpr test::Driver kWorldsWithStates{
    "states", [](std::uint64_t seed) { run_world(simulation::kStateSeeds + seed, true); }};
// Without verify(), so that only what guests get can give a fault away.
constexpr test::Driver kOutputsWithAdapters{
    "outputs", [](std::uint64_t seed) { run_world(simulation::kAdapterSeeds + seed, false); }};
// The random programs of the control layer notice these too (tests/control). Guests alone rarely
// see a wrong name: a thousand worlds may have no snapshot that it keeps from opening.
constexpr test::Plant kAdapterPlants[] = {
    {Fault::NameWithoutAdapter, "adapter left out of the name", kWorldsWithAdapters},
    {Fault::AdapterRunOffByOne, "a run of adapters off by one slot", kWorldsWithAdapters},
    {Fault::AdapterScaleOfAnother, "scale of another row", kWorldsWithAdapters},
    {Fault::AdapterScaleOfAnother, "scale of another row", kOutputsWithAdapters},
};
constexpr test::Plant kPlants[] = {
    {Fault::WakeUpLost, "wake-up lost", kWorlds},
    {Fault::WokenTwice, "woken twice", kWorlds},
    {Fault::AnswerToAnother, "completion given to the wrong guest", kWorlds},
    {Fault::AnswerBehindDrop, "answer after cancel", kWorlds},
    {Fault::ErrorSwallowed, "error swallowed into an empty result", kWorlds},
    {Fault::MailboxUnbounded, "mailbox unbounded", kWorlds},
    {Fault::ChildOutlivesParent, "child outlives its parent", kWorlds},
    {Fault::BudgetNotLent, "child's budget not its parent's", kWorlds},
    {Fault::GenerationNotChecked, "handle generation not checked", kWorlds},
    {Fault::PageKeptBehindEnd, "page kept after trap", kWorlds},
    {Fault::DraftStateKept, "a draft's state kept", kWorldsWithStates},
    {Fault::StateSlotNotHeld, "a state's slot given out under its batch", kWorldsWithStates},
    {Fault::LogUnbounded, "log unbounded", kWorlds},
    {Fault::LogDropNotTold, "dropped line of the log not counted", kWorlds},
    {Fault::LogRestLost, "rest of a line of the log lost", kWorlds},
};
static_assert(std::size(kPlants) == kWorldFaultCount, "all that are not of one part");

TEST_F(PlantedFaults, OfTheWholeEngineAreAllNoticedWithinAThousandWorlds) {
  std::string missed;
  for (const std::uint64_t beginning : campaign_seeds(kBeginningCount)) {
    missed += test::missed_of(kPlants, beginning * kSeedCountMax, kSeedCountMax);
    missed += test::missed_of(kAdapterPlants, beginning * kSeedCountMax, kSeedCountMax);
  }
  EXPECT_EQ(missed, "");
}

TEST_F(PlantedFaults, NothingIsNoticedInWorldsWhereNoneIsPlanted) {
  const test::Driver drivers[] = {kWorlds, kWorldsWithAdapters};
  EXPECT_EQ(test::noticed_unplanted(drivers, kSeedCountUnplanted), "");
}

}  // namespace
}  // namespace quire
