#include "inference/model_store/part_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "inference/model_store/stored_files.h"

namespace quire::inference {
namespace {

namespace fs = std::filesystem;
constexpr int kLockAttemptCountMax = 100;
constexpr const char* kLockName = "lock";

std::string fetch_folder(const std::string& models, const std::string& name) {
  return models + "/.fetch." + name;
}

Error of_file(const std::string& doing, const std::string& path) {
  return Error(ErrorCode::Io, "cannot " + doing + " " + path + ": " + std::strerror(errno));
}

// Whether the descriptor is still the file of this path.
bool is_file_at(int descriptor, const std::string& path) {
  struct stat ours{};
  struct stat there{};
  return ::fstat(descriptor, &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

}  // namespace

Result<PartFolder> PartFolder::open(const std::string& models, const std::string& name) {
  const std::string path = fetch_folder(models, name);
  const std::string lock_path = path + "/" + kLockName;
  // Another process may remove the folder between two steps, when its model is whole.
  for (int attempt = 0; attempt < kLockAttemptCountMax; ++attempt) {
    std::error_code code;
    fs::create_directories(path, code);
    if (code) return io_error("make " + path, code);
    Descriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock.get() < 0 && errno == ENOENT) continue;
    if (lock.get() < 0) return of_file("open", lock_path);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return of_file("lock", lock_path);
      return Error(ErrorCode::Unavailable, "another process is fetching the model \"" + name +
                                               "\" (it holds " + lock_path + ")");
    }
    if (is_file_at(lock.get(), lock_path)) return PartFolder(path, std::move(lock));
  }
  return Error(ErrorCode::Unavailable, "cannot lock " + lock_path);
}

bool PartFolder::exists(const std::string& models, const std::string& name) {
  std::error_code code;
  return fs::is_directory(fetch_folder(models, name), code);
}

Result<void> PartFolder::keep_only(const std::vector<std::string>& digests) const {
  for (const std::string& file : TRY(files_of(path_))) {
    const std::string digest = file.substr(0, file.find('.'));
    if (file == kLockName || std::ranges::find(digests, digest) != digests.end()) continue;
    std::error_code code;
    fs::remove(path_ + "/" + file, code);
    if (code) return io_error("remove " + path_ + "/" + file, code);
  }
  return {};
}

Result<void> PartFolder::remove() const {
  std::error_code code;
  fs::remove_all(path_, code);
  if (code) return io_error("remove " + path_, code);
  return {};
}

Result<void> PartFolder::remove_if_empty() const {
  const std::uint64_t bytes = TRY(bytes_of(path_));
  return bytes == 0 ? remove() : Result<void>();
}

bool PartFolder::is_whole(const std::string& digest) const {
  std::error_code code;
  return fs::exists(whole_path(digest), code);
}

std::uint64_t PartFolder::bytes_of_file(const std::string& digest) const {
  std::error_code code;
  const std::uintmax_t bytes =
      fs::file_size(is_whole(digest) ? whole_path(digest) : part_path(digest), code);
  return code ? 0 : bytes;
}

Result<PartFile> PartFile::open(const std::string& path, Watched& watched) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.get() < 0) return of_file("open", path);
  PartFile part(path, std::move(file));
  TRY(for_each_chunk(path, watched, [&](std::span<const std::byte> bytes) -> Result<void> {
    part.hash_.add(bytes);
    part.bytes_ += bytes.size();
    return {};
  }));
  return part;
}

Result<void> PartFile::append(std::span<const std::byte> bytes) {
  TRY(write_all(file_.get(), bytes, path_));
  hash_.add(bytes);
  bytes_ += bytes.size();
  return {};
}

Result<void> PartFile::restart() {
  if (::ftruncate(file_.get(), 0) != 0) return of_file("empty", path_);
  hash_ = Sha256();
  bytes_ = 0;
  return {};
}

Result<std::string> PartFile::finish() {
  if (::fsync(file_.get()) != 0) return of_file("store", path_);
  return hex(hash_.finish());
}

}  // namespace quire::inference
