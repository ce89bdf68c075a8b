#pragma once
// SqliteVfs lets SQLite use a FileSystem, so that crash and fault tests cover the index as well.
//
// Made for one connection with locking_mode EXCLUSIVE and a rollback journal: there is no shared
// memory, and locks always succeed, because the store's own lock file keeps other processes out.
//
// Thread   that of the connection. SQLite keeps a list of all VFS of the process, with a lock of
//          its own; each object here is one entry, under a name of its own.
#include <sqlite3.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "control/store/file_system.h"

namespace quire::store {

class SqliteVfs final {
 public:
  explicit SqliteVfs(FileSystem& files);
  ~SqliteVfs();  // Requires: its connections are closed.
  SqliteVfs(const SqliteVfs&) = delete;
  SqliteVfs& operator=(const SqliteVfs&) = delete;

  const char* name() const { return name_.c_str(); }
  FileSystem& files() { return files_; }

  // The last system call that failed, which SQLite's own codes do not name; forgets it.
  std::optional<Error> take_failure();
  void note_failure(Error error) { failure_ = std::move(error); }

 private:
  FileSystem& files_;
  std::string name_;
  std::optional<Error> failure_;
  sqlite3_vfs vfs_{};
};

}  // namespace quire::store
