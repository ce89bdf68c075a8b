#include "control/store/store_index.h"

#include <algorithm>
#include <cstring>

#include "control/store/page_image.h"
#include "control/store/page_space.h"
#include "control/store/store_file.h"

namespace quire::store {
namespace {

constexpr std::int64_t kApplicationId = 0x51495245;  // "QIRE"
constexpr std::int64_t kSchemaVersion = 2;

constexpr const char* kSchema[] = {
    "CREATE TABLE spaces(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE,"
    " description BLOB NOT NULL) STRICT",
    "CREATE TABLE pages(id INTEGER PRIMARY KEY, space INTEGER NOT NULL, name BLOB NOT NULL,"
    " parent INTEGER NOT NULL, slot INTEGER, link BLOB, bytes INTEGER NOT NULL,"
    " UNIQUE(space, name), UNIQUE(space, slot)) STRICT",
    "CREATE TABLE snapshots(id INTEGER PRIMARY KEY, tenant BLOB NOT NULL, name BLOB NOT NULL,"
    " created_unix_ms INTEGER NOT NULL, expires_unix_ms INTEGER NOT NULL,"
    " space INTEGER NOT NULL, last_page INTEGER NOT NULL, page_count INTEGER NOT NULL,"
    " token_count INTEGER NOT NULL, bytes INTEGER NOT NULL, record BLOB NOT NULL,"
    " checksum BLOB NOT NULL, UNIQUE(tenant, name)) STRICT",
    "PRAGMA application_id=0x51495245",
    "PRAGMA user_version=1",
};

// From version 1 to 2.
constexpr const char* kSchemaOfValues[] = {
    "CREATE TABLE tenant_values(id INTEGER PRIMARY KEY, tenant BLOB NOT NULL, key BLOB NOT NULL,"
    " version INTEGER NOT NULL, value BLOB NOT NULL, checksum BLOB NOT NULL,"
    " UNIQUE(tenant, key)) STRICT",
    // The last version that a tenant was given: none comes again when its value is deleted.
    "CREATE TABLE value_versions(tenant BLOB PRIMARY KEY, version INTEGER NOT NULL) STRICT",
    "PRAGMA user_version=2",
};

#define PAGE_COLUMNS "id, space, name, parent, slot, link, bytes"
// Every page that the snapshots of ?1 but ?2 reach, each once.
#define PAGES_OF_TENANT                                                                         \
  "WITH RECURSIVE reached(id) AS (SELECT last_page FROM snapshots WHERE tenant = ? AND id <> ?" \
  " UNION SELECT parent FROM pages JOIN reached ON pages.id = reached.id) "

static_assert(kSnapshotRowBytes == 4096, "bytes_of_tenant says so in SQL");

Error damaged_index(const std::string& what) {
  return Error(ErrorCode::Corrupted, "index: " + what);
}

std::span<const std::byte> bytes_of(const PageName& name) {
  return std::as_bytes(std::span(name));
}

Result<PageRow> page_at(const Query& query) {
  PageRow row;
  row.id = query.integer_at(0);
  row.space = query.integer_at(1);
  const std::vector<std::byte> name = query.blob_at(2);
  row.parent = query.integer_at(3);
  if (!query.is_null(4)) row.slot = static_cast<std::uint64_t>(query.integer_at(4));
  row.link = query.blob_at(5);
  row.bytes = static_cast<std::uint64_t>(query.integer_at(6));
  if (name.size() != row.name.size()) return damaged_index("a page's name is not 32 bytes");
  std::memcpy(row.name.data(), name.data(), name.size());
  if (!row.slot.has_value() && row.link.size() != kPageHeaderBytes) {
    return damaged_index("page " + hex(row.name) + " has neither a slot nor a link");
  }
  return row;
}

}  // namespace

Result<std::unique_ptr<StoreIndex>> StoreIndex::open(SqliteVfs& vfs, const std::string& folder) {
  const std::string path = path_in(folder);
  TRY(remove_empty_journal(vfs.files(), path));
  std::unique_ptr<Database> database = TRY(Database::open(vfs, path));
  std::unique_ptr<StoreIndex> index(new StoreIndex(std::move(database)));
  TRY(index->create_or_check_schema());
  return index;
}

Result<void> StoreIndex::create_or_check_schema() {
  const auto number_of = [this](const char* pragma) -> Result<std::int64_t> {
    Query query = TRY(database_->query(pragma));
    if (!TRY(query.step())) return damaged_index("no answer to a pragma");
    return query.integer_at(0);
  };
  const std::int64_t version = TRY(number_of("PRAGMA user_version"));
  const std::int64_t application = TRY(number_of("PRAGMA application_id"));
  const std::int64_t tables = TRY(number_of("SELECT count(*) FROM sqlite_schema"));
  if (version == 0 && application == 0 && tables == 0) {
    TRY(begin());
    for (const char* statement : kSchema) TRY(database_->run(statement));
    for (const char* statement : kSchemaOfValues) TRY(database_->run(statement));
    return commit();
  }
  if (application == kApplicationId && version == 1) {
    TRY(begin());
    for (const char* statement : kSchemaOfValues) TRY(database_->run(statement));
    return commit();
  }
  if (application != kApplicationId) return damaged_index("the file is of another program");
  if (version != kSchemaVersion) {
    return Error(ErrorCode::NotSupported, "index: format version " + std::to_string(version) +
                                              "; this build reads " +
                                              std::to_string(kSchemaVersion));
  }
  return {};
}

Result<void> StoreIndex::begin() {
  return database_->run("BEGIN IMMEDIATE");
}
Result<void> StoreIndex::commit() {
  return database_->run("COMMIT");
}
void StoreIndex::roll_back() {
  (void)database_->run("ROLLBACK");
}

Result<std::vector<SpaceRow>> StoreIndex::spaces() {
  Query query = TRY(database_->query("SELECT id, digest, description FROM spaces ORDER BY id"));
  std::vector<SpaceRow> rows;
  while (TRY(query.step())) {
    const std::vector<std::byte> digest = query.blob_at(1);
    const std::vector<std::byte> description = query.blob_at(2);
    ByteReader reader(description);
    SpaceRow row{query.integer_at(0), decode_space(reader)};
    if (!reader.at_end() || !check_space(row.space).ok() ||
        !std::ranges::equal(digest, bytes_of(sha256(description)))) {
      return damaged_index("the description of page space " + std::to_string(row.id) +
                           " is damaged");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::int64_t> StoreIndex::insert_space(const PageSpace& space, const Digest& digest) {
  Query query = TRY(database_->query("INSERT INTO spaces(digest, description) VALUES(?, ?)"));
  TRY(query.blob(bytes_of(digest)).blob(encode_space(space)).run());
  return database_->last_id();
}

Result<void> StoreIndex::delete_space(std::int64_t id) {
  Query query = TRY(database_->query("DELETE FROM spaces WHERE id = ?"));
  return query.integer(id).run();
}

Result<std::optional<PageRow>> StoreIndex::find_page(std::int64_t space, const PageName& name) {
  Query query =
      TRY(database_->query("SELECT " PAGE_COLUMNS " FROM pages WHERE space = ? AND name = ?"));
  query.integer(space).blob(bytes_of(name));
  if (!TRY(query.step())) return std::optional<PageRow>();
  return std::optional<PageRow>(TRY(page_at(query)));
}

Result<std::optional<PageRow>> StoreIndex::find_page(std::int64_t id) {
  Query query = TRY(database_->query("SELECT " PAGE_COLUMNS " FROM pages WHERE id = ?"));
  query.integer(id);
  if (!TRY(query.step())) return std::optional<PageRow>();
  return std::optional<PageRow>(TRY(page_at(query)));
}

Result<void> StoreIndex::each_page(const std::function<Result<void>(const PageRow&)>& visit) {
  Query query = TRY(database_->query("SELECT " PAGE_COLUMNS " FROM pages ORDER BY id"));
  while (TRY(query.step())) {
    const PageRow row = TRY(page_at(query));
    TRY(visit(row));
  }
  return {};
}

Result<void> StoreIndex::each_page_of(std::int64_t space,
                                      const std::function<Result<void>(const PageRow&)>& visit) {
  Query query = TRY(database_->query("SELECT " PAGE_COLUMNS " FROM pages WHERE space = ?"));
  query.integer(space);
  while (TRY(query.step())) {
    const PageRow row = TRY(page_at(query));
    TRY(visit(row));
  }
  return {};
}

Result<std::int64_t> StoreIndex::insert_page(const PageRow& row) {
  Query query = TRY(database_->query(
      "INSERT INTO pages(space, name, parent, slot, link, bytes) VALUES(?, ?, ?, ?, ?, ?)"));
  query.integer(row.space).blob(bytes_of(row.name)).integer(row.parent);
  if (row.slot.has_value()) {
    query.integer(static_cast<std::int64_t>(*row.slot)).null();
  } else {
    query.null().blob(row.link);
  }
  TRY(query.integer(static_cast<std::int64_t>(row.bytes)).run());
  return database_->last_id();
}

Result<void> StoreIndex::move_page(std::int64_t id, std::uint64_t slot, std::uint64_t bytes) {
  Query query =
      TRY(database_->query("UPDATE pages SET slot = ?, link = NULL, bytes = ? WHERE id = ?"));
  return query.integer(static_cast<std::int64_t>(slot))
      .integer(static_cast<std::int64_t>(bytes))
      .integer(id)
      .run();
}

Result<void> StoreIndex::delete_page(std::int64_t id) {
  Query query = TRY(database_->query("DELETE FROM pages WHERE id = ?"));
  return query.integer(id).run();
}

Result<std::vector<PageRow>> StoreIndex::chain(std::int64_t last_page, std::uint64_t page_count) {
  std::vector<PageRow> rows;
  for (std::int64_t id = last_page; id != kNoRow;) {
    if (rows.size() == page_count) return damaged_index("a snapshot has more pages than it should");
    std::optional<PageRow> row = TRY(find_page(id));
    if (!row.has_value()) return damaged_index("a snapshot has lost a page");
    // Parents are inserted first, so that ids rise: anything else would be a circle.
    if (row->parent >= row->id) return damaged_index("a page descends from a later one");
    id = row->parent;
    rows.push_back(*std::move(row));
  }
  if (rows.size() != page_count) return damaged_index("a snapshot has fewer pages than it should");
  std::reverse(rows.begin(), rows.end());
  return rows;
}

Result<std::unordered_set<std::int64_t>> StoreIndex::pages_of_tenant(const std::string& tenant,
                                                                     std::int64_t except) {
  Query query = TRY(database_->query(PAGES_OF_TENANT "SELECT id FROM reached WHERE id <> 0"));
  query.blob(tenant).integer(except);
  std::unordered_set<std::int64_t> ids;
  while (TRY(query.step())) ids.insert(query.integer_at(0));
  return ids;
}

Result<std::uint64_t> StoreIndex::bytes_of_tenant(const std::string& tenant, std::int64_t except) {
  std::uint64_t bytes = 0;
  for (const char* sql :
       {PAGES_OF_TENANT "SELECT sum(pages.bytes) FROM reached JOIN pages ON pages.id = reached.id",
        "SELECT sum(length(record)) + 4096 * count(*) FROM snapshots WHERE tenant = ? AND id <> "
        "?"}) {
    Query query = TRY(database_->query(sql));
    query.blob(tenant).integer(except);
    if (!TRY(query.step())) return damaged_index("a sum without a row");
    bytes += static_cast<std::uint64_t>(query.integer_at(0));
  }
  return bytes;
}

Result<std::vector<std::string>> StoreIndex::damages() {
  Query query = TRY(database_->query("PRAGMA integrity_check"));
  std::vector<std::string> found;
  while (TRY(query.step())) {
    std::string text = query.text_at(0);
    if (text != "ok") found.push_back(std::move(text));
  }
  return found;
}

}  // namespace quire::store
