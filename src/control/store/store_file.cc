#include "control/store/store_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/planted_fault.h"

namespace quire::store {
namespace {

constexpr int kInterruptionCountMax = 1000;  // In a row, of one transfer.

std::string reason(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "the disk is full (ENOSPC: " + std::string(std::strerror(ENOSPC)) + ")";
    case EDQUOT:
      return "the disk quota is used up (EDQUOT)";
    case EROFS:
      return "the file system is read-only (EROFS)";
    default:
      return std::strerror(error_number);
  }
}

Error system_error(const std::string& doing, const std::string& path, int error_number) {
  const ErrorCode code = error_number == ENOENT        ? ErrorCode::NotFound
                         : error_number == EWOULDBLOCK ? ErrorCode::Unavailable
                                                       : ErrorCode::Io;
  return Error(code, "cannot " + doing + " " + path + ": " + reason(error_number));
}

std::string range(const char* verb, std::size_t bytes, std::uint64_t offset, const char* side) {
  return std::string(verb) + " " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
         " " + side;
}

Result<void> outcome(const CallResult& result, const char* doing, const std::string& path) {
  if (!result.ok()) return system_error(doing, path, result.error_number);
  return {};
}

}  // namespace

Result<StoreFile> StoreFile::open(FileSystem& files, const std::string& path, OpenMode mode) {
  const CallResult result = files.open(path, mode);
  if (!result.ok()) return system_error("open", path, result.error_number);
  return StoreFile(files, Descriptor{static_cast<int>(result.value)}, path);
}

StoreFile::StoreFile(StoreFile&& other) noexcept
    : files_(std::exchange(other.files_, nullptr)),
      descriptor_(other.descriptor_),
      path_(std::move(other.path_)) {}

StoreFile& StoreFile::operator=(StoreFile&& other) noexcept {
  std::swap(files_, other.files_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

StoreFile::~StoreFile() {
  if (files_ != nullptr) files_->close(descriptor_);
}

Result<std::uint64_t> StoreFile::bytes() const {
  const CallResult result = files_->file_bytes(descriptor_);
  if (!result.ok()) return system_error("measure", path_, result.error_number);
  return static_cast<std::uint64_t>(result.value);
}

Result<std::size_t> StoreFile::read_some(std::uint64_t offset, std::span<std::byte> into) const {
  std::size_t done = 0;
  int interruption_count = 0;
  while (done < into.size()) {
    const CallResult result = files_->pread(descriptor_, into.subspan(done), offset + done);
    if (result.error_number == EINTR && ++interruption_count < kInterruptionCountMax) continue;
    if (!result.ok()) {
      return system_error(range("read", into.size(), offset, "of"), path_, result.error_number);
    }
    if (result.value == 0) break;
    done += static_cast<std::size_t>(result.value);
    interruption_count = 0;
  }
  return done;
}

Result<void> StoreFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  const std::size_t done = TRY(read_some(offset, into));
  if (done < into.size()) {
    const std::uint64_t length = TRY(bytes());
    return Error(ErrorCode::Corrupted, path_ + " ends at byte " + std::to_string(length) +
                                           "; bytes " + std::to_string(offset) + " to " +
                                           std::to_string(offset + into.size()) + " were wanted");
  }
  return {};
}

Result<void> StoreFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  int interruption_count = 0;
  while (done < bytes.size()) {
    const CallResult result = files_->pwrite(descriptor_, bytes.subspan(done), offset + done);
    if (result.error_number == EINTR && ++interruption_count < kInterruptionCountMax) continue;
    if (!result.ok() || result.value == 0) {
      // A write of no bytes without an error would loop forever: there is no room.
      return system_error(range("write", bytes.size(), offset, "of"), path_,
                          result.ok() ? ENOSPC : result.error_number);
    }
    done += static_cast<std::size_t>(result.value);
    interruption_count = 0;
  }
  return {};
}

Result<void> StoreFile::sync() {
  return outcome(files_->fdatasync(descriptor_), "sync", path_);
}

Result<void> StoreFile::truncate(std::uint64_t bytes) {
  const CallResult result = files_->ftruncate(descriptor_, bytes);
  if (!result.ok()) {
    return system_error("set the length to " + std::to_string(bytes) + " of", path_,
                        result.error_number);
  }
  return {};
}

Result<void> StoreFile::lock() {
  return outcome(files_->try_lock(descriptor_), "lock", path_);
}

Result<void> rename_file(FileSystem& files, const std::string& from, const std::string& to) {
  const CallResult result = files.rename(from, to);
  if (!result.ok()) return system_error("rename to " + to, from, result.error_number);
  return {};
}

Result<void> remove_file(FileSystem& files, const std::string& path) {
  return outcome(files.unlink(path), "remove", path);
}

Result<void> create_folder(FileSystem& files, const std::string& path) {
  const CallResult result = files.create_folder(path);
  if (result.error_number == EEXIST) return {};
  return outcome(result, "create the folder", path);
}

Result<void> sync_folder(FileSystem& files, const std::string& path) {
  if (is_planted(Fault::FolderNotSynced)) return {};
  return outcome(files.fsync_folder(path), "sync the folder", path);
}

Result<std::vector<std::string>> list_folder(FileSystem& files, const std::string& path) {
  std::vector<std::string> names;
  TRY(outcome(files.list_folder(path, names), "list the folder", path));
  return names;
}

Result<DiskSpace> disk_space(FileSystem& files, const std::string& folder) {
  DiskSpace space;
  TRY(outcome(files.disk_space(folder, space), "measure the disk of", folder));
  return space;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace quire::store
