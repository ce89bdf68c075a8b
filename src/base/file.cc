#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace quire {
namespace {

Error system_error(const std::string& doing, const std::string& path) {
  const int number = errno;
  const ErrorCode code = number == ENOENT   ? ErrorCode::NotFound
                         : number == EACCES ? ErrorCode::PermissionDenied
                                            : ErrorCode::Io;
  return Error(code, doing + " " + path + ": " + std::strerror(number));
}

}  // namespace

// Without O_NONBLOCK, opening a pipe that no process writes to would wait forever.
const int File::kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Result<File> File::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), kOpenFlags));
  if (descriptor.get() < 0) return system_error("cannot open", path);
  return take(std::move(descriptor), path);
}

Result<File> File::take(Descriptor descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0) return system_error("cannot stat", path);
  if (!S_ISREG(status.st_mode)) {
    return Error(ErrorCode::InvalidArgument, path + " is not a regular file");
  }
  return File(std::move(descriptor), static_cast<std::uint64_t>(status.st_size), path);
}

Result<void> File::read(std::uint64_t offset, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(descriptor_.get(), into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", path_);
    if (got == 0) {
      return Error(ErrorCode::Corrupted, path_ + " ends at byte " + std::to_string(offset + done) +
                                             "; bytes " + std::to_string(offset) + " to " +
                                             std::to_string(offset + into.size()) + " were wanted");
    }
    done += static_cast<std::size_t>(got);
  }
  return {};
}

Result<std::string> read_input_file(const std::string& path, std::uint64_t bytes_max) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (descriptor.get() < 0) return system_error("cannot open", path);
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0) return system_error("cannot stat", path);
  if (S_ISREG(status.st_mode)) return read_file(path, bytes_max);
  if (S_ISDIR(status.st_mode)) {
    return Error(ErrorCode::InvalidArgument, path + " is a folder, and a file is wanted");
  }
  std::string text;
  for (;;) {
    char part[65536];
    const ssize_t got = ::read(descriptor.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", path);
    if (got == 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > bytes_max) {
      return Error(ErrorCode::TooLarge,
                   path + " is longer than " + std::to_string(bytes_max) + " bytes");
    }
  }
}

Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max) {
  const File file = TRY(File::open(path));
  if (file.bytes() > bytes_max) {
    return Error(ErrorCode::TooLarge, path + " has " + std::to_string(file.bytes()) +
                                          " bytes; at most " + std::to_string(bytes_max) +
                                          " are read");
  }
  std::string text(file.bytes(), '\0');
  TRY(file.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace quire
