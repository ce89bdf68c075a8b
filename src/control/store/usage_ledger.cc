#include "control/store/usage_ledger.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "control/store/sqlite_database.h"
#include "control/store/sqlite_vfs.h"
#include "control/store/store_file.h"

namespace quire::store {
namespace {

constexpr std::int64_t kLedgerApplicationId = 0x51554c47;  // "QULG".
constexpr std::int64_t kLedgerVersion = 1;
constexpr std::chrono::milliseconds kLockPause{10};
constexpr const char* kLedgerSchema[] = {
    "CREATE TABLE usage(day BLOB NOT NULL, tenant INTEGER NOT NULL, key BLOB NOT NULL, "
    "requests INTEGER NOT NULL, launches INTEGER NOT NULL, tokens_in INTEGER NOT NULL, "
    "tokens_out INTEGER NOT NULL, wall_ns INTEGER NOT NULL, PRIMARY KEY(day, tenant, key)) "
    "WITHOUT ROWID",
    "PRAGMA application_id=1364544583", "PRAGMA user_version=1"};
static_assert(kLedgerApplicationId == 1364544583);

Error no_ledger(const std::string& path, const std::string& why) {
  return Error(ErrorCode::Corrupted, path + " is not a ledger of usage: " + why);
}

// Waits until the holder of the lock gives it up, which takes milliseconds.
Result<StoreFile> locked(FileSystem& files, const std::string& path) {
  StoreFile lock = TRY(StoreFile::open(files, path + ".lock", OpenMode::CreateOrOpen));
  const auto end = std::chrono::steady_clock::now() + UsageLedger::kLockTimeMax;
  while (true) {
    Result<void> taken = lock.lock();
    if (taken.ok()) return lock;
    const bool is_held = taken.error().code() == ErrorCode::Unavailable;
    if (!is_held || std::chrono::steady_clock::now() >= end) return std::move(taken).take_error();
    std::this_thread::sleep_for(kLockPause);
  }
}

Result<std::int64_t> pragma(Database& database, const std::string& path, const char* sql) {
  Query query = TRY(database.query(sql));
  if (!TRY(query.step())) return no_ledger(path, "no answer to a pragma");
  return query.integer_at(0);
}

Result<void> create_or_check(Database& database, const std::string& path) {
  const std::int64_t version = TRY(pragma(database, path, "PRAGMA user_version"));
  const std::int64_t application = TRY(pragma(database, path, "PRAGMA application_id"));
  const std::int64_t tables = TRY(pragma(database, path, "SELECT count(*) FROM sqlite_schema"));
  if (version == 0 && application == 0 && tables == 0) {
    TRY(database.run("BEGIN IMMEDIATE"));
    for (const char* each : kLedgerSchema) TRY(database.run(each));
    return database.run("COMMIT");
  }
  if (application != kLedgerApplicationId) return no_ledger(path, "it is of another program");
  if (version == kLedgerVersion) return {};
  return Error(ErrorCode::NotSupported, path + ": format version " + std::to_string(version) +
                                            "; this build reads " + std::to_string(kLedgerVersion));
}

// The value as SQLite's integers hold it, which end at INT64_MAX.
std::int64_t column(std::uint64_t count) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX / 2));
}
std::uint64_t count_at(const Query& query, int index) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(query.integer_at(index), 0));
}

}  // namespace

Result<void> UsageLedger::add(std::span<const UsageRow> rows) {
  const StoreFile lock = TRY(locked(files_, path_));
  SqliteVfs vfs(files_);
  TRY(remove_empty_journal(files_, path_));
  const std::unique_ptr<Database> database = TRY(Database::open(vfs, path_));
  TRY(create_or_check(*database, path_));
  TRY(database->run("BEGIN IMMEDIATE"));
  for (const UsageRow& each : rows) {
    Query query = TRY(database->query(
        "INSERT INTO usage VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(day, tenant, key) DO UPDATE "
        "SET requests = requests + excluded.requests, launches = launches + excluded.launches, "
        "tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + "
        "excluded.tokens_out, wall_ns = wall_ns + excluded.wall_ns"));
    TRY(query.blob(each.day)
            .integer(each.tenant)
            .blob(each.key)
            .integer(column(each.request_count))
            .integer(column(each.launch_count))
            .integer(column(each.tokens_in))
            .integer(column(each.tokens_out))
            .integer(column(each.wall_ns))
            .run());
  }
  return database->run("COMMIT");
}

Result<std::vector<UsageRow>> UsageLedger::read(const std::string& first_day) {
  // SQLite would make it.
  TRY(StoreFile::open(files_, path_, OpenMode::Read));
  const StoreFile lock = TRY(locked(files_, path_));
  SqliteVfs vfs(files_);
  TRY(remove_empty_journal(files_, path_));
  const std::unique_ptr<Database> database = TRY(Database::open(vfs, path_));
  TRY(create_or_check(*database, path_));
  Query query = TRY(database->query(
      "SELECT day, tenant, key, requests, launches, tokens_in, tokens_out, wall_ns FROM usage "
      "WHERE day >= ? ORDER BY day, tenant, key"));
  query.blob(first_day);
  std::vector<UsageRow> rows;
  while (TRY(query.step())) {
    rows.push_back({query.text_at(0), static_cast<std::uint32_t>(query.integer_at(1)),
                    query.text_at(2), count_at(query, 3), count_at(query, 4), count_at(query, 5),
                    count_at(query, 6), count_at(query, 7)});
  }
  return rows;
}

}  // namespace quire::store
