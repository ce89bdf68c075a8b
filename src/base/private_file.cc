#include "base/private_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace quire {
namespace {

constexpr mode_t kPrivateMode = 0600;

Error system_error(const std::string& what) {
  return Error(ErrorCode::Io, what + ": " + std::strerror(errno));
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

}  // namespace

Result<Descriptor> lock_beside(const std::string& path) {
  const std::string lock_path = path + ".lock";
  Descriptor file(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kPrivateMode));
  if (file.get() < 0) return system_error("cannot make " + lock_path);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return system_error("cannot lock " + lock_path);
  return Error(ErrorCode::Unavailable,
               "another process changes " + path + " (it has a lock on " + lock_path + ")");
}

Result<void> replace_private_file(const std::string& path, std::string_view text) {
  const std::string partial = path + ".partial";
  // Someone else may have made a file of that name: this makes a new one, which only we may read.
  if (unlink(partial.c_str()) != 0 && errno != ENOENT) {
    return system_error("cannot remove " + partial);
  }
  {
    const Descriptor file(
        open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPrivateMode));
    if (file.get() < 0) return system_error("cannot make " + partial);
    TRY(write_all(file, text, partial));
  }
  if (rename(partial.c_str(), path.c_str()) != 0) return system_error("cannot replace " + path);
  return sync_folder_of(path);
}

}  // namespace quire
