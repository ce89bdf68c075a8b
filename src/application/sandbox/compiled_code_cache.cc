#include "application/sandbox/compiled_code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace quire::sandbox {
namespace {

constexpr char kCacheMagic[8] = {'Q', 'U', 'I', 'R', 'E', 'C', 'W', '1'};
constexpr std::size_t kHeaderBytes = sizeof kCacheMagic + sizeof(Digest);
constexpr std::uint64_t kFileBytesMax = std::uint64_t{512} << 20;

Error io_error(const std::string& what, const std::string& path) {
  return Error(ErrorCode::Io, what + " " + path + ": " + std::strerror(errno));
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
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
  return std::move(code).take();
}

Result<void> CompiledCodeCache::store(const Digest& key, std::span<const std::byte> code) const {
  const std::string final_path = path(key);
  std::string temporary = final_path + ".XXXXXX";
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
