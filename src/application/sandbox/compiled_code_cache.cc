#include "application/sandbox/compiled_code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"

namespace quire::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr char kCacheMagic[8] = {'Q', 'U', 'I', 'R', 'E', 'C', 'W', '1'};
constexpr std::size_t kHeaderBytes = sizeof kCacheMagic + sizeof(Digest);
constexpr std::uint64_t kFileBytesMax = std::uint64_t{512} << 20;
constexpr std::string_view kSuffix = ".cwasm";
constexpr std::string_view kTemporary = ".XXXXXX";
// No write takes so long: a file that has this name still is of a process that died.
constexpr std::chrono::hours kTemporaryAge{1};

struct Entry {
  fs::path path;
  std::uint64_t bytes = 0;
  fs::file_time_type used;
};

// Files whose names have this suffix and `tail_bytes` after it. A file that another process removes
// meanwhile is left out.
std::vector<Entry> entries_of(const std::string& folder, std::string_view suffix,
                              std::size_t tail_bytes) {
  std::vector<Entry> entries;
  std::error_code failed;
  for (fs::directory_iterator each(folder, failed), end; !failed && each != end;
       each.increment(failed)) {
    const std::string name = each->path().filename().string();
    if (name.size() < suffix.size() + tail_bytes) continue;
    const std::size_t at = name.size() - tail_bytes - suffix.size();
    if (name.compare(at, suffix.size(), suffix) != 0) continue;
    std::error_code gone;
    Entry entry{each->path(), each->file_size(gone), {}};
    if (!gone) entry.used = each->last_write_time(gone);
    if (!gone) entries.push_back(std::move(entry));
  }
  return entries;
}

Error io_error(const std::string& what, const std::string& path) {
  return Error(ErrorCode::Io, what + " " + path + ": " + std::strerror(errno));
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

Result<CompiledCodeCache> CompiledCodeCache::open(const std::string& folder,
                                                  std::string configuration,
                                                  const CacheLimits& limits) {
  std::error_code failed;
  fs::create_directories(fs::path(folder).parent_path(), failed);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return io_error("cannot make the folder", folder);
  }
  struct stat status{};
  if (lstat(folder.c_str(), &status) != 0) return io_error("cannot look at", folder);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return Error(ErrorCode::PermissionDenied,
                 "compiled code is kept only in a folder of mode 0700 of this user: " + folder);
  }
  CompiledCodeCache cache(folder, std::move(configuration), limits);
  cache.remove_temporaries();
  cache.make_room(0, 0);
  return cache;
}

void CompiledCodeCache::remove_temporaries() const {
  const fs::file_time_type oldest = fs::file_time_type::clock::now() - kTemporaryAge;
  for (const Entry& each : entries_of(folder_, std::string(kSuffix) + ".", kTemporary.size() - 1)) {
    if (each.used < oldest) unlink(each.path.c_str());
  }
}

void CompiledCodeCache::make_room(std::uint32_t count, std::uint64_t bytes) const {
  std::vector<Entry> entries = entries_of(folder_, kSuffix, 0);
  std::uint64_t all_bytes = bytes;
  for (const Entry& each : entries) all_bytes += each.bytes;
  std::uint64_t all_count = entries.size() + count;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& left, const Entry& right) { return left.used < right.used; });
  for (const Entry& each : entries) {
    if (all_bytes <= limits_.bytes_max && all_count <= limits_.file_count_max) return;
    unlink(each.path.c_str());
    all_bytes -= each.bytes;
    all_count -= 1;
  }
}

Digest CompiledCodeCache::key(std::span<const std::byte> wasm) const {
  const Digest module = sha256(wasm);
  Sha256 hash;
  hash.add(std::as_bytes(std::span(module)));
  hash.add(bytes_of(configuration_));
  return hash.finish();
}

std::string CompiledCodeCache::path(const Digest& key) const {
  return folder_ + "/" + hex(key) + std::string(kSuffix);
}

Result<MemoryFile> CompiledCodeCache::read(const Digest& key) const {
  const File file = TRY(File::open(path(key)));
  if (file.bytes() > kFileBytesMax) return Error(ErrorCode::TooLarge, path(key));
  std::array<std::byte, kHeaderBytes> header;
  TRY(file.read(0, header));
  const auto read_at = [&](std::uint64_t offset, std::span<std::byte> into) {
    return file.read(offset, into);
  };
  SealedCopy code = TRY(sealed_copy(read_at, kHeaderBytes, file.bytes()));
  const auto* written = header.data() + sizeof kCacheMagic;
  if (std::memcmp(header.data(), kCacheMagic, sizeof kCacheMagic) == 0 &&
      std::memcmp(written, code.digest.data(), code.digest.size()) == 0) {
    return std::move(code.file);
  }
  return Error(ErrorCode::Corrupted, path(key) + " is not as it was written");
}

std::optional<MemoryFile> CompiledCodeCache::find(const Digest& key) const {
  Result<MemoryFile> code = read(key);
  if (!code.ok()) return std::nullopt;
  (void)utimensat(AT_FDCWD, path(key).c_str(), nullptr, 0);  // Used now.
  return std::move(code).take();
}

Result<void> CompiledCodeCache::store(const Digest& key, std::span<const std::byte> code) const {
  const std::string final_path = path(key);
  const std::uint64_t file_bytes = kHeaderBytes + code.size();
  if (file_bytes > limits_.bytes_max) {
    return Error(ErrorCode::TooLarge, "code of " + std::to_string(code.size()) +
                                          " bytes is not kept, where " +
                                          std::to_string(limits_.bytes_max) + " may be in all");
  }
  make_room(1, file_bytes);
  std::string temporary = final_path + std::string(kTemporary);
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);  // Mode 0600.
  if (descriptor < 0) return io_error("cannot make", temporary);
  const Digest digest = sha256(code);
  std::string header(kCacheMagic, sizeof kCacheMagic);
  header.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  Result<void> written = write_whole(descriptor, bytes_of(header), temporary);
  if (written.ok()) written = write_whole(descriptor, code, temporary);
  if (close(descriptor) != 0 && written.ok()) written = io_error("cannot close", temporary);
  if (written.ok() && rename(temporary.c_str(), final_path.c_str()) != 0) {
    written = io_error("cannot rename", temporary);
  }
  if (!written.ok()) unlink(temporary.c_str());
  return written;
}

}  // namespace quire::sandbox
