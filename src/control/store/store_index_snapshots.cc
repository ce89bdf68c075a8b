// The table of snapshots.
#include "control/store/store_index.h"

namespace quire::store {
namespace {

#define SNAPSHOT_COLUMNS                                                               \
  "id, tenant, name, created_unix_ms, expires_unix_ms, space, last_page, page_count, " \
  "token_count, bytes, record, checksum"

SnapshotRow snapshot_at(const Query& query) {
  SnapshotRow row;
  row.id = query.integer_at(0);
  row.tenant = query.text_at(1);
  row.info.name = query.text_at(2);
  row.info.created_unix_ms = static_cast<std::uint64_t>(query.integer_at(3));
  row.info.expires_unix_ms = static_cast<std::uint64_t>(query.integer_at(4));
  row.space = query.integer_at(5);
  row.last_page = query.integer_at(6);
  row.info.page_count = static_cast<std::uint32_t>(query.integer_at(7));
  row.info.token_count = static_cast<std::uint64_t>(query.integer_at(8));
  row.info.bytes = static_cast<std::uint64_t>(query.integer_at(9));
  row.record = query.blob_at(10);
  row.checksum = query.blob_at(11);
  return row;
}

Result<std::vector<SnapshotRow>> all_snapshots(Query& query) {
  std::vector<SnapshotRow> rows;
  while (TRY(query.step())) rows.push_back(snapshot_at(query));
  return rows;
}

}  // namespace

Result<std::optional<SnapshotRow>> StoreIndex::find_snapshot(const std::string& tenant,
                                                             const std::string& name) {
  Query query = TRY(
      database_->query("SELECT " SNAPSHOT_COLUMNS " FROM snapshots WHERE tenant = ? AND name = ?"));
  query.blob(tenant).blob(name);
  if (!TRY(query.step())) return std::optional<SnapshotRow>();
  return std::optional<SnapshotRow>(snapshot_at(query));
}

Result<std::vector<SnapshotRow>> StoreIndex::snapshots() {
  Query query =
      TRY(database_->query("SELECT " SNAPSHOT_COLUMNS " FROM snapshots ORDER BY tenant, name"));
  return all_snapshots(query);
}

Result<std::vector<SnapshotRow>> StoreIndex::snapshots(const std::string& tenant) {
  Query query = TRY(database_->query("SELECT " SNAPSHOT_COLUMNS
                                     " FROM snapshots WHERE tenant = ? ORDER BY name"));
  query.blob(tenant);
  return all_snapshots(query);
}

Result<void> StoreIndex::insert_snapshot(const SnapshotRow& row) {
  Query query = TRY(database_->query(
      "INSERT INTO snapshots(tenant, name, created_unix_ms, expires_unix_ms, space, last_page,"
      " page_count, token_count, bytes, record, checksum) VALUES(?,?,?,?,?,?,?,?,?,?,?)"));
  return query.blob(row.tenant)
      .blob(row.info.name)
      .integer(static_cast<std::int64_t>(row.info.created_unix_ms))
      .integer(static_cast<std::int64_t>(row.info.expires_unix_ms))
      .integer(row.space)
      .integer(row.last_page)
      .integer(row.info.page_count)
      .integer(static_cast<std::int64_t>(row.info.token_count))
      .integer(static_cast<std::int64_t>(row.info.bytes))
      .blob(row.record)
      .blob(row.checksum)
      .run();
}

Result<void> StoreIndex::delete_snapshot(std::int64_t id) {
  Query query = TRY(database_->query("DELETE FROM snapshots WHERE id = ?"));
  return query.integer(id).run();
}

Result<std::vector<SnapshotRow>> StoreIndex::expired(std::uint64_t now_unix_ms) {
  Query query = TRY(database_->query(
      "SELECT " SNAPSHOT_COLUMNS
      " FROM snapshots WHERE expires_unix_ms <> 0 AND expires_unix_ms <= ? ORDER BY id"));
  query.integer(static_cast<std::int64_t>(now_unix_ms));
  return all_snapshots(query);
}

}  // namespace quire::store
