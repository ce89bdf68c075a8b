#include "control/store/sqlite_vfs.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "control/store/store_file.h"

namespace quire::store {
namespace {

constexpr int kPathBytesMax = 4096;
constexpr int kSectorBytes = 4096;

// SQLite allocates this for each open file; it begins with the part that SQLite knows.
struct VfsFile {
  sqlite3_file base;
  SqliteVfs* vfs;
  StoreFile* file;
  bool is_entry_unsynced;  // Made by us: its folder is synced with its first sync.
};

VfsFile& of(sqlite3_file* file) {
  return *reinterpret_cast<VfsFile*>(file);
}
SqliteVfs& of(sqlite3_vfs* vfs) {
  return *static_cast<SqliteVfs*>(vfs->pAppData);
}

// SQLITE_OK, or `code` with the reason noted.
int report(SqliteVfs& vfs, Result<void> result, int code) {
  if (result.ok()) return SQLITE_OK;
  vfs.note_failure(std::move(result).take_error());
  return code;
}

int close_file(sqlite3_file* file) {
  delete std::exchange(of(file).file, nullptr);
  return SQLITE_OK;
}

int read_file_part(sqlite3_file* base, void* into, int count, sqlite3_int64 offset) {
  VfsFile& file = of(base);
  const std::span<std::byte> bytes(static_cast<std::byte*>(into), static_cast<std::size_t>(count));
  Result<std::size_t> done = file.file->read_some(static_cast<std::uint64_t>(offset), bytes);
  if (!done.ok()) {
    file.vfs->note_failure(std::move(done).take_error());
    return SQLITE_IOERR_READ;
  }
  if (done.value() == bytes.size()) return SQLITE_OK;
  std::memset(bytes.data() + done.value(), 0, bytes.size() - done.value());
  return SQLITE_IOERR_SHORT_READ;
}

int write_file_part(sqlite3_file* base, const void* from, int count, sqlite3_int64 offset) {
  VfsFile& file = of(base);
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(from),
                                         static_cast<std::size_t>(count));
  return report(*file.vfs, file.file->write(static_cast<std::uint64_t>(offset), bytes),
                SQLITE_IOERR_WRITE);
}

int truncate_file(sqlite3_file* base, sqlite3_int64 bytes) {
  VfsFile& file = of(base);
  return report(*file.vfs, file.file->truncate(static_cast<std::uint64_t>(bytes)),
                SQLITE_IOERR_TRUNCATE);
}

int sync_file(sqlite3_file* base, int) {
  VfsFile& file = of(base);
  const int code = report(*file.vfs, file.file->sync(), SQLITE_IOERR_FSYNC);
  if (code != SQLITE_OK || !file.is_entry_unsynced) return code;
  const int folder_code =
      report(*file.vfs, sync_folder(file.vfs->files(), folder_of(file.file->path())),
             SQLITE_IOERR_DIR_FSYNC);
  file.is_entry_unsynced = folder_code != SQLITE_OK;
  return folder_code;
}

int measure_file(sqlite3_file* base, sqlite3_int64* bytes) {
  VfsFile& file = of(base);
  Result<std::uint64_t> measured = file.file->bytes();
  if (!measured.ok()) {
    file.vfs->note_failure(std::move(measured).take_error());
    return SQLITE_IOERR_FSTAT;
  }
  *bytes = static_cast<sqlite3_int64>(measured.value());
  return SQLITE_OK;
}

int lock_nothing(sqlite3_file*, int) {
  return SQLITE_OK;
}

int check_reserved_lock(sqlite3_file*, int* is_reserved) {
  *is_reserved = 0;
  return SQLITE_OK;
}

int control_file(sqlite3_file*, int, void*) {
  return SQLITE_NOTFOUND;
}
int sector_bytes(sqlite3_file*) {
  return kSectorBytes;
}
int promise_nothing(sqlite3_file*) {
  return 0;
}

constexpr sqlite3_io_methods kFileMethods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file_part,
    .xWrite = write_file_part,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = measure_file,
    .xLock = lock_nothing,
    .xUnlock = lock_nothing,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_file,
    .xSectorSize = sector_bytes,
    .xDeviceCharacteristics = promise_nothing,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs* base, const char* path, sqlite3_file* into, int flags, int* flags_out) {
  SqliteVfs& vfs = of(base);
  VfsFile& file = of(into);
  file.base.pMethods = nullptr;  // Until it is open: SQLite then does not close it.
  constexpr int kKnown = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL;
  if (path == nullptr || (flags & kKnown) == 0) {
    vfs.note_failure(Error(ErrorCode::Internal, "SQLite asks for a temporary file"));
    return SQLITE_CANTOPEN;
  }
  Result<StoreFile> opened = StoreFile::open(vfs.files(), path, OpenMode::ReadWrite);
  bool is_new = false;
  if (!opened.ok() && opened.error().code() == ErrorCode::NotFound &&
      (flags & SQLITE_OPEN_CREATE) != 0) {
    opened = StoreFile::open(vfs.files(), path, OpenMode::CreateOrOpen);
    is_new = true;
  }
  if (!opened.ok()) {
    vfs.note_failure(std::move(opened).take_error());
    return SQLITE_CANTOPEN;
  }
  file.vfs = &vfs;
  file.file = new StoreFile(std::move(opened).take());
  file.is_entry_unsynced = is_new;
  file.base.pMethods = &kFileMethods;
  if (flags_out != nullptr) *flags_out = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* base, const char* path, int sync) {
  SqliteVfs& vfs = of(base);
  Result<void> removed = remove_file(vfs.files(), path);
  if (!removed.ok() && removed.error().code() == ErrorCode::NotFound) {
    return SQLITE_IOERR_DELETE_NOENT;
  }
  const int code = report(vfs, std::move(removed), SQLITE_IOERR_DELETE);
  if (code != SQLITE_OK || sync == 0) return code;
  return report(vfs, sync_folder(vfs.files(), folder_of(path)), SQLITE_IOERR_DIR_FSYNC);
}

