#include "control/store/usage_ledger.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "control/store/posix_file_system.h"

namespace quire::store {
namespace {

namespace fs = std::filesystem;

class Ledger : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("quire_usage_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    path_ = (folder_ / "usage.sqlite").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static UsageRow row(std::string day, std::uint32_t tenant, std::string key, std::uint64_t count) {
    return {std::move(day), tenant,    std::move(key), count,
            2 * count,      3 * count, 4 * count,      5 * count};
  }
  std::vector<UsageRow> read(const std::string& first_day = "") {
    UsageLedger ledger(files_, path_);
    const Result<std::vector<UsageRow>> rows = ledger.read(first_day);
    EXPECT_TRUE(rows.ok()) << rows.error().message();
    return rows.ok() ? rows.value() : std::vector<UsageRow>{};
  }
  void add(const std::vector<UsageRow>& rows) {
    UsageLedger ledger(files_, path_);
    const Result<void> added = ledger.add(rows);
    EXPECT_TRUE(added.ok()) << added.error().message();
  }

  PosixFileSystem files_;
  fs::path folder_;
  std::string path_;
};

TEST_F(Ledger, AddsUpWhatHasOneDayTenantAndKey) {
  add({});
  EXPECT_TRUE(read().empty());
  add({row("2026-11-25", 1, "alice", 1), row("2026-11-25", 1, "bob", 10)});
  add({row("2026-11-25", 1, "alice", 2), row("2026-11-26", 1, "alice", 5),
       row("2026-11-25", 2, "alice", 7), row("2026-11-24", 0, "", 1)});
  EXPECT_EQ(read(), (std::vector<UsageRow>{
                        row("2026-11-24", 0, "", 1), row("2026-11-25", 1, "alice", 3),
                        row("2026-11-25", 1, "bob", 10), row("2026-11-25", 2, "alice", 7),
                        row("2026-11-26", 1, "alice", 5)}));
  EXPECT_EQ(read("2026-11-26"), (std::vector<UsageRow>{row("2026-11-26", 1, "alice", 5)}));
}

TEST_F(Ledger, TwoWritersAtOnceLoseNothing) {
  add({});
  std::vector<std::thread> writers;
  for (std::uint32_t tenant = 0; tenant < 2; ++tenant) {
    writers.emplace_back([&, tenant] {
      PosixFileSystem files;
      UsageLedger ledger(files, path_);
      for (int i = 0; i < 20; ++i) {
        const UsageRow rows[] = {row("2026-11-25", tenant, "k", 1), row("2026-11-25", 9, "k", 1)};
        const Result<void> added = ledger.add(rows);
        EXPECT_TRUE(added.ok()) << added.error().message();
      }
    });
  }
  for (std::thread& each : writers) each.join();
  EXPECT_EQ(read(),
            (std::vector<UsageRow>{row("2026-11-25", 0, "k", 20), row("2026-11-25", 1, "k", 20),
                                   row("2026-11-25", 9, "k", 40)}));
}

TEST_F(Ledger, AFileThatIsNotThereOrOfAnotherKindIsAnErrorAndStaysAsItIs) {
  UsageLedger ledger(files_, path_);
  EXPECT_EQ(ledger.read("").error().code(), ErrorCode::NotFound);
  EXPECT_FALSE(fs::exists(path_));
  std::ofstream(path_) << "not a database, and longer than the header of one, which has 100 bytes: "
                          "so SQLite looks at it and says that it is none.";
  EXPECT_EQ(ledger.read("").error().code(), ErrorCode::Corrupted);
  const std::vector<UsageRow> rows = {row("2026-11-25", 1, "alice", 1)};
  EXPECT_EQ(ledger.add(rows).error().code(), ErrorCode::Corrupted);
  std::string text;
  std::getline(std::ifstream(path_), text);
  EXPECT_TRUE(text.starts_with("not a database"));
}

}  // namespace
}  // namespace quire::store
