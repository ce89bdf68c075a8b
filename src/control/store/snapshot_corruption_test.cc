// Random damage to the files of a store: what is loaded is right or refused, and the store lives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/seeds.h"
#include "control/store/export_file.h"
#include "control/store/snapshot_store.h"
#include "support/snapshot_harness.h"

namespace quire::store {
namespace {

using test::counting;
using test::load;
using test::Loaded;
using test::make_snapshot;
using test::SimulatedStore;
using test::small_space;
using test::TestSnapshot;

constexpr std::uint64_t kCorruptionCount = 10'000;
constexpr const char* kExportPath = "machine/one.export";

using Image = SimulatedFileSystem::Image;

// Snapshots that share pages, of two tenants and two page spaces, one with a dropped page.
std::vector<TestSnapshot> snapshots() {
  std::vector<TestSnapshot> made = {
      make_snapshot("a", "one", counting(1, 15)),
      make_snapshot("a", "two", {1, 2, 3, 4, 5, 6, 7, 8, 70, 71}),
      make_snapshot("b", "one", counting(30, 8)),
      make_snapshot("a", "other", counting(1, 5), small_space(2, 100)),
      make_snapshot("b", "holed", counting(50, 14)),
  };
  made[0].record.note = "the turns of a conversation";
  made[4].record.dropped_pages = {1};
  made[4].pages[1].kv.clear();
  return made;
}

struct Base {
  Image now;
  Image earlier;  // Of the same page files, before slots were used again.
};

Base make_base() {
  Base base;
  SimulatedStore made;
  EXPECT_TRUE(made.open().ok());
  EXPECT_TRUE(made.save(make_snapshot("a", "gone", counting(80, 12))).ok());
  base.earlier = made.files.visible();
  EXPECT_TRUE(made.store->remove("a", "gone").ok());
  EXPECT_TRUE(made.store->gc().ok());
  for (const TestSnapshot& each : snapshots()) EXPECT_TRUE(made.save(each).ok());
  EXPECT_TRUE(export_file(*made.store, made.files, "a", "one", kExportPath).ok());
  made.crash(CrashKeep::Nothing, 1);
  base.now = made.files.visible();
  return base;
}

class Corruptor {
 public:
  Corruptor(const Base& base, std::uint64_t seed) : base_(base), random_(seed) {}

  Image corrupted() {
    Image image = base_.now;
    const std::uint64_t count = 1 + below(3);
    for (std::uint64_t index = 0; index < count; ++index) {
      auto file = image.begin();
      std::advance(file, static_cast<std::ptrdiff_t>(below(image.size())));
      corrupt(file->first, file->second);
    }
    if (below(20) == 0) {
      std::vector<std::byte>& journal = image["machine/store/index.sqlite-journal"];
      journal.resize(below(5000));
      random_.fill(journal);
    }
    return image;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : random_.next() % bound; }

  std::span<std::byte> part(std::vector<std::byte>& bytes, std::uint64_t bytes_max) {
    const std::uint64_t at = below(bytes.size());
    return std::span(bytes).subspan(at, std::min<std::uint64_t>(bytes.size() - at, bytes_max));
  }

  void corrupt(const std::string& path, std::vector<std::byte>& bytes) {
    if (bytes.empty()) return;
    switch (below(9)) {
      case 0:
      case 1:
      case 2: {
        part(bytes, 1)[0] ^= std::byte{static_cast<std::uint8_t>(1u << below(8))};
        break;
      }
      case 3:
        random_.fill(part(bytes, 1 + below(64)));
        break;
      case 4:
        std::ranges::fill(part(bytes, 512), std::byte{});
        break;
      case 5:
        bytes.resize(below(bytes.size()));
        break;
      case 6:
        bytes.resize(bytes.size() + below(9000), std::byte{0x5a});
        break;
      case 7:
        swap_blocks(bytes);
        break;
      case 8: {
        const auto earlier = base_.earlier.find(path);
        if (path.ends_with(".quire") && earlier != base_.earlier.end()) bytes = earlier->second;
        break;
      }
    }
  }

  void swap_blocks(std::vector<std::byte>& bytes) {
    constexpr std::uint64_t kBlock = 4096;
    const std::uint64_t count = bytes.size() / kBlock;
    if (count < 2) return;
    const auto one = bytes.begin() + static_cast<std::ptrdiff_t>(below(count) * kBlock);
    const auto other = bytes.begin() + static_cast<std::ptrdiff_t>(below(count) * kBlock);
    if (one != other) std::swap_ranges(one, one + kBlock, other);
  }

  const Base& base_;
  SeededRandom random_;
};

struct Tally {
  std::uint64_t equal = 0;
  std::uint64_t refused = 0;
  std::uint64_t unopened = 0;
};

void check_all(SimulatedStore& simulated, Tally& tally) {
  for (const TestSnapshot& want : snapshots()) {
    const test::LoadResult loaded = load(*simulated.store, want);
    ASSERT_NE(loaded.loaded, Loaded::Wrong) << want.record.name << ": " << loaded.why;
    ++(loaded.loaded == Loaded::Equal ? tally.equal : tally.refused);
    // Io is what a call that fails says, and none did.
    if (loaded.loaded == Loaded::Refused) {
      ASSERT_NE(loaded.code, ErrorCode::Internal) << loaded.why;
    }
  }
}

void use(SimulatedStore& simulated, Tally& tally) {
  check_all(simulated, tally);
  (void)simulated.store->verify();
  const TestSnapshot fresh = make_snapshot("a", "fresh", counting(1, 17));
  const Result<SnapshotInfo> saved = simulated.save(fresh);
  (void)simulated.store->gc();
  if (saved.ok()) {
    const test::LoadResult loaded = load(*simulated.store, fresh);
    ASSERT_NE(loaded.loaded, Loaded::Wrong) << loaded.why;
  }
  check_all(simulated, tally);
  const TestSnapshot original = snapshots()[0];
  const Result<SnapshotInfo> imported = import_file(*simulated.store, simulated.files, kExportPath,
                                                    {.tenant = "c",
                                                     .name = "one",
                                                     .space = original.record.space,
                                                     .name_page = {},
                                                     .name_root = {},
                                                     .save = {}});
  if (imported.ok()) {
    TestSnapshot want = original;
    want.record.tenant = "c";
    const test::LoadResult loaded = load(*simulated.store, want);
    ASSERT_NE(loaded.loaded, Loaded::Wrong) << loaded.why;
  }
}

TEST(Corruption, LoadsNoWrongPage) {
  const Base base = make_base();
  Tally tally;
  std::uint64_t corruption_count = 0;
  for (const std::uint64_t seed : campaign_seeds(kCorruptionCount)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedStore simulated(Corruptor(base, seed).corrupted());
    ++corruption_count;
    const Result<void> opened = simulated.open();
    if (!opened.ok()) {
      ASSERT_TRUE(opened.error().code() == ErrorCode::Corrupted ||
                  opened.error().code() == ErrorCode::NotSupported)
          << opened.error().message();
      ++tally.unopened;
      continue;
    }
    use(simulated, tally);
    if (HasFatalFailure()) return;
  }
  std::printf("%llu corruptions: %llu loads right, %llu refused, %llu stores not opened, 0 wrong\n",
              static_cast<unsigned long long>(corruption_count),
              static_cast<unsigned long long>(tally.equal),
              static_cast<unsigned long long>(tally.refused),
              static_cast<unsigned long long>(tally.unopened));
  EXPECT_GT(tally.equal, corruption_count / 2);
  EXPECT_GT(tally.refused, corruption_count / 4) << "the damage is seen";
}

}  // namespace
}  // namespace quire::store
