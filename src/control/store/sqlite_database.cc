#include "control/store/sqlite_database.h"

#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "control/store/store_file.h"

namespace quire::store {
namespace {

// Lets SQLite read a null pointer as an empty blob, not as NULL.
const void* not_null(const void* pointer) {
  return pointer != nullptr ? pointer : "";
}

bool is_of_the_file_system(int code) {
  switch (code & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return true;
    default:
      return false;
  }
}

}  // namespace

Query::Query(Database& database, sqlite3_stmt* statement)
    : database_(&database), statement_(statement) {}

Query::Query(Query&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      parameter_(other.parameter_) {}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

// Binding fails only for a parameter that is not there or beyond SQLite's limits: ours to get
// right.
Query& Query::integer(std::int64_t value) {
  QUIRE_CHECK(sqlite3_bind_int64(statement_, ++parameter_, value) == SQLITE_OK, "a parameter");
  return *this;
}

Query& Query::blob(std::span<const std::byte> bytes) {
  QUIRE_CHECK(sqlite3_bind_blob64(statement_, ++parameter_, not_null(bytes.data()), bytes.size(),
                                  SQLITE_TRANSIENT) == SQLITE_OK,
              "a parameter");
  return *this;
}

Query& Query::blob(std::string_view text) {
  return blob(std::as_bytes(std::span(text.data(), text.size())));
}

Query& Query::null() {
  QUIRE_CHECK(sqlite3_bind_null(statement_, ++parameter_) == SQLITE_OK, "a parameter");
  return *this;
}

Result<bool> Query::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->error(code);
}

Result<void> Query::run() {
  while (TRY(step())) {
  }
  return {};
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Query::integer_at(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::vector<std::byte> Query::blob_at(int column) const {
  const auto* first = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  const int count = sqlite3_column_bytes(statement_, column);
  if (first == nullptr || count <= 0) return {};
  return {first, first + count};
}

std::string Query::text_at(int column) const {
  const std::vector<std::byte> bytes = blob_at(column);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<void> remove_empty_journal(FileSystem& files, const std::string& path) {
  const std::string journal = path + "-journal";
  {
    Result<StoreFile> file = StoreFile::open(files, journal, OpenMode::Read);
    if (!file.ok()) {
      if (file.error().code() == ErrorCode::NotFound) return {};
      return std::move(file).take_error();
    }
    if (TRY(file.value().bytes()) > 0) return {};
  }
  TRY(remove_file(files, journal));
  return sync_folder(files, folder_of(path));
}

Result<std::unique_ptr<Database>> Database::open(SqliteVfs& vfs, const std::string& path) {
  std::unique_ptr<Database> database(new Database(vfs, path));
  (void)vfs.take_failure();
  const int code =
      sqlite3_open_v2(path.c_str(), &database->connection_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs.name());
  if (code != SQLITE_OK) return database->error(code);
  sqlite3_extended_result_codes(database->connection_, 1);
  sqlite3_db_config(database->connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  for (const char* pragma : {"PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON",
                             "PRAGMA temp_store=MEMORY", "PRAGMA locking_mode=EXCLUSIVE",
                             "PRAGMA journal_mode=TRUNCATE", "PRAGMA synchronous=EXTRA"}) {
    TRY(database->run(pragma));
  }
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(connection_);
}

Result<Query> Database::query(const char* sql) {
  (void)vfs_.take_failure();
  auto found = statements_.find(std::string_view(sql));
  if (found == statements_.end()) {
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return error(code);
    found = statements_.emplace(sql, statement).first;
  }
  QUIRE_CHECK(sqlite3_stmt_busy(found->second) == 0, "a statement runs once at a time");
  return Query(*this, found->second);
}

Result<void> Database::run(const char* sql) {
  Query statement = TRY(query(sql));
  return statement.run();
}

Error Database::error(int code) {
  has_failed_ = true;
  const std::string at = "index " + path_ + ": ";
  std::optional<Error> failure = vfs_.take_failure();
  if (failure.has_value() && is_of_the_file_system(code)) {
    // A file that is NotFound or Unavailable does not mean that a snapshot is.
    return Error(ErrorCode::Io, at + std::string(failure->message()));
  }
  const char* reason = connection_ != nullptr ? sqlite3_errmsg(connection_) : sqlite3_errstr(code);
  return Error(is_of_the_file_system(code) ? ErrorCode::Io : ErrorCode::Corrupted,
               at + printable(reason));
}

}  // namespace quire::store
