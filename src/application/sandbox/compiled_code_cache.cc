#include "application/sandbox/compiled_code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace quire::sandbox {
namespace {

constexpr char kMagic[8] = {'Q', 'U', 'I', 'R', 'E', 'C', 'W', '1'};
constexpr std::size_t kHeaderBytes = sizeof kMagic + sizeof(Digest);
constexpr std::uint64_t kFileBytesMax = std::uint64_t{512} << 20;

Error io_error(const std::string& what, const std::string& path) {
  return Error(ErrorCode::Io, what + " " + path + ": " + std::strerror(errno));
}

std::span<const std::byte> bytes_of(const std::string& text, std::size_t from = 0) {
  return std::as_bytes(std::span(text)).subspan(from);
}

Result<void> write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return io_error("cannot write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<CompiledCodeCache> CompiledCodeCache::open(const std::string& folder,
                                                  std::string configuration) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), failed);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return io_error("cannot make the folder", folder);
  }
  struct stat status{};
  if (lstat(folder.c_str(), &status) != 0) return io_error("cannot look at", folder);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return Error(ErrorCode::PermissionDenied,
                 "compiled code is kept only in a folder of mode 0700 of this user: " + folder);
  }
  return CompiledCodeCache(folder, std::move(configuration));
}

Digest CompiledCodeCache::key(std::span<const std::byte> wasm) const {
  const Digest module = sha256(wasm);
  Sha256 hash;
  hash.add(std::as_bytes(std::span(module)));
  hash.add(bytes_of(configuration_));
  return hash.finish();
}

std::string CompiledCodeCache::path(const Digest& key) const {
  return folder_ + "/" + hex(key) + ".cwasm";
}

std::optional<std::string> CompiledCodeCache::find(const Digest& key) const {
  Result<std::string> file = read_file(path(key), kFileBytesMax);
  if (!file.ok()) return std::nullopt;
  std::string bytes = std::move(file).take();
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return std::nullopt;
  }
  const Digest digest = sha256(bytes_of(bytes, kHeaderBytes));
  if (std::memcmp(bytes.data() + sizeof kMagic, digest.data(), digest.size()) != 0) {
    return std::nullopt;
  }
  bytes.erase(0, kHeaderBytes);
  return bytes;
}

Result<void> CompiledCodeCache::store(const Digest& key, std::span<const std::byte> code) const {
  const std::string final_path = path(key);
  std::string temporary = final_path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);  // Mode 0600.
  if (descriptor < 0) return io_error("cannot make", temporary);
  const Digest digest = sha256(code);
  std::string header(kMagic, sizeof kMagic);
  header.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  Result<void> written = write_all(descriptor, bytes_of(header), temporary);
  if (written.ok()) written = write_all(descriptor, code, temporary);
  if (close(descriptor) != 0 && written.ok()) written = io_error("cannot close", temporary);
  if (written.ok() && rename(temporary.c_str(), final_path.c_str()) != 0) {
    written = io_error("cannot rename", temporary);
  }
  if (!written.ok()) unlink(temporary.c_str());
  return written;
}

}  // namespace quire::sandbox
