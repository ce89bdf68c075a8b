#include "application/access/key_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "base/file.h"

namespace quire::access {
namespace {

constexpr mode_t kKeyFileMode = 0600;

Error system_error(const std::string& what) {
  return Error(ErrorCode::Io, what + ": " + std::strerror(errno));
}

// Whoever may change the file may make keys.
Result<void> check_owner(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return system_error("cannot look at " + path);
  const bool is_ours = status.st_uid == geteuid() || status.st_uid == 0;
  if (is_ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return Error(ErrorCode::PermissionDenied,
               "others may change the file of keys " + path + ": chmod 600 it");
}

Result<void> write_all(const Descriptor& file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot write " + path);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (fsync(file.get()) != 0) return system_error("cannot write " + path);
  return {};
}

Result<void> sync_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0 || fsync(opened.get()) != 0) return system_error("cannot sync " + folder);
  return {};
}

Result<void> replace(const std::string& path, std::string_view text) {
  const std::string partial = path + ".partial";
  // Someone else may have made a file of that name: this makes a new one, which only we may read.
  if (unlink(partial.c_str()) != 0 && errno != ENOENT) {
    return system_error("cannot remove " + partial);
  }
  {
    const Descriptor file(
        open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kKeyFileMode));
    if (file.get() < 0) return system_error("cannot make " + partial);
    TRY(write_all(file, text, partial));
  }
  if (rename(partial.c_str(), path.c_str()) != 0) return system_error("cannot replace " + path);
  return sync_folder_of(path);
}

Result<Descriptor> lock(const std::string& path) {
  const std::string lock_path = path + ".lock";
  Descriptor file(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kKeyFileMode));
  if (file.get() < 0) return system_error("cannot make " + lock_path);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return system_error("cannot lock " + lock_path);
  return Error(ErrorCode::Unavailable,
               "another `quire keys` changes " + path + " (it has a lock on " + lock_path + ")");
}

}  // namespace

Result<KeyRing> read_key_file(const std::string& path) {
  Result<std::string> text = read_file(path, kKeyFileBytesMax);
  if (!text.ok()) return std::move(text).take_error();
  TRY(check_owner(path));
  Result<KeyRing> ring = KeyRing::parse(text.value());
  if (!ring.ok()) return std::move(ring).take_error().while_(path);
  return ring;
}

Result<void> change_key_file(const std::string& path, MissingFile missing,
                             const std::function<Result<KeyRing>(const KeyRing&)>& change) {
  const Descriptor locked = TRY(lock(path));
  Result<KeyRing> ring = read_key_file(path);
  const bool is_missing = !ring.ok() && ring.error().code() == ErrorCode::NotFound;
  if (is_missing && missing == MissingFile::IsEmpty) ring = KeyRing();
  const KeyRing before = TRY(std::move(ring));
  const KeyRing after = TRY(change(before));
  return replace(path, after.text());
}

}  // namespace quire::access
