#include "base/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace quire {
namespace {

constexpr int kLowest = 10;
constexpr std::size_t kPartBytes = std::size_t{256} << 10;  // Copied at once.

Error memory_file_error(const std::string& what) {
  return Error(ErrorCode::Io, what + ": " + std::strerror(errno));
}

}  // namespace

Result<Descriptor> lift(Descriptor low) {
  Descriptor high(fcntl(low.get(), F_DUPFD_CLOEXEC, kLowest));
  if (high.get() < 0) return memory_file_error("a descriptor cannot be had");
  return high;
}

Result<void> write_whole(int descriptor, std::span<const std::byte> bytes, const std::string& to) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return memory_file_error("cannot write " + to);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<MappedBytes> MappedBytes::map(int descriptor, std::uint64_t byte_count) {
  if (byte_count == 0) return MappedBytes({});
  void* at = mmap(nullptr, byte_count, PROT_READ, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) {
    return memory_file_error("cannot map " + std::to_string(byte_count) + " bytes of a file");
  }
  return MappedBytes(std::span(static_cast<const std::byte*>(at), byte_count));
}

MappedBytes::~MappedBytes() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<MemoryFile> MemoryFile::create(const char* name) {
  Descriptor low(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (low.get() < 0) return memory_file_error("cannot make a file in memory");
  return MemoryFile(TRY(lift(std::move(low))));
}

Result<std::uint64_t> MemoryFile::bytes() const {
  struct stat status{};
  if (fstat(descriptor_.get(), &status) != 0) return memory_file_error("cannot look at a file");
  return static_cast<std::uint64_t>(status.st_size);
}

Result<void> MemoryFile::seal() {
  constexpr int kAll = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (fcntl(descriptor_.get(), F_ADD_SEALS, kAll) != 0)
    return memory_file_error("cannot seal a file");
  return {};
}

Result<SealedCopy> sealed_copy(const ReadAt& read, std::uint64_t begin, std::uint64_t end) {
  MemoryFile file = TRY(MemoryFile::create("quire-code"));
  std::vector<std::byte> part(std::min<std::uint64_t>(kPartBytes, end - begin));
  Sha256 hash;
  for (std::uint64_t at = begin; at < end; at += part.size()) {
    part.resize(std::min<std::uint64_t>(part.size(), end - at));
    TRY(read(at, part));
    hash.add(part);
    TRY(write_whole(file.descriptor(), part, "a copy of compiled code"));
  }
  TRY(file.seal());
  return SealedCopy{std::move(file), hash.finish()};
}

}  // namespace quire
