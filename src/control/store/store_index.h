#pragma once
// StoreIndex: which snapshots there are, which pages they reach and in which slots those lie.
//
// The schema is in store_index.cc. docs/reference/snapshot_format.md describes each column.
// Nothing here is trusted when read: lengths are checked, and what belongs together is summed.
//
// Thread   the store's thread.
// Errors   Corrupted, NotSupported for a file of another version, Io; see sqlite_database.h.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "control/store/records.h"
#include "control/store/sqlite_database.h"

namespace quire::store {

inline constexpr std::int64_t kNoRow = 0;
inline constexpr std::uint64_t kSnapshotRowBytes =
    4096;  // What a snapshot counts beside its record.

struct SpaceRow {
  std::int64_t id = kNoRow;
  PageSpace space;
};

struct PageRow {
  std::int64_t id = kNoRow;
  std::int64_t space = kNoRow;
  PageName name{};
  std::int64_t parent = kNoRow;  // kNoRow: the first page of its context. Of a state: its page.
  std::optional<std::uint64_t> slot;  // None: a link.
  std::vector<std::byte> link;        // The page's header, for a link.
  std::uint64_t bytes = 0;            // On disk.
};

struct SnapshotRow {
  std::int64_t id = kNoRow;
  std::string tenant;
  SnapshotInfo info;
  std::int64_t space = kNoRow;
  std::int64_t last_page = kNoRow;  // Of the tail, else of the chain; kNoRow: none.
  std::vector<std::byte> record;    // record_codec.h
  std::vector<std::byte> checksum;  // record_codec.h
};

struct SnapshotKey {
  std::string tenant;
  std::string name;
};

// The place of a snapshot's pages.
struct SnapshotEnd {
  std::int64_t space = kNoRow;
  std::int64_t last_page = kNoRow;
};

struct ValueRow {
  std::int64_t id = kNoRow;
  std::uint64_t version = 0;
  std::string tenant;
  std::string key;
  std::string value;
  std::vector<std::byte> checksum;
};

// The use of a tenant's values, by the rule of kValueRowBytes.
struct ValueUsage {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

class StoreIndex final {
 public:
  // Makes the file where there is none. What an interrupted transaction left is undone first.
  static Result<std::unique_ptr<StoreIndex>> open(SqliteVfs& vfs, const std::string& folder);
  static std::string path_in(const std::string& folder) { return folder + "/index.sqlite"; }

  Result<void> begin();
  Result<void> commit();
  void roll_back();  // Never fails: where it cannot, the next open does it.

  Result<std::vector<SpaceRow>> spaces();
  Result<std::int64_t> insert_space(const PageSpace& space, const Digest& digest);
  Result<void> delete_space(std::int64_t id);

  Result<std::optional<PageRow>> find_page(std::int64_t space, const PageName& name);
  Result<std::optional<PageRow>> find_page(std::int64_t id);
  Result<void> each_page(const std::function<Result<void>(const PageRow&)>& visit);
  Result<void> each_page_of(std::int64_t space,
                            const std::function<Result<void>(const PageRow&)>& visit);
  Result<std::int64_t> insert_page(const PageRow& row);
  // Another place for the page's bytes: a new slot.
  Result<void> move_page(std::int64_t id, std::uint64_t slot, std::uint64_t bytes);
  Result<void> delete_page(std::int64_t id);
  // From the first page to `last_page`; Corrupted unless they are `page_count`.
  Result<std::vector<PageRow>> chain(std::int64_t last_page, std::uint64_t page_count);
  // All pages that a tenant's snapshots reach, but for those of the snapshot `except`.
  Result<std::unordered_set<std::int64_t>> pages_of_tenant(const std::string& tenant,
                                                           std::int64_t except);

  // The sum of bytes of those pages, and of the rows of the snapshots.
  Result<std::uint64_t> bytes_of_tenant(const std::string& tenant, std::int64_t except);

  Result<std::optional<SnapshotRow>> find_snapshot(const std::string& tenant,
                                                   const std::string& name);
  // A record may have megabytes, so the lists come without. By tenant and name:
  Result<std::vector<SnapshotKey>> snapshot_keys();
  // By name:
  Result<std::vector<SnapshotInfo>> snapshot_infos(const std::string& tenant);
  Result<std::vector<SnapshotEnd>> snapshot_ends();
  Result<void> insert_snapshot(const SnapshotRow& row);
  Result<void> delete_snapshot(std::int64_t id);
  Result<std::vector<std::int64_t>> expired(std::uint64_t now_unix_ms);  // Their ids.

  // store_index_values.cc
  Result<std::optional<ValueRow>> find_value(const std::string& tenant, const std::string& key);
  Result<std::vector<ListedKey>> keys_of(const std::string& tenant, const std::string& prefix,
                                         const std::string& after, std::uint32_t count);
  Result<std::uint64_t> next_value_version(const std::string& tenant);
  // Instead of what was there under its key; its version is the tenant's last from now on.
  Result<void> put_value(const ValueRow& row);
  Result<void> delete_value(std::int64_t id);
  Result<std::map<std::string, ValueUsage>> value_usage();  // By tenant.
  Result<void> each_value(const std::function<Result<void>(const ValueRow&)>& visit);

  // After an error of SQLite's: the index must be opened again.
  bool has_failed() const { return database_->has_failed(); }

  // The findings of SQLite's own check of the whole file; empty if all is well.
  Result<std::vector<std::string>> damages();

 private:
  explicit StoreIndex(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  Result<void> create_or_check_schema();

  std::unique_ptr<Database> database_;
};

}  // namespace quire::store
