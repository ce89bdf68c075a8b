// The table of snapshots.
#include "control/store/store_index.h"

namespace quire::store {
namespace {

// SQLite reads a row up to the last column that is asked for: the record comes last but one.
#define INFO_COLUMNS "name, created_unix_ms, expires_unix_ms, page_count, token_count, bytes"
#define SNAPSHOT_COLUMNS INFO_COLUMNS ", id, tenant, space, last_page, record, checksum"

SnapshotInfo info_at(const Query& query) {
  SnapshotInfo info;
  info.name = query.text_at(0);
  info.created_unix_ms = static_cast<std::uint64_t>(query.integer_at(1));
  info.expires_unix_ms = static_cast<std::uint64_t>(query.integer_at(2));
  info.page_count = static_cast<std::uint32_t>(query.integer_at(3));
  info.token_count = static_cast<std::uint64_t>(query.integer_at(4));
  info.bytes = static_cast<std::uint64_t>(query.integer_at(5));
  return info;
}

SnapshotRow snapshot_at(const Query& query) {
  SnapshotRow row;
  row.info = info_at(query);
  row.id = query.integer_at(6);
  row.tenant = query.text_at(7);
  row.space = query.integer_at(8);
  row.last_page = query.integer_at(9);
  row.record = query.blob_at(10);
  row.checksum = query.blob_at(11);
  return row;
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

Result<std::vector<SnapshotKey>> StoreIndex::snapshot_keys() {
  Query query = TRY(database_->query("SELECT tenant, name FROM snapshots ORDER BY tenant, name"));
  std::vector<SnapshotKey> keys;
  while (TRY(query.step())) keys.push_back({query.text_at(0), query.text_at(1)});
  return keys;
}

Result<std::vector<SnapshotInfo>> StoreIndex::snapshot_infos(const std::string& tenant) {
  Query query = TRY(
      database_->query("SELECT " INFO_COLUMNS " FROM snapshots WHERE tenant = ? ORDER BY name"));
  query.blob(tenant);
  std::vector<SnapshotInfo> infos;
  while (TRY(query.step())) infos.push_back(info_at(query));
  return infos;
}

Result<std::vector<SnapshotEnd>> StoreIndex::snapshot_ends() {
  Query query = TRY(database_->query("SELECT space, last_page FROM snapshots"));
  std::vector<SnapshotEnd> ends;
  while (TRY(query.step())) ends.push_back({query.integer_at(0), query.integer_at(1)});
  return ends;
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

Result<std::vector<std::int64_t>> StoreIndex::expired(std::uint64_t now_unix_ms) {
  Query query =
      TRY(database_->query("SELECT id FROM snapshots WHERE expires_unix_ms <> 0"
                           " AND expires_unix_ms <= ? ORDER BY id"));
  query.integer(static_cast<std::int64_t>(now_unix_ms));
  std::vector<std::int64_t> ids;
  while (TRY(query.step())) ids.push_back(query.integer_at(0));
  return ids;
}

}  // namespace quire::store
