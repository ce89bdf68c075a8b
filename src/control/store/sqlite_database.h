#pragma once
// Database: one SQLite connection over a SqliteVfs, its prepared statements, and its errors as
// errors of this project.
//
// Thread   the store's thread.
// Errors   Corrupted if SQLite finds the file damaged or without what it should hold; Io with the
//          system's reason if a file failed. After an error the connection is to be closed: the
//          outcome of a transaction that could not be committed is known only to the next one.
#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/store/sqlite_vfs.h"

namespace quire::store {

class Database;

// One run of a prepared statement; ready for the next when destroyed.
class Query final {
 public:
  Query(Query&& other) noexcept;
  Query& operator=(Query&&) = delete;
  ~Query();

  // Parameters in the order of the question marks.
  Query& integer(std::int64_t value);
  Query& blob(std::span<const std::byte> bytes);
  Query& blob(std::string_view text);
  Query& null();

  Result<bool> step();  // True: there is a row.
  Result<void> run();   // Steps to the end.

  bool is_null(int column) const;
  std::int64_t integer_at(int column) const;
  std::vector<std::byte> blob_at(int column) const;
  std::string text_at(int column) const;

 private:
  friend class Database;
  Query(Database& database, sqlite3_stmt* statement);

  Database* database_;
  sqlite3_stmt* statement_;  // Null once moved from.
  int parameter_ = 0;
};

// An empty journal whose length was never synced could come back, full, after a crash. Without its
// entry in the folder it cannot. Before open().
Result<void> remove_empty_journal(FileSystem& files, const std::string& path);

class Database final {
 public:
  static Result<std::unique_ptr<Database>> open(SqliteVfs& vfs, const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `sql` is a literal: it is prepared once and found again by its text. Not while it runs.
  Result<Query> query(const char* sql);
  Result<void> run(const char* sql);  // Of literals without parameters; each once.
  bool has_failed() const { return has_failed_; }
  std::int64_t last_id() const { return sqlite3_last_insert_rowid(connection_); }

 private:
  friend class Query;
  Database(SqliteVfs& vfs, std::string path) : vfs_(vfs), path_(std::move(path)) {}
  Error error(int code);

  SqliteVfs& vfs_;
  std::string path_;
  sqlite3* connection_ = nullptr;
  bool has_failed_ = false;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

}  // namespace quire::store
