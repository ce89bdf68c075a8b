#include "inference/model_store/hub_fetch.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/readable.h"
#include "base/utf8.h"
#include "inference/model_store/stored_files.h"

namespace quire::inference {
namespace {

constexpr int kSilentAttemptCountMax = 3;
constexpr std::uint64_t kGitFileBytesMax = 64
                                           << 20;  // The hub takes at most 10 MiB into git itself.

bool is_passing(ErrorCode code) {
  return code == ErrorCode::Unavailable || code == ErrorCode::Timeout;
}

std::string amount_text(std::uint64_t bytes, std::uint64_t of) {
  return readable_bytes(bytes) + " of " + readable_bytes(of);
}

// One file of the model.
class FileFetch {
 public:
  FileFetch(const HubClient& hub, const ModelReference& reference, const HubFile& file,
            const PartFolder& folder, const HubFetchOptions& options, Watched& watched)
      : hub_(hub),
        reference_(reference),
        file_(file),
        folder_(folder),
        options_(options),
        watched_(watched),
        part_path_(folder.part_path(file.digest())),
        whole_path_(folder.whole_path(file.digest())) {}

  Result<FetchedFile> run();

 private:
  Result<FetchedFile> found_whole();
  Result<void> receive_all(PartFile& part);
  // SHA-256 of the bytes if they are the file's; Corrupted if they are not.
  Result<std::string> check(PartFile& part) const;
  Result<void> restart(PartFile& part);
  Error kept(Error error, const PartFile& part) const;

  const HubClient& hub_;
  const ModelReference& reference_;
  const HubFile& file_;
  const PartFolder& folder_;
  const HubFetchOptions& options_;
  Watched& watched_;
  const std::string part_path_;
  const std::string whole_path_;
  bool was_continued_ = false;
};

// The file was checked before it got this name.
Result<FetchedFile> FileFetch::found_whole() {
  if (file_.sha256.empty()) {
    const std::string sha256 = TRY(digest_file(whole_path_, watched_));
    return FetchedFile{whole_path_, sha256};
  }
  TRY(watched_.advance(file_.bytes));
  return FetchedFile{whole_path_, file_.sha256};
}

Result<void> FileFetch::restart(PartFile& part) {
  const std::uint64_t bytes = part.bytes();
  TRY(part.restart());
  // The count goes back: unsigned numbers wrap around.
  return watched_.advance(std::uint64_t{0} - bytes);
}

// An error after which what has come is of use says so.
Error FileFetch::kept(Error error, const PartFile& part) const {
  const bool is_of_use = is_passing(error.code()) || error.code() == ErrorCode::Cancelled ||
                         error.code() == ErrorCode::Io || error.code() == ErrorCode::QuotaExceeded;
  if (!is_of_use || part.bytes() == 0) return error;
  return Error(error.code(), std::string(error.message()) + "; " +
                                 amount_text(part.bytes(), file_.bytes) + " of " +
                                 printable(file_.path) +
                                 " are kept, and the same command goes on from there");
}

Result<void> FileFetch::receive_all(PartFile& part) {
  const HubClient::Received received = [&](std::int64_t bytes) -> Result<void> {
    TRY(watched_.advance(static_cast<std::uint64_t>(bytes)));
    if (options_.on_part) TRY(options_.on_part(file_, part_path_, part.bytes()));
    return {};
  };
  int silent_count = 0;
  while (part.bytes() < file_.bytes) {
    const std::uint64_t before = part.bytes();
    was_continued_ = was_continued_ || before > 0;
    Result<void> done = hub_.receive(reference_, file_, part, received);
    if (done.ok() && part.bytes() == file_.bytes) return {};
    Error error = done.ok() ? Error(ErrorCode::Unavailable,
                                    printable(file_.path) + ": the server ended after " +
                                        amount_text(part.bytes(), file_.bytes))
                            : std::move(done).take_error();
    silent_count = part.bytes() > before ? 0 : silent_count + 1;
    if (!is_passing(error.code()) || silent_count == kSilentAttemptCountMax) {
      return kept(std::move(error), part);
    }
    std::this_thread::sleep_for(options_.pause * std::max(1, silent_count));
  }
  return {};
}

Result<std::string> FileFetch::check(PartFile& part) const {
  const std::string sha256 = TRY(part.finish());
  if (!file_.sha256.empty()) {
    if (sha256 == file_.sha256) return sha256;
    return Error(ErrorCode::Corrupted, printable(file_.path) + " came with the SHA-256 " + sha256 +
                                           ", and " + file_.sha256 +
                                           " is wanted; nothing of it is kept");
  }
  const std::string bytes = TRY(read_file(part_path_, kGitFileBytesMax));
  const std::string blob = git_blob_of(bytes);
  if (blob == file_.git_blob) return sha256;
  return Error(ErrorCode::Corrupted, printable(file_.path) + " came as the git blob " + blob +
                                         ", and " + file_.git_blob +
                                         " is wanted; nothing of it is kept");
}

Result<FetchedFile> FileFetch::run() {
  if (file_.digest().empty()) {
    return Error(
        ErrorCode::NotSupported,
        printable(file_.path) + ": the hub gives no digest for it, so it cannot be checked");
  }
  if (folder_.is_whole(file_.digest())) return found_whole();
  PartFile part = TRY(PartFile::open(part_path_, watched_));
  if (part.bytes() > file_.bytes) TRY(restart(part));
  was_continued_ = part.bytes() > 0;
  while (true) {
    TRY(receive_all(part));
    Result<std::string> sha256 = check(part);
    if (sha256.ok()) {
      TRY(move_to(part_path_, whole_path_));
      return FetchedFile{whole_path_, std::move(sha256).take()};
    }
    if (sha256.error().code() != ErrorCode::Corrupted) return std::move(sha256).take_error();
    TRY(restart(part));
    if (!was_continued_) return std::move(sha256).take_error();
    was_continued_ = false;
  }
}

Result<void> check_space(const ChosenModel& model, const PartFolder& folder) {
  std::uint64_t bytes_left = 0;
  for (const HubFile& each : model.files) {
    const std::uint64_t here = folder.bytes_of_file(each.digest());
    bytes_left += each.bytes - std::min(each.bytes, here);
  }
  std::error_code code;
  const std::filesystem::space_info space = std::filesystem::space(folder.path(), code);
  if (code || space.available >= bytes_left) return {};
  return Error(ErrorCode::Io, "the disk of " + folder.path() + " has " +
                                  readable_bytes(space.available) + " free, and " +
                                  readable_bytes(bytes_left) + " are to come");
}

}  // namespace

Result<std::vector<FetchedFile>> fetch_from_hub(const HubClient& hub,
                                                const ModelReference& reference,
                                                const ChosenModel& model, const PartFolder& folder,
                                                const HubFetchOptions& options) {
  std::vector<std::string> digests;
  for (const HubFile& each : model.files) digests.push_back(each.digest());
  TRY(folder.keep_only(digests));
  TRY(check_space(model, folder));
  Watched watched{options.progress, model.bytes()};
  std::vector<FetchedFile> fetched;
  for (const HubFile& file : model.files) {
    fetched.push_back(TRY(FileFetch(hub, reference, file, folder, options, watched).run()));
    if (options.on_whole) TRY(options.on_whole(file, fetched.back().path));
  }
  return fetched;
}

}  // namespace quire::inference