// An empty file counts as none, as with SQLite's own VFS.
int access_file(sqlite3_vfs* base, const char* path, int, int* is_there) {
  SqliteVfs& vfs = of(base);
  *is_there = 0;
  Result<StoreFile> opened = StoreFile::open(vfs.files(), path, OpenMode::Read);
  if (!opened.ok()) {
    if (opened.error().code() == ErrorCode::NotFound) return SQLITE_OK;
    vfs.note_failure(std::move(opened).take_error());
    return SQLITE_IOERR_ACCESS;
  }
  Result<std::uint64_t> bytes = opened.value().bytes();
  if (!bytes.ok()) {
    vfs.note_failure(std::move(bytes).take_error());
    return SQLITE_IOERR_ACCESS;
  }
  *is_there = bytes.value() > 0 ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int bytes_max, char* into) {
  const std::size_t bytes = std::strlen(path);
  if (bytes + 1 > static_cast<std::size_t>(bytes_max)) return SQLITE_CANTOPEN;
  std::memcpy(into, path, bytes + 1);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int count, char* into) {
  SystemRandom().fill(std::as_writable_bytes(std::span(into, static_cast<std::size_t>(count))));
  return count;
}

int sleep_not(sqlite3_vfs*, int) {
  return 0;
}

// No statement of ours asks for the time.
int no_time(sqlite3_vfs*, double* julian_day) {
  *julian_day = 0;
  return SQLITE_OK;
}

int no_last_error(sqlite3_vfs*, int, char*) {
  return 0;
}

}  // namespace

SqliteVfs::SqliteVfs(FileSystem& files) : files_(files) {
  char name[64];
  std::snprintf(name, sizeof name, "quire-%p", static_cast<void*>(this));
  name_ = name;
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(VfsFile);
  vfs_.mxPathname = kPathBytesMax;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open_file;
  vfs_.xDelete = delete_file;
  vfs_.xAccess = access_file;
  vfs_.xFullPathname = full_path;
  vfs_.xRandomness = randomness;
  vfs_.xSleep = sleep_not;
  vfs_.xCurrentTime = no_time;
  vfs_.xGetLastError = no_last_error;
  QUIRE_CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK, "SQLite takes a VFS");
}

SqliteVfs::~SqliteVfs() {
  sqlite3_vfs_unregister(&vfs_);
}

std::optional<Error> SqliteVfs::take_failure() {
  return std::exchange(failure_, std::nullopt);
}

}  // namespace quire::store
