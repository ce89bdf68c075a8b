#include "control/store/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <string_view>

namespace quire::store {
namespace {

constexpr mode_t kFileMode = 0600;  // A tenant's text is private.
constexpr mode_t kFolderMode = 0700;
constexpr std::uint64_t kOffsetMax = std::numeric_limits<off_t>::max();

CallResult result_of(std::int64_t value) {
  if (value < 0) return {.value = -1, .error_number = errno};
  return {.value = value};
}

int number_of(Descriptor descriptor) {
  return static_cast<int>(descriptor);
}

}  // namespace

CallResult PosixFileSystem::open(const std::string& path, OpenMode mode) {
  // Without O_NONBLOCK, opening a pipe without a writer would wait forever.
  int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  flags |= mode == OpenMode::Read ? O_RDONLY : O_RDWR;
  if (mode == OpenMode::CreateOrOpen) flags |= O_CREAT;
  const int descriptor = ::open(path.c_str(), flags, kFileMode);
  if (descriptor < 0) return result_of(-1);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    const int error_number = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    ::close(descriptor);
    return {.value = -1, .error_number = error_number};
  }
  return {.value = descriptor};
}

void PosixFileSystem::close(Descriptor descriptor) {
  ::close(number_of(descriptor));
}

CallResult PosixFileSystem::pread(Descriptor descriptor, std::span<std::byte> into,
                                  std::uint64_t offset) {
  if (offset > kOffsetMax) return {.value = -1, .error_number = EOVERFLOW};
  return result_of(
      ::pread(number_of(descriptor), into.data(), into.size(), static_cast<off_t>(offset)));
}

CallResult PosixFileSystem::pwrite(Descriptor descriptor, std::span<const std::byte> bytes,
                                   std::uint64_t offset) {
  if (offset > kOffsetMax) return {.value = -1, .error_number = EFBIG};
  return result_of(
      ::pwrite(number_of(descriptor), bytes.data(), bytes.size(), static_cast<off_t>(offset)));
}

CallResult PosixFileSystem::fdatasync(Descriptor descriptor) {
  return result_of(::fdatasync(number_of(descriptor)));
}

CallResult PosixFileSystem::ftruncate(Descriptor descriptor, std::uint64_t bytes) {
  if (bytes > kOffsetMax) return {.value = -1, .error_number = EFBIG};
  return result_of(::ftruncate(number_of(descriptor), static_cast<off_t>(bytes)));
}

CallResult PosixFileSystem::file_bytes(Descriptor descriptor) {
  struct stat status{};
  if (::fstat(number_of(descriptor), &status) != 0) return result_of(-1);
  return {.value = status.st_size};
}

CallResult PosixFileSystem::try_lock(Descriptor descriptor) {
  return result_of(::flock(number_of(descriptor), LOCK_EX | LOCK_NB));
}

CallResult PosixFileSystem::rename(const std::string& from, const std::string& to) {
  return result_of(::rename(from.c_str(), to.c_str()));
}

CallResult PosixFileSystem::unlink(const std::string& path) {
  return result_of(::unlink(path.c_str()));
}

CallResult PosixFileSystem::create_folder(const std::string& path) {
  return result_of(::mkdir(path.c_str(), kFolderMode));
}

CallResult PosixFileSystem::fsync_folder(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return result_of(-1);
  const CallResult result = result_of(::fsync(descriptor));
  ::close(descriptor);
  return result;
}

CallResult PosixFileSystem::list_folder(const std::string& path, std::vector<std::string>& names) {
  names.clear();
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return result_of(-1);
  errno = 0;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  const int error_number = errno;
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return {.value = 0, .error_number = error_number};
}

CallResult PosixFileSystem::disk_space(const std::string& folder, DiskSpace& space) {
  struct statvfs status{};
  if (::statvfs(folder.c_str(), &status) != 0) return result_of(-1);
  space.bytes = std::uint64_t{status.f_frsize} * status.f_blocks;
  space.free_bytes = std::uint64_t{status.f_frsize} * status.f_bavail;
  return {};
}

}  // namespace quire::store
