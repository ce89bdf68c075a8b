#include "base/folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace quire {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_CLOEXEC | O_DIRECTORY;

Error system_error(const std::string& path, int number) {
  if (number == EXDEV || number == ELOOP) {
    return Error(ErrorCode::PermissionDenied,
                 path +
                     " is a link that leaves its folder, or goes through one; put the file "
                     "itself in its place");
  }
  const ErrorCode code = number == ENOENT   ? ErrorCode::NotFound
                         : number == EACCES ? ErrorCode::PermissionDenied
                                            : ErrorCode::Io;
  return Error(code, "cannot open " + path + ": " + std::strerror(number));
}

// One name after the other, and no link at all. The number of the file, or -1 with errno.
int open_without_links(int folder, const std::string& name, int flags) {
  Descriptor at;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = name.find('/', begin);
    const std::string part = name.substr(begin, end - begin);
    const bool is_last = end == std::string::npos;
    const int from = at.get() >= 0 ? at.get() : folder;
    Descriptor next(openat(from, part.c_str(), (is_last ? flags : kFolderFlags) | O_NOFOLLOW));
    if (next.get() < 0) return -1;
    if (is_last) return next.release();
    at = std::move(next);
    begin = end + 1;
  }
}

}  // namespace

Result<Folder> Folder::open(const std::string& path) {
  return open_as(path, path);
}

Result<Folder> Folder::open_as(const std::string& path, const std::string& shown) {
  Descriptor descriptor(::open(path.c_str(), kFolderFlags));
  if (descriptor.get() < 0) return system_error(shown, errno);
  return Folder(std::move(descriptor), shown);
}

Result<Folder> Folder::open_with_links(const std::string& path) {
  Folder folder = TRY(open(path));
  folder.follows_links_ = true;
  return folder;
}

Result<Descriptor> Folder::open_descriptor(const std::string& name, int flags) const {
  const std::string slashed = "/" + name + "/";
  if (name.empty() || name.find('\0') != std::string::npos || name.front() == '/' ||
      slashed.find("/../") != std::string::npos) {
    return Error(ErrorCode::PermissionDenied,
                 "\"" + name.substr(0, name.find('\0')) + "\" does not lie below " + path_);
  }
  if (follows_links_) {
    Descriptor opened(openat(descriptor_.get(), name.c_str(), flags));
    if (opened.get() < 0) return system_error(path_of(name), errno);
    return opened;
  }
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  Descriptor opened(
      static_cast<int>(syscall(SYS_openat2, descriptor_.get(), name.c_str(), &how, sizeof how)));
  if (opened.get() < 0 && (errno == ENOSYS || errno == EPERM)) {
    opened = Descriptor(open_without_links(descriptor_.get(), name, flags));
  }
  if (opened.get() < 0) return system_error(path_of(name), errno);
  return opened;
}

Result<Folder> Folder::open_below(const std::string& name) const {
  Descriptor descriptor = TRY(open_descriptor(name, kFolderFlags));
  return Folder(std::move(descriptor), path_of(name), follows_links_);
}

Result<File> Folder::open_file_below(const std::string& name) const {
  return File::take(TRY(open_descriptor(name, File::kOpenFlags)), path_of(name));
}

Result<bool> Folder::has_folder_below(const std::string& name) const {
  const Descriptor descriptor = TRY(open_descriptor(name, O_PATH | O_CLOEXEC));
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0) return system_error(path_of(name), errno);
  return S_ISDIR(status.st_mode);
}

}  // namespace quire
