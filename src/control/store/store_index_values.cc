// The table of tenants' values.
#include "control/store/store_index.h"

namespace quire::store {
namespace {

#define VALUE_COLUMNS "id, tenant, key, version, value, checksum"

ValueRow value_at(const Query& query) {
  ValueRow row;
  row.id = query.integer_at(0);
  row.tenant = query.text_at(1);
  row.key = query.text_at(2);
  row.version = static_cast<std::uint64_t>(query.integer_at(3));
  row.value = query.text_at(4);
  row.checksum = query.blob_at(5);
  return row;
}

}  // namespace

Result<std::optional<ValueRow>> StoreIndex::find_value(const std::string& tenant,
                                                       const std::string& key) {
  Query query = TRY(database_->query("SELECT " VALUE_COLUMNS " FROM tenant_values"
                                     " WHERE tenant = ? AND key = ?"));
  query.blob(tenant).blob(key);
  if (!TRY(query.step())) return std::optional<ValueRow>();
  return std::optional<ValueRow>(value_at(query));
}

Result<std::vector<ListedKey>> StoreIndex::keys_of(const std::string& tenant,
                                                   const std::string& prefix,
                                                   const std::string& after, std::uint32_t count) {
  Query query =
      TRY(database_->query("SELECT key, version, length(value) FROM tenant_values"
                           " WHERE tenant = ? AND key >= ? AND key > ? ORDER BY key LIMIT ?"));
  query.blob(tenant).blob(prefix).blob(after).integer(count);
  std::vector<ListedKey> keys;
  while (TRY(query.step())) {
    std::string key = query.text_at(0);
    if (!key.starts_with(prefix)) break;  // Keys with one prefix lie beside one another.
    keys.push_back({.key = std::move(key),
                    .version = static_cast<std::uint64_t>(query.integer_at(1)),
                    .value_bytes = static_cast<std::uint32_t>(query.integer_at(2))});
  }
  return keys;
}

Result<std::uint64_t> StoreIndex::next_value_version(const std::string& tenant) {
  Query query = TRY(database_->query("SELECT version FROM value_versions WHERE tenant = ?"));
  query.blob(tenant);
  return TRY(query.step()) ? static_cast<std::uint64_t>(query.integer_at(0)) + 1 : 1;
}

Result<void> StoreIndex::put_value(const ValueRow& row) {
  {
    Query query = TRY(database_->query("DELETE FROM tenant_values WHERE tenant = ? AND key = ?"));
    TRY(query.blob(row.tenant).blob(row.key).run());
  }
  {
    Query query =
        TRY(database_->query("INSERT OR REPLACE INTO value_versions(tenant, version) VALUES(?,?)"));
    TRY(query.blob(row.tenant).integer(static_cast<std::int64_t>(row.version)).run());
  }
  Query query = TRY(database_->query(
      "INSERT INTO tenant_values(tenant, key, version, value, checksum) VALUES(?,?,?,?,?)"));
  return query.blob(row.tenant)
      .blob(row.key)
      .integer(static_cast<std::int64_t>(row.version))
      .blob(row.value)
      .blob(row.checksum)
      .run();
}

Result<void> StoreIndex::delete_value(std::int64_t id) {
  Query query = TRY(database_->query("DELETE FROM tenant_values WHERE id = ?"));
  return query.integer(id).run();
}

Result<std::map<std::string, ValueUsage>> StoreIndex::value_usage() {
  static_assert(kValueRowBytes == 256, "the query says so in SQL");
  Query query =
      TRY(database_->query("SELECT tenant, count(*), sum(length(key) + length(value) + 256)"
                           " FROM tenant_values GROUP BY tenant"));
  std::map<std::string, ValueUsage> usage;
  while (TRY(query.step())) {
    usage[query.text_at(0)] = {.count = static_cast<std::uint64_t>(query.integer_at(1)),
                               .bytes = static_cast<std::uint64_t>(query.integer_at(2))};
  }
  return usage;
}

Result<void> StoreIndex::each_value(const std::function<Result<void>(const ValueRow&)>& visit) {
  Query query =
      TRY(database_->query("SELECT " VALUE_COLUMNS " FROM tenant_values ORDER BY tenant, key"));
  while (TRY(query.step())) TRY(visit(value_at(query)));
  return {};
}

}  // namespace quire::store
