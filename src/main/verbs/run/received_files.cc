#include "main/verbs/run/received_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/guest_name.h"

namespace quire {
namespace {

Error failed(const std::string& path, const char* what, int error) {
  const ErrorCode code = error == EEXIST ? ErrorCode::AlreadyExists : ErrorCode::Io;
  const std::string why = error == EEXIST ? "it is there already, and nothing is overwritten"
                                          : std::generic_category().message(error);
  return Error(code, path + ": cannot be " + what + ": " + why);
}

}  // namespace

Result<ReceivedFiles> ReceivedFiles::open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error(ErrorCode::Io, folder + ": cannot be made: " + error.message());
  if (!std::filesystem::is_directory(folder, error)) {
    return Error(ErrorCode::InvalidArgument, folder + " is not a folder");
  }
  return ReceivedFiles(folder);
}

ReceivedFiles::~ReceivedFiles() {
  for (auto& [key, open] : open_) give_up(open);
}

// Removes what is not complete; false where nothing was begun.
bool ReceivedFiles::give_up(Open& open) {
  if (open.file.get() < 0) return false;
  unlinkat(open.folder.get(), open.name.c_str(), 0);  // As far as that is possible.
  return true;
}

Result<ReceivedFiles::Open> ReceivedFiles::begin(const std::string& folder,
                                                 const service::SentPart& part) {
  TRY(check_guest_name(part.name, "file name"));
  Open open;
  open.name = std::string(part.name);
  open.path = folder + "/" + open.name;
  open.file_bytes = part.file_bytes;
  if (open_.size() >= kOpenCountMax) {
    return Error(ErrorCode::QuotaExceeded, open.path + ": " + std::to_string(open_.size()) +
                                               " files are on their way already");
  }
  if (part.offset != 0) {
    return Error(ErrorCode::InvalidArgument,
                 open.path + ": its first part is at " + std::to_string(part.offset));
  }
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return failed(folder, "made", errno);
  open.folder = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open.folder.get() < 0) return failed(folder, "opened", errno);
  open.file = Descriptor(openat(open.folder.get(), open.name.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (open.file.get() < 0) return failed(open.path, "made", errno);
  return open;
}

Result<void> ReceivedFiles::write(Open& open, const service::SentPart& part) {
  const bool continues = part.offset == open.written && part.file_bytes == open.file_bytes &&
                         part.bytes.size() <= open.file_bytes - open.written;
  if (!continues) {
    return Error(ErrorCode::InvalidArgument,
                 open.path + ": a part of " + std::to_string(part.bytes.size()) + " bytes at " +
                     std::to_string(part.offset) + " does not continue it: it has " +
                     std::to_string(open.written) + " of " + std::to_string(open.file_bytes));
  }
  if (part.bytes.size() > kBytesMax - bytes_) {
    return Error(ErrorCode::QuotaExceeded, open.path + ": programs have sent " +
                                               std::to_string(bytes_) + " bytes, at most " +
                                               std::to_string(kBytesMax) + " are kept");
  }
  std::string_view rest = part.bytes;
  while (!rest.empty()) {
    const ssize_t count = ::write(open.file.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(open.path, "written", errno);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  open.written += part.bytes.size();
  bytes_ += part.bytes.size();
  return {};
}

Result<std::optional<std::string>> ReceivedFiles::add(std::size_t program, bool several,
                                                      const service::SentPart& part) {
  const Key key{program, part.file};
  auto found = open_.find(key);
  if (found == open_.end()) {
    const std::string folder = several ? folder_ + "/" + std::to_string(program) : folder_;
    Result<Open> begun = begin(folder, part);
    if (!begun.ok()) {
      // One part alone needs no memory of the refusal.
      if (part.bytes.size() < part.file_bytes && open_.size() < kOpenCountMax) {
        open_[key].file_bytes = part.file_bytes;
      }
      return std::move(begun).take_error();
    }
    found = open_.emplace(key, std::move(begun).take()).first;
  }
  Open& open = found->second;
  if (open.file.get() < 0) return std::optional<std::string>();
  Result<void> written = write(open, part);
  if (!written.ok()) {
    give_up(open);
    open.file = Descriptor();
    return std::move(written).take_error();
  }
  if (open.written < open.file_bytes) return std::optional<std::string>();
  return std::optional(std::move(open_.extract(found).mapped().path));
}

Result<std::optional<ReceivedFiles>> received_files(const std::string& folder) {
  if (folder.empty()) return std::optional<ReceivedFiles>();
  return std::optional(TRY(ReceivedFiles::open(folder)));
}

std::size_t ReceivedFiles::drop(std::size_t program, std::uint64_t file) {
  auto dropped = open_.extract({program, file});
  return !dropped.empty() && give_up(dropped.mapped()) ? 1 : 0;
}

std::size_t ReceivedFiles::drop_all(std::size_t program) {
  std::size_t count = 0;
  auto at = open_.lower_bound({program, 0});
  while (at != open_.end() && at->first.first == program) {
    count += give_up(at->second) ? 1 : 0;
    at = open_.erase(at);
  }
  return count;
}

}  // namespace quire
