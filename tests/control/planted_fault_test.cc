// Would the random programs notice? Each fault of base/planted_fault.h is switched on in a process
// of its own, which runs programs until one fails or a check stops it: within kSeedCountMax seeds.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/planted_fault.h"
#include "base/seeds.h"
#include "control/page_program.h"
#include "control/schedule_program.h"
#include "support/admission_program.h"
#include "support/page_cache_program.h"
#include "support/planted_faults.h"
#include "support/store_program.h"

namespace quire {

Fault planted_fault = Fault::None;

namespace {

constexpr std::uint64_t kSeedCountMax = 1'000;
constexpr std::uint64_t kSeedCountUnplanted = 20;
constexpr std::uint64_t kBeginningCount = 4;  // Of seeds; `make test` takes one of them.

void run_all(std::uint64_t seed) {
  control::PageProgram(control::Knobs::of_seed(seed), seed).run();
}
void run_with_states(std::uint64_t seed) {
  control::PageProgram(control::Knobs::with_states(seed), seed).run();
}
void run_page_cache(std::uint64_t seed) {
  for (const std::uint32_t hash_bits : {8u, 64u}) test::PageCacheProgram(seed, hash_bits).run();
}
void run_store(std::uint64_t seed) {
  std::map<std::string, std::uint64_t> coverage;
  test::StoreProgram(seed).run(coverage);
}

void run_schedule(std::uint64_t seed) {
  control::ScheduleProgram(control::ScheduleKnobs::of_seed(seed), seed).run();
}

void run_admission(std::uint64_t seed) {
  test::AdmissionProgram(seed).run();
}

using test::Driver;
using test::Plant;

constexpr Driver kAll{"all", run_all};
constexpr Driver kStates{"states", run_with_states};
constexpr Driver kPageCache{"page cache", run_page_cache};
constexpr Driver kStore{"store", run_store};
constexpr Driver kSchedule{"schedule", run_schedule};
constexpr Driver kAdmission{"admission", run_admission};

constexpr Plant kPlants[] = {
    {Fault::ForkWithoutCount, "count not raised on fork", kAll},
    {Fault::ReleaseWithoutDrop, "count not dropped on release", kAll},
    {Fault::ReleaseTwice, "count dropped twice", kAll},
    {Fault::PublishedBeforeWritten, "published before written", kAll},
    {Fault::NameWithoutParent, "parent left out of the name", kAll},
    {Fault::NameWithoutPosition, "position left out of the name", kPageCache},
    {Fault::NameWithoutDomain, "domain left out of the name", kAll},
    {Fault::NameWithoutAdapter, "adapter left out of the name", kAll},
    {Fault::AdapterRunOffByOne, "a run of adapters off by one slot", kAll},
    {Fault::AdapterScaleOfAnother, "scale of another row", kAll},
    {Fault::CompareSkipped, "compare skipped with an 8-bit hash", kAll},
    {Fault::FreedWithoutFence, "freed without the fence", kAll},
    {Fault::SealedPageWritten, "sealed page written", kAll},
    {Fault::RewindOffByOne, "rewind off by one", kAll},
    {Fault::BoundaryPageNotCopied, "boundary page not copied", kAll},
    {Fault::DropRangeRenumbers, "drop_range renumbers", kAll},
    {Fault::EvictedBeforeLeaves, "cold page evicted before its leaves", kAll},
    {Fault::EvictedWithoutWeight, "tenant's weight unknown to eviction", kAll},
    {Fault::IndexEntryLeftBehind, "index entry left behind", kAll},
    {Fault::OpaquePageFound, "opaque page found", kPageCache},
    {Fault::ClaimKeptAfterFailure, "claim kept after failure", kAll},
    {Fault::RestoredFromStaleSlot, "restored from a stale slot", kAll},
    {Fault::LoadedFromStaleSlot, "loaded from a stale slot of a tier", kAll},
    {Fault::ChecksumNotChecked, "checksum not checked", kStore},
    {Fault::FolderNotSynced, "directory not synced", kStore},
    {Fault::IndexBeforePages, "snapshot index before pages", kStore},
    {Fault::CollectsReusedPage, "gc takes what a save reuses", kStore},
    {Fault::QuotaCountsTwice, "quota counted twice", kStore},
    {Fault::BatchOverLimit, "batch over the limit", kSchedule},
    {Fault::PriorityIgnored, "priority ignored", kSchedule},
    {Fault::AgingOff, "aging off", kSchedule},
    {Fault::ShareIgnored, "tenant share ignored", kSchedule},
    {Fault::ConflictMerged, "conflicting forwards merged", kSchedule},
    {Fault::BarrierSkipped, "order broken across a synchronize", kSchedule},
    {Fault::StateOffByOne, "a state of another offset", kStates},
    {Fault::RequeryChangesState, "a requery that changes a state", kStates},
    {Fault::SharedStateChanged, "a shared state changed in place", kStates},
    {Fault::StateKeptBehindPage, "a page gone and its state found", kStates},
    {Fault::AdmissionForgets, "admission forgets who ended", kAdmission},
};
static_assert(std::size(kPlants) == kPartFaultCount, "a driver for each fault");

using test::PlantedFaults;

TEST_F(PlantedFaults, AreAllNoticedWithinAThousandSeeds) {
  std::string missed;
  for (const std::uint64_t beginning : campaign_seeds(kBeginningCount)) {
    missed += test::missed_of(kPlants, beginning * kSeedCountMax, kSeedCountMax);
  }
  EXPECT_EQ(missed, "");
}

TEST_F(PlantedFaults, NothingIsNoticedWhereNoneIsPlanted) {
  const Driver drivers[] = {kAll, kStates, kPageCache, kStore, kSchedule, kAdmission};
  EXPECT_EQ(test::noticed_unplanted(drivers, kSeedCountUnplanted), "");
}

}  // namespace
}  // namespace quire
