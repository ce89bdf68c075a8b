// The power goes, or a file fails, at every system call of every operation that changes something.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <functional>

#include "base/seeds.h"
#include "control/store/snapshot_store.h"
#include "support/snapshot_harness.h"

namespace quire::store {
namespace {

using test::counting;
using test::load;
using test::Loaded;
using test::make_snapshot;
using test::SimulatedStore;
using test::TestSnapshot;

const TestSnapshot kKept = make_snapshot("a", "kept", {1, 2, 3, 4, 5, 6, 7, 8, 99});
const TestSnapshot kOld = make_snapshot("a", "target", counting(1, 15));
const TestSnapshot kNew = make_snapshot("a", "target", {1, 2, 3, 4, 70, 71, 72, 73, 74, 75});

struct Scenario {
  const char* name;
  bool begins_empty;
  std::function<Result<void>(SimulatedStore&)> operate;
  const TestSnapshot* before;  // What "target" is; null: absent.
  const TestSnapshot* after;
};

Result<void> discard(auto result) {
  TRY(std::move(result));
  return {};
}

const Scenario kScenarios[] = {
    {"first save", true, [](SimulatedStore& each) { return discard(each.save(kNew)); }, nullptr,
     &kNew},
    {"overwrite", false, [](SimulatedStore& each) { return discard(each.save(kNew, true)); }, &kOld,
     &kNew},
    {"delete", false, [](SimulatedStore& each) { return each.store->remove("a", "target"); }, &kOld,
     nullptr},
    {"take", false,
     [](SimulatedStore& each) { return discard(each.store->take("a", "target", nullptr)); }, &kOld,
     &kOld},
    {"take and finish", false,
     [](SimulatedStore& each) -> Result<void> {
       const OpenedSnapshot taken = TRY(each.store->take("a", "target", nullptr));
       return each.store->finish_take(taken.ticket);
     },
     &kOld, nullptr},
    {"gc", false, [](SimulatedStore& each) { return discard(each.store->gc()); }, &kOld, &kOld},
    {"cache and save", false,
     [](SimulatedStore& each) -> Result<void> {
       TRY(each.store->put_cached(kNew.record.space, kNew.pages[1]));
       const BegunSave begun =
           TRY(each.store->begin_save(kNew.record.space, std::vector{kNew.pages[1].name}));
       Result<SnapshotInfo> saved =
           each.store->save(kNew.record, kNew.pages, {.overwrite = true, .ticket = begun.ticket});
       each.store->release(begun.ticket);
       return discard(std::move(saved));
     },
     &kOld, &kNew},
};

// Two snapshots with a common beginning, and the pages of a third that was deleted.
SimulatedFileSystem::Image image_before(const Scenario& scenario) {
  SimulatedStore made;
  if (scenario.begins_empty) return made.files.visible();
  EXPECT_TRUE(made.open().ok());
  const TestSnapshot gone = make_snapshot("a", "gone", counting(40, 9));
  EXPECT_TRUE(made.save(gone).ok());
  EXPECT_TRUE(made.save(kKept).ok());
  EXPECT_TRUE(made.save(kOld).ok());
  EXPECT_TRUE(made.store->remove("a", "gone").ok());
  made.crash(CrashKeep::Nothing, 1);
  return made.files.visible();
}

bool is(SnapshotStore& store, const TestSnapshot* want) {
  if (want != nullptr) return load(store, *want).loaded == Loaded::Equal;
  return load(store, kNew).code == ErrorCode::NotFound;
}

void expect_sound(SimulatedStore& simulated, const Scenario& scenario, bool must_be_after) {
  const Result<std::vector<Damage>> damages = simulated.store->verify();
  ASSERT_TRUE(damages.ok()) << damages.error().message();
  for (const Damage& each : damages.value()) ADD_FAILURE() << each.where << ": " << each.what;
  if (!scenario.begins_empty) {
    EXPECT_TRUE(is(*simulated.store, &kKept)) << load(*simulated.store, kKept).why;
  }
  EXPECT_TRUE(is(*simulated.store, scenario.after) ||
              (!must_be_after && is(*simulated.store, scenario.before)))
      << "the target is neither the old one nor the new one: " << load(*simulated.store, kNew).why;
}

// Expects that the page files hold, by their own headers, exactly the pages that the snapshots
// reach.
void expect_exact_after_gc(SimulatedStore& simulated) {
  const Result<GcReport> report = simulated.store->gc();
  ASSERT_TRUE(report.ok()) << report.error().message();
  std::uint64_t page_count = 0;
  for (const auto& [path, bytes] : simulated.files.visible()) {
    if (!path.ends_with(".quire")) continue;
    for (std::size_t at = 4096; at < bytes.size(); at += 8192)
      page_count += bytes[at] != std::byte{};
  }
  EXPECT_EQ(page_count, simulated.store->counts().stored_page_count);
  const Result<std::vector<Damage>> damages = simulated.store->verify();
  ASSERT_TRUE(damages.ok());
  EXPECT_TRUE(damages.value().empty());
}

// Opens, operates, and says how far it came.
struct Outcome {
  bool is_acknowledged = false;
  std::optional<Error> error;
};
Outcome run(SimulatedStore& simulated, const Scenario& scenario) {
  Result<void> result = simulated.open();
  if (result.ok()) result = scenario.operate(simulated);
  if (result.ok()) return {true, std::nullopt};
  return {false, std::move(result).take_error()};
}

std::uint64_t call_count(const Scenario& scenario, const SimulatedFileSystem::Image& image) {
  SimulatedStore simulated(image);
  EXPECT_TRUE(run(simulated, scenario).is_acknowledged) << scenario.name;
  return simulated.files.call_count();
}

class EveryCall : public testing::TestWithParam<int> {
 protected:
  const Scenario& scenario() const { return kScenarios[GetParam()]; }
  const SimulatedFileSystem::Image image_ = image_before(scenario());
  const std::uint64_t call_count_ = call_count(scenario(), image_);
};
INSTANTIATE_TEST_SUITE_P(Operations, EveryCall,
                         testing::Range(0, static_cast<int>(std::size(kScenarios))));

TEST_P(EveryCall, ACrashLeavesTheOldOrTheNewWhole) {
  ASSERT_GT(call_count_, 10u);
  const std::vector<std::uint64_t> part_seeds = campaign_seeds(16);
  for (std::uint64_t call = 1; call <= call_count_ + 1 && !HasFailure(); ++call) {
    for (std::size_t mode = 0; mode < 2 + part_seeds.size() && !HasFailure(); ++mode) {
      SCOPED_TRACE(std::string(scenario().name) + ", call " + std::to_string(call) + " of " +
                   std::to_string(call_count_) + ", mode " + std::to_string(mode));
      SimulatedStore simulated(image_);
      simulated.files.crash_at = call;
      const Outcome outcome = run(simulated, scenario());
      const CrashKeep keep = mode == 0   ? CrashKeep::Nothing
                             : mode == 1 ? CrashKeep::Everything
                                         : CrashKeep::Part;
      simulated.crash(keep, mode < 2 ? 0 : call * 1000 + part_seeds[mode - 2]);
      const Result<void> opened = simulated.open();
      ASSERT_TRUE(opened.ok()) << opened.error().message();
      expect_sound(simulated, scenario(), outcome.is_acknowledged);
      expect_exact_after_gc(simulated);
      if (mode > 0) continue;
      (void)scenario().operate(simulated);  // Deleting what is deleted is NotFound.
      simulated.crash(CrashKeep::Nothing, 0);
      ASSERT_TRUE(simulated.open().ok());
      expect_sound(simulated, scenario(), true);
    }
  }
}

TEST_P(EveryCall, AFailedCallIsATypedErrorAndTheNextCallWorks) {
  for (const std::uint64_t kind : campaign_seeds(3)) {
    const int error_number = std::array{EIO, ENOSPC, EROFS}[kind];
    for (std::uint64_t call = 1; call <= call_count_ && !HasFailure(); ++call) {
      SCOPED_TRACE(std::string(scenario().name) + ", call " + std::to_string(call) + ", error " +
                   std::to_string(error_number));
      SimulatedStore simulated(image_);
      simulated.files.inject = [=](const SimulatedCall& each) {
        return SimulatedFault{.error_number = each.number == call ? error_number : 0};
      };
      const Outcome outcome = run(simulated, scenario());
      if (!outcome.is_acknowledged) {
        EXPECT_EQ(outcome.error->code(), ErrorCode::Io) << outcome.error->message();
        EXPECT_NE(outcome.error->message().find("machine"), std::string::npos)
            << "names the file: " << outcome.error->message();
      }
      if (simulated.store == nullptr) {
        ASSERT_TRUE(simulated.open().ok());
      }
      expect_sound(simulated, scenario(), outcome.is_acknowledged);
      if (!outcome.is_acknowledged && !is(*simulated.store, scenario().after)) {
        const Result<void> again = scenario().operate(simulated);
        EXPECT_TRUE(again.ok()) << again.error().message();
      }
      expect_sound(simulated, scenario(), false);
      expect_exact_after_gc(simulated);
      // An acknowledged change does not rest on writes that a failed sync lost.
      const bool is_after = is(*simulated.store, scenario().after);
      simulated.crash(CrashKeep::Nothing, 0);
      ASSERT_TRUE(simulated.open().ok());
      expect_sound(simulated, scenario(), is_after);
    }
  }
}

TEST_P(EveryCall, ACrashAfterAFailedCallLeavesTheOldOrTheNewWhole) {
  for (std::uint64_t call = 1; call <= call_count_ && !HasFailure(); ++call) {
    for (const std::uint64_t seed : campaign_seeds(8)) {
      SCOPED_TRACE(std::string(scenario().name) + ", call " + std::to_string(call) + ", seed " +
                   std::to_string(seed));
      SimulatedStore simulated(image_);
      simulated.files.inject = [=](const SimulatedCall& each) {
        return SimulatedFault{.error_number = each.number == call ? EIO : 0};
      };
      const Outcome outcome = run(simulated, scenario());
      simulated.crash(CrashKeep::Part, seed);
      const Result<void> opened = simulated.open();
      ASSERT_TRUE(opened.ok()) << opened.error().message();
      expect_sound(simulated, scenario(), outcome.is_acknowledged);
    }
  }
}

TEST_P(EveryCall, AFullDiskStaysUsableForReadingAndForWhatComesAfter) {
  for (std::uint64_t call = 1; call <= call_count_ && !HasFailure(); ++call) {
    SCOPED_TRACE(std::string(scenario().name) + ", from call " + std::to_string(call));
    SimulatedStore simulated(image_);
    bool is_full = true;
    simulated.files.inject = [&](const SimulatedCall& each) {
      const bool is_write = each.kind == CallKind::Write;
      return is_full && is_write && each.number >= call
                 ? SimulatedFault{.error_number = ENOSPC, .is_short = each.number % 2 == 0}
                 : SimulatedFault{};
    };
    const Outcome outcome = run(simulated, scenario());
    if (!outcome.is_acknowledged) {
      EXPECT_EQ(outcome.error->code(), ErrorCode::Io) << outcome.error->message();
      EXPECT_NE(outcome.error->message().find("the disk is full"), std::string::npos)
          << outcome.error->message();
    }
    is_full = false;
    if (simulated.store == nullptr) {
      ASSERT_TRUE(simulated.open().ok());
    }
    expect_sound(simulated, scenario(), outcome.is_acknowledged);
    if (!is(*simulated.store, scenario().after)) {
      const Result<void> again = scenario().operate(simulated);
      EXPECT_TRUE(again.ok()) << again.error().message();
    }
    expect_exact_after_gc(simulated);
    expect_sound(simulated, scenario(), true);
  }
}

TEST_P(EveryCall, ShortAndInterruptedTransfersAreContinued) {
  for (const int error_number : {0, EINTR}) {
    SimulatedStore simulated(image_);
    simulated.files.inject = [=](const SimulatedCall& each) {
      const bool is_transfer = each.kind == CallKind::Read || each.kind == CallKind::Write;
      if (!is_transfer || each.number % 3 == 0) return SimulatedFault{};
      return error_number == 0 ? SimulatedFault{.is_short = true}
                               : SimulatedFault{.error_number = error_number};
    };
    const Outcome outcome = run(simulated, scenario());
    EXPECT_TRUE(outcome.is_acknowledged) << outcome.error->message();
    simulated.crash(CrashKeep::Nothing, 0);
    ASSERT_TRUE(simulated.open().ok());
    expect_sound(simulated, scenario(), true);
  }
}

}  // namespace
}  // namespace quire::store
