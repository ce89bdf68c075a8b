// Tests of what snapshots may have of the disk, and of what is left of it for values.
#include <gtest/gtest.h>

#include <string>

#include "support/store_fixture.h"

namespace quire::store::snapshot_room_test {
namespace {

using test::code_of;
using test::counting;
using test::make_snapshot;

class RoomForSnapshots : public test::StoreFixture {
 protected:
  // Two pages each, of 8 KiB.
  ErrorCode save(const std::string& tenant, int number, bool overwrite = false) {
    const std::string name = overwrite ? "one" : "n" + std::to_string(number);
    const auto seed = static_cast<std::uint32_t>(1 + 100 * (++next_seed_));
    return code_of(simulated_.save(make_snapshot(tenant, name, counting(seed, 8)), overwrite));
  }
  int save_all(const std::string& tenant) {
    int count = 0;
    while (count < 1000 && save(tenant, count) == ErrorCode::Internal) ++count;
    const Result<std::vector<Damage>> damages = store().verify();
    EXPECT_TRUE(damages.ok() && damages.value().empty());
    return count;
  }
  void open_with(std::uint64_t disk_bytes, std::optional<std::uint64_t> total_max = {}) {
    simulated_.files.bytes_max = disk_bytes;
    simulated_.options.shares = &shares_;
    simulated_.options.snapshot_bytes_total_max = total_max;
    reopen();
  }

  SnapshotShares shares_;

 private:
  std::uint32_t next_seed_ = 0;
};

constexpr std::uint64_t kMebibyte = 1u << 20;

TEST_F(RoomForSnapshots, OneTenantHasHalfOfWhatTheOthersLeave) {
  open_with(64 * kMebibyte, 4 * kMebibyte);
  shares_.set_several(true);
  const int first = save_all("1");
  EXPECT_GT(first, 50);
  EXPECT_EQ(save("1", 1000), ErrorCode::QuotaExceeded);
  EXPECT_LE(shares_.figures().bytes, 2 * kMebibyte);
  const int second = save_all("2");
  EXPECT_GE(second, first / 2);
  EXPECT_GT(save_all("3"), 0);
  EXPECT_LE(shares_.figures().bytes, 4 * kMebibyte);
}

TEST_F(RoomForSnapshots, AnOperatorGivesATenantAShare) {
  open_with(64 * kMebibyte, 4 * kMebibyte);
  shares_.set_several(true);
  shares_.set_share("1", kMebibyte);
  save_all("1");
  EXPECT_LE(shares_.figures().bytes, kMebibyte);
  EXPECT_GT(shares_.figures().bytes, kMebibyte / 2);
}

TEST_F(RoomForSnapshots, ValuesAreStoredWhenSnapshotsHaveTakenAllThatTheyGet) {
  for (const std::uint64_t total : {std::uint64_t{1} << 40, std::uint64_t{0}}) {
    SCOPED_TRACE(total);
    open_with(4 * kMebibyte, total == 0 ? std::nullopt : std::optional(total));
    save_all("1");
    const SnapshotFigures figures = shares_.figures();
    EXPECT_NEAR(static_cast<double>(figures.reserve_bytes), 0.05 * 4 * kMebibyte, 100);
    EXPECT_GE(figures.free_bytes, figures.reserve_bytes / 2);
    for (int each = 0; each < 10; ++each) {
      const auto put =
          store().put_value("2", "key " + std::to_string(each), std::string(10'000, 'v'), {});
      EXPECT_TRUE(put.ok()) << put.error().message();
    }
  }
}

TEST_F(RoomForSnapshots, ReplacedSnapshotsMakeRoomForTheNext) {
  open_with(16 * kMebibyte, kMebibyte);
  for (int each = 0; each < 200; ++each) {
    ASSERT_EQ(save("1", each, true), ErrorCode::Internal) << each;
  }
  open_with(2 * kMebibyte, std::uint64_t{1} << 40);
  for (int each = 0; each < 200; ++each) {
    ASSERT_EQ(save("1", each, true), ErrorCode::Internal) << each;
  }
}

TEST_F(RoomForSnapshots, TheDefaultIsWhatWasFreeAndWhatIsStoredAlready) {
  open_with(16 * kMebibyte);
  const std::uint64_t before = shares_.figures().bytes_max;
  EXPECT_LE(before, 16 * kMebibyte / 100 * 80);
  EXPECT_GT(before, 12 * kMebibyte);
  for (int each = 0; each < 100; ++each) save("1", each);
  open_with(16 * kMebibyte);
  EXPECT_GT(shares_.figures().bytes, 2 * 100 * 8'000u);
  EXPECT_NEAR(static_cast<double>(shares_.figures().bytes_max), static_cast<double>(before), 0.3e6);
}

}  // namespace
}  // namespace quire::store::snapshot_room_test
